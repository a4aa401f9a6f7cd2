"""Hostile and broken input, and faults: run by `python -m fuzz`; what it finds becomes a test under tests/."""
