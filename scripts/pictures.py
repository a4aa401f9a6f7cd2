"""Make README's picture, docs/pictures/demo.png, and the numbers behind it, the CSV files beside it.

The people and the approaches are those of `confide demo`, one row of the picture per data set: what the observational
table alone says, what the small trial alone says, and what confide says with both, on people that none has seen.
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
from confide.datasets.examples import EXAMPLES, Example
from confide.demo import ALPHA, fitted_ways, held_out
from confide.diagnostics import Coverage, coverage_report
from confide.plot.canvas import new_figure, write_png

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
# The arm whose people are drawn one by one, and the approaches that are drawn so.
ARM = 0
ONE_BY_ONE = {
    "training": ("trial alone, ridge", "confide, with both"),
    "star": ("observational alone", "confide, with both"),
}
PERSON = ("outcome", "point", "lower", "upper")
DIGITS = 4


def measure(data: str, draws: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return coverage and width by draw, approach and arm, and the intervals of people of the most typical draw."""
    coverages, people = [], []
    for draw in range(draws):
        drawn = EXAMPLES[data].load(draw)
        new, outcomes, labels, _ = held_out(drawn)
        mine = labels == ARM
        for way in fitted_ways(drawn, draw):
            said = {"data": data, "draw": draw, "way": way.what}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PopulationWarning)  # the blind model is asked about others than its own
                arms = coverage_report(way.model, new, outcomes, labels)
                lower, upper = way.model.predict_interval(new, ARM)
                points = way.model.predict(new, ARM)
            for arm in arms:
                numbers = {name: round(getattr(arm, name), DIGITS) for name in ("n", "coverage", "width", "infinite")}
                coverages.append({**said, "treatment": arm.treatment, **numbers})
            columns = np.round(np.column_stack([outcomes, points, lower, upper])[mine], DIGITS)
            people += [said | dict(zip(PERSON, row, strict=True)) for row in columns.tolist()]
    chosen = typical(coverages)
    return coverages, [row for row in people if row["draw"] == chosen and row["way"] in ONE_BY_ONE[data]]


def typical(coverages: list[dict[str, Any]]) -> int:
    """Return the draw whose coverages and widths, in the arm that is drawn, are nearest to their means.

    Both are measured in their standard deviations over draws: no looks decide.
    """
    draws = sorted({row["draw"] for row in coverages})
    mine = [row for row in coverages if row["treatment"] == ARM]
    table = np.array(
        [[row[name] for row in mine if row["draw"] == draw for name in ("coverage", "width")] for draw in draws]
    )
    away = np.abs(table - table.mean(axis=0)) / np.maximum(table.std(axis=0), np.finfo(float).tiny)
    nearest: int = draws[np.argmin(away.sum(axis=1))]
    return nearest


def draw_picture(folder: Path) -> None:
    """Draw the picture from the CSV files."""
    coverages, people = (read_rows(folder / name) for name in ("demo.csv", "demo-people.csv"))
    figure = new_figure(11, 4 * len(EXAMPLES))
    for axes, (data, example) in zip(
        figure.subplots(len(EXAMPLES), 3, width_ratios=(1, 1, 0.9)), EXAMPLES.items(), strict=True
    ):
        draw_people(axes[:2], example, [row for row in people if row["data"] == data])
        draw_means(axes[2], example, [row for row in coverages if row["data"] == data])
    write_png(figure, folder / "demo.png", dpi=100)


def draw_people(axes: Any, example: Example, people: list[dict[str, Any]]) -> None:
    """Draw people one by one, by two approaches, on the same scale."""
    for ax, way in zip(axes, dict.fromkeys(row["way"] for row in people), strict=True):
        outcome, point, lower, upper = np.array(
            [[row[name] for name in PERSON] for row in people if row["way"] == way]
        ).T
        plot.intervals(Intervals(lower, upper), point, outcome, ax=ax)
        ax.set_xlabel(f"{len(outcome)} {example.people}, in order of the predicted score")
        ax.set_title(way)
    ends = np.array([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set_ylim(ends[:, 0].min(), ends[:, 1].max())
    axes[0].set_ylabel(f"score, {example.arms[ARM]}: 90 % intervals")


def draw_means(ax: Any, example: Example, coverages: list[dict[str, Any]]) -> None:
    """Draw mean coverage against mean width, with the lowest and the highest coverage of a draw."""
    means: dict[str, list[Coverage]] = {}
    for way, treatment in dict.fromkeys((row["way"], row["treatment"]) for row in coverages):
        mine = [row for row in coverages if (row["way"], row["treatment"]) == (way, treatment)]
        shares = [row["coverage"] for row in mine]
        share, width, infinite = (fmean(row[name] for row in mine) for name in ("coverage", "width", "infinite"))
        asked = sum(row["n"] for row in mine)
        mean = Coverage(example.arms[treatment], asked, share, min(shares), max(shares), width, infinite)
        means.setdefault(way, []).append(mean)
    plot.coverage(means, ALPHA, ax=ax)
    ax.set_xlabel("mean width")
    ax.set_ylabel(f"coverage on held-out {example.people}")
    ax.set_title(f"mean of {len({row['draw'] for row in coverages})} draws")


def main() -> None:
    """Measure, unless the CSV files are to be taken as they are, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where the files go")
    parser.add_argument("--draws", type=int, help="draws of trial and held-out people, instead of the demonstration's")
    parser.add_argument("--draw-only", action="store_true", help="draw from the CSV files that are there")
    arguments = parser.parse_args()
    mpl.rcdefaults()  # the picture is the same whatever the settings of who makes it
    if not arguments.draw_only:
        found = [measure(data, arguments.draws or example.draws) for data, example in EXAMPLES.items()]
        arguments.folder.mkdir(parents=True, exist_ok=True)
        for name, rows in zip(("demo.csv", "demo-people.csv"), zip(*found, strict=True), strict=True):
            write_rows(arguments.folder / name, [row for each in rows for row in each], ())
    draw_picture(arguments.folder)


if __name__ == "__main__":
    main()
