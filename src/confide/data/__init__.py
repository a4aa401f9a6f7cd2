"""From tables of any kind to a study, its encoded covariates and its split rows."""
