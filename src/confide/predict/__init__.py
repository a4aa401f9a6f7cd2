"""Predictions of a fitted model for new rows: as columns, for files of any length, at many levels."""
