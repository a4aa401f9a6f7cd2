"""Base models: how they are chosen, prepared and fitted, and the nonconformity scores of their errors."""
