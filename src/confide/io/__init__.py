"""Model files: how they are written and read, and which types they may contain."""
