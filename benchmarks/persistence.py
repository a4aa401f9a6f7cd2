"""Saving and loading models of Project STAR."""

from __future__ import annotations

import tempfile
from pathlib import Path

from confide import CounterfactualIntervals, load, stack
from confide.datasets import load_star
from timing import require, seconds


def main():
    star = load_star()
    study = stack(star.observational, star.trial, treatment=star.treatment, outcome=star.outcome)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.confide"
        for name in ("transfer-centred", "pooled-dr", "wscp-dr-exact"):
            model = CounterfactualIntervals(name, random_state=0).fit(study)
            require(f"{name}: save", seconds(lambda model=model: model.save(path)), 2, "s")
            require(f"{name}: load", seconds(lambda: load(path)), 1, "s")
            require(f"{name}: size", path.stat().st_size / 2**20, 2, "MiB")
