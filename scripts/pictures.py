"""Make README's picture, docs/pictures/star.png, and the numbers behind it, the CSV files beside it.

The pupils and the ways to answer are those of `confide demo`: what observational pupils alone say, what the small trial
alone says, and what confide says with both, on pupils that none of them has seen.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib as mpl
import numpy as np

from confide import Intervals, PopulationWarning, plot
from confide.base.csv_rows import read_rows, write_rows
from confide.datasets import load_star
from confide.demo import ALPHA, DRAWS, fitted_ways, held_out
from confide.diagnostics import Coverage, coverage_report
from confide.plot.canvas import new_figure, write_png

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CLASSES = {0: "regular class", 1: "small class"}
# The arm whose pupils are drawn one by one, and the ways that are drawn so.
ARM = 0
ONE_BY_ONE = ("observational alone", "confide, with both")
PUPIL = ("score", "point", "lower", "upper")
DIGITS = 4


def measure(draws: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return coverage and width by draw, way and arm, and the intervals of the pupils of the most typical draw."""
    coverages, pupils = [], []
    for draw in range(draws):
        data = load_star(random_state=draw)
        new, outcomes, labels, _ = held_out(data)
        mine = labels == ARM
        for way in fitted_ways(data, draw):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PopulationWarning)  # the blind model is asked about others than its own
                arms = coverage_report(way.model, new, outcomes, labels)
                lower, upper = way.model.predict_interval(new, ARM)
                points = way.model.predict(new, ARM)
            for arm in arms:
                numbers = {name: round(getattr(arm, name), DIGITS) for name in ("n", "coverage", "width", "infinite")}
                coverages.append({"draw": draw, "way": way.what, "treatment": arm.treatment, **numbers})
            columns = np.round(np.column_stack([outcomes, points, lower, upper])[mine], DIGITS)
            pupils += [{"draw": draw, "way": way.what} | dict(zip(PUPIL, row, strict=True)) for row in columns.tolist()]
    chosen = typical(coverages)
    return coverages, [row for row in pupils if row["draw"] == chosen and row["way"] in ONE_BY_ONE]


def typical(coverages: list[dict[str, Any]]) -> int:
    """Return the draw whose coverages, in the arm that is drawn, are nearest to their means: no looks decide."""
    draws = sorted({row["draw"] for row in coverages})
    mine = [row for row in coverages if row["treatment"] == ARM]
    table = np.array([[row["coverage"] for row in mine if row["draw"] == draw] for draw in draws])
    nearest: int = draws[np.argmin(np.abs(table - table.mean(axis=0)).sum(axis=1))]
    return nearest


def draw_picture(folder: Path) -> None:
    """Draw the picture from the CSV files."""
    coverages, pupils = (read_rows(folder / name) for name in ("star.csv", "star-pupils.csv"))
    figure = new_figure(11, 4)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.9))
    for ax, way in zip((left, middle), ONE_BY_ONE, strict=True):
        rows = [[row[name] for name in PUPIL] for row in pupils if row["way"] == way]
        score, point, lower, upper = np.array(rows).T
        plot.intervals(Intervals(lower, upper), point, score, ax=ax)
        ax.set_xlabel(f"{len(score)} pupils, in order of the predicted score")
        ax.set_title(way)
    ends = np.array([left.get_ylim(), middle.get_ylim()])
    for ax in (left, middle):
        ax.set_ylim(ends[:, 0].min(), ends[:, 1].max())
    left.set_ylabel(f"score in a {CLASSES[ARM]}, 90 % intervals")
    means: dict[str, list[Coverage]] = {}
    for way, treatment in dict.fromkeys((row["way"], row["treatment"]) for row in coverages):
        mine = [row for row in coverages if (row["way"], row["treatment"]) == (way, treatment)]
        shares = [row["coverage"] for row in mine]
        share, width, infinite = (fmean(row[name] for row in mine) for name in ("coverage", "width", "infinite"))
        asked = sum(row["n"] for row in mine)
        mean = Coverage(CLASSES[treatment], asked, share, min(shares), max(shares), width, infinite)
        means.setdefault(way, []).append(mean)
    plot.coverage(means, ALPHA, ax=right)
    right.set_xlabel("mean width")
    right.set_ylabel("coverage on held-out pupils")
    right.set_title(f"mean of {len({row['draw'] for row in coverages})} draws")
    write_png(figure, folder / "star.png", dpi=120)


def main() -> None:
    """Measure, unless the CSV files are to be taken as they are, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where the files go")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of trial and held-out pupils")
    parser.add_argument("--draw-only", action="store_true", help="draw from the CSV files that are there")
    arguments = parser.parse_args()
    mpl.rcdefaults()  # the picture is the same whatever the settings of who makes it
    if not arguments.draw_only:
        coverages, pupils = measure(arguments.draws)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        write_rows(arguments.folder / "star.csv", coverages, ())
        write_rows(arguments.folder / "star-pupils.csv", pupils, ())
    draw_picture(arguments.folder)


if __name__ == "__main__":
    main()
