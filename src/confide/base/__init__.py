"""Helpers that every package uses: checks, limits on threads, rounding, atomic file writes, a cache of fits."""
