"""Make README's picture, docs/pictures/demo.png, the numbers behind it, demo.csv, and the page about them.

The people, the draws and the approaches are those of `confide demo`, so that both say the same numbers: what the
observational table alone says, what the small trial alone says, and what confide says with both, on people that none
has seen. The gain, how much narrower intervals
are with both tables than from the trial alone, is a mean over draws, and so it has noise. The noise is stated, and the
gain is measured again from other seeds: if one of them is farther away than the noise of a difference, the script
fails.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import matplotlib as mpl

from confide import PopulationWarning
from confide.base.cache import sharing_fits
from confide.base.csv_rows import read_rows, write_rows
from confide.datasets.examples import EXAMPLES
from confide.demo import ALONE, ALPHA, BLIND, BOTH, HALVED, fitted_ways, held_out
from confide.diagnostics import coverage_report
from confide.plot.canvas import new_figure, write_png

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "pictures"
WAYS = (BLIND, HALVED, ALONE, BOTH)
# Draws of trial and held-out people per seed, those of `confide demo`; the first seed is the picture's, the others
# check its gain.
DRAWS = {name: example.draws for name, example in EXAMPLES.items()}
GAINS_OF = "training"
SEEDS = range(6)
# The stated noise of a gain, in standard errors of a mean over the draws of a seed.
ERRORS = 2
DIGITS = 4
NUMBERS = ("n", "coverage", "width", "infinite")
COLOURS = {BLIND: "#b5541c", HALVED: "#8a8a8a", ALONE: "#4d4d4d", BOTH: "#00695c"}
MARKERS = {"training": "o", "star": "s"}


def measure(data: str, seed: int, draws: int) -> list[dict[str, Any]]:
    """Return coverage and width by draw, approach and arm; of the checking seeds, of the two approaches compared."""
    found = []
    for draw in range(draws):
        number = DRAWS[data] * seed + draw
        drawn = EXAMPLES[data].load(number)
        new, outcomes, labels, _ = held_out(drawn)
        with sharing_fits(), warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationWarning)  # the blind model is asked about others than its own
            for way in fitted_ways(drawn, number, WAYS if seed == SEEDS[0] else (ALONE, BOTH)):
                said = {"data": data, "seed": seed, "draw": draw, "way": way.what}
                for arm in coverage_report(way.model, new, outcomes, labels):
                    numbers = {name: round(getattr(arm, name), DIGITS) for name in NUMBERS}
                    found.append({**said, "treatment": arm.treatment, **numbers})
    return found


def gain_of(rows: list[dict[str, Any]], **which: Any) -> float:
    """Return by which share mean widths are smaller with both tables than from the trial alone."""
    both, alone = (mean_of(rows, "width", data=GAINS_OF, way=way, **which) for way in (BOTH, ALONE))
    return 1 - both / alone


def mean_of(rows: list[dict[str, Any]], number: str, **which: Any) -> float:
    """Return the mean of a number over the rows with these values; both arms count alike."""
    return fmean(row[number] for row in rows if all(row[name] == value for name, value in which.items()))


def noise_of(rows: list[dict[str, Any]]) -> float:
    """Return the stated noise of the picture's gain: so many standard errors of a mean over its draws."""
    draws = sorted({row["draw"] for row in rows if row["data"] == GAINS_OF and row["seed"] == SEEDS[0]})
    gains = [gain_of(rows, seed=SEEDS[0], draw=draw) for draw in draws]
    return float(ERRORS * stdev(gains) / len(gains) ** 0.5)


def apart_of(rows: list[dict[str, Any]]) -> float:
    """Return the noise of the difference of two gains from different draws."""
    return float(2**0.5 * noise_of(rows))


def seeds_of(rows: list[dict[str, Any]]) -> list[int]:
    """Return the seeds that were measured."""
    return sorted({row["seed"] for row in rows})


def draw_picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw what is gained, what is kept, and the gain from other seeds."""
    figure = new_figure(12, 3.4)
    gained, kept, again = figure.subplots(1, 3, width_ratios=(1.15, 1.15, 0.8))
    mine = [row for row in rows if row["seed"] == SEEDS[0]]
    draw_ways(gained, mine, "width", [GAINS_OF])
    gained.set_xlim(left=0)
    gained.set_xlabel(f"mean width of {1 - ALPHA:.0%} intervals, points")
    gain, noise = gain_of(rows, seed=SEEDS[0]), apart_of(rows)
    gained.set_title(f"Gained: {gain:.0%} narrower than the trial alone")
    draw_ways(kept, mine, "coverage", list(DRAWS))
    kept.axvline(1 - ALPHA, color="black", linewidth=1)
    kept.set_yticklabels([])
    kept.set_xlabel("share of held-out people in their interval")
    kept.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0, decimals=0))
    kept.set_title(f"Kept: {1 - ALPHA:.0%}, whatever the table is worth")
    kept.legend(fontsize="small", loc="upper right")
    seeds = seeds_of(rows)
    again.axhspan(100 * (gain - noise), 100 * (gain + noise), color=COLOURS[BOTH], alpha=0.15)
    again.plot(seeds, [100 * gain_of(rows, seed=seed) for seed in seeds], "o", color=COLOURS[BOTH])
    again.set_ylim(0, max(40, 110 * (gain + noise)))
    again.set_xticks(seeds)
    again.set_xlabel("seed")
    again.set_ylabel("narrower by, %")
    again.set_title("Again, from other seeds")
    write_png(figure, path, dpi=100)


def draw_ways(ax: Any, rows: list[dict[str, Any]], number: str, of: list[str]) -> None:
    """Draw a number's mean by approach, with its lowest and highest draw; one marker per data set."""
    for place, way in enumerate(reversed(WAYS)):
        for data in of:
            draws = sorted({row["draw"] for row in rows if row["data"] == data})
            values = [mean_of(rows, number, data=data, way=way, draw=draw) for draw in draws]
            height = place + (0.0 if len(of) == 1 else 0.15 if data == of[0] else -0.15)
            label = {"training": "people and trainings", "star": "pupils and classes"}[data] if not place else None
            ax.plot([min(values), max(values)], [height] * 2, color=COLOURS[way], linewidth=2)
            ax.plot(fmean(values), height, MARKERS[data], color=COLOURS[way], label=label)
            if len(of) == 1:
                shown = ax.annotate(f"{fmean(values):.1f}", (fmean(values), height), (0, 6), textcoords="offset points")
                shown.set_horizontalalignment("center")
    ax.set_yticks(range(len(WAYS)), list(reversed(WAYS)))
    ax.set_ylim(-0.6, len(WAYS) + 0.2)


def page_of(rows: list[dict[str, Any]]) -> str:
    """Return the page with the numbers behind the picture."""
    gain, noise = gain_of(rows, seed=SEEDS[0]), noise_of(rows)
    mine = [row for row in rows if row["seed"] == SEEDS[0]]
    lines = [
        "# The numbers behind the picture",
        "",
        "Made by `make pictures` from [demo.csv](pictures/demo.csv), which has one line per draw, approach and arm.",
        "",
        "![Width and coverage of intervals by four approaches, and the gain from six seeds](pictures/demo.png)",
        "",
        (
            "Real people, and no model has seen the outcomes that it predicts. *training*: a trial of 60 people, and "
            "about 820 others who got the training that they had chosen. *star*: a trial of 400 pupils, and others who "
            "were selected into the observational table by their scores; its covariates say little. `confide demo` and "
            "`confide demo --data star` draw the same people, and say the same numbers."
        ),
        "",
        f"| data | what answers | mean width of {1 - ALPHA:.0%} intervals | coverage | lowest and highest draw |",
        "| --- | --- | --- | --- | --- |",
    ]
    for data in DRAWS:
        for way in WAYS:
            which = {"data": data, "way": way}
            draws = sorted({row["draw"] for row in mine if row["data"] == data})
            covered = [mean_of(mine, "coverage", **which, draw=draw) for draw in draws]
            width = mean_of(mine, "width", **which)
            shares = f"{fmean(covered):.1%} | {min(covered):.0%} to {max(covered):.0%}"
            lines.append(f"| {data} | {way} | {width:.1f} | {shares} |")
    lines += [
        "",
        (
            "*Observational alone* treats people who chose as if they were a trial, and promises nothing. *Trial "
            "alone, half fits* is split conformal prediction. *Trial alone, ridge* is full conformal prediction around "
            "a ridge regression: every trial row fits and calibrates. *Confide, with both* is the default."
        ),
        "",
        "## The gain, and its noise",
        "",
        (
            f"With both tables intervals of *training* are {gain:.1%} narrower than those of *trial alone, ridge*, "
            f"the better of the two that use the trial alone: a mean over {DRAWS[GAINS_OF]} draws of the people. Its "
            f"stated noise is ±{100 * noise:.1f} percentage points, {ERRORS} standard errors of such a mean. `make "
            "pictures` measures it again from five other seeds, that is from other draws, and fails if one is farther "
            f"away than {ERRORS} standard errors of the difference of two such means, {100 * apart_of(rows):.1f} "
            "points:"
        ),
        "",
        "| seed | narrower by | from the picture's |",
        "| --- | --- | --- |",
    ]
    for seed in seeds_of(rows):
        mine_ = gain_of(rows, seed=seed)
        away = "the picture's" if seed == SEEDS[0] else f"{100 * (mine_ - gain):+.1f} points"
        lines.append(f"| {seed} | {mine_:.1%} | {away} |")
    return "\n".join([*lines, ""])


def too_far(rows: list[dict[str, Any]]) -> list[int]:
    """Return the seeds whose gain is farther from the picture's than the noise of a difference."""
    gain, noise = gain_of(rows, seed=SEEDS[0]), apart_of(rows)
    return [seed for seed in seeds_of(rows) if abs(gain_of(rows, seed=seed) - gain) > noise]


def main() -> None:
    """Measure, unless the CSV file is to be taken as it is, draw, write the page, and check the gain."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the page goes, and the folder pictures/")
    parser.add_argument("--draw-only", action="store_true", help="draw from the CSV file that is there")
    arguments = parser.parse_args()
    mpl.rcdefaults()  # the picture is the same whatever the settings of who makes it
    folder = arguments.docs / PICTURES.name
    if not arguments.draw_only:
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for seed in SEEDS:
            for data in DRAWS if seed == SEEDS[0] else (GAINS_OF,):
                rows += measure(data, seed, DRAWS[data])
                print(f"seed {seed}, {data}", flush=True)
        write_rows(folder / "demo.csv", rows, ())
    rows = read_rows(folder / "demo.csv")
    draw_picture(rows, folder / "demo.png")
    page = page_of(rows)
    (arguments.docs / "picture.md").write_text(page, encoding="utf-8")
    print(page[page.index("## The gain") :])
    if far := too_far(rows):
        sys.exit(f"The gain of seeds {far} is farther from the picture's than the noise of a difference.")


if __name__ == "__main__":
    main()
