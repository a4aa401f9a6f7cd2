"""Attacks by hand: named cases, each of which holds or breaks."""
