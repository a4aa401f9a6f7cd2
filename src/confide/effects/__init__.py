"""Intervals for the individual effect of one treatment against another."""
