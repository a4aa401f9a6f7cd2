"""The study that chose the default of CounterfactualIntervals: run by `python -m studies default`."""

from __future__ import annotations

from statistics import fmean, geometric_mean, stdev
from typing import Any

from joblib import Parallel, delayed
from scipy import stats

from confide import CounterfactualIntervals
from confide.base.threads import one_thread
from confide.base.validation import suggest
from confide.paper.comparison import (
    ALL_ROWS,
    ALPHA,
    BASELINES,
    CELLS,
    DIMENSIONS,
    TRIAL_SIZES,
    Outcome,
    compare_cell,
    configurations,
)
from confide.paper.oracle_width import oracle_width

TEST_LEVEL = 0.01
ARMS = ("Y(0)", "Y(1)")
# Repetitions averaged by cell, configuration and arm.
Table = dict[tuple[str, str, str], dict[str, Any]]
PLAIN = [f"{name}, trial alone" for name in BASELINES]

SETTING = """\
Synthetic cells: n = 10,000 observational and m trial rows over both arms, d covariates, 1,000 fresh rows. STAR: \
400 trial pupils, observational pupils selected by their scores, 1,000 held-out pupils. NSW: 300 trial rows, \
survey respondents as observational controls, no observational treated rows, 145 held-out rows; the hard case, in \
which no advantage is expected. α = 0.1, {seeds} repetitions of every cell. Made by `make study-default`.

*Plain baselines* are split conformal prediction on the trial alone around a constant, a ridge regression and \
`GradientBoostingRegressor()`, half the trial rows fitting and half calibrating; `naive` does so with the automatic \
base model. After a comma comes what the base model is trained on, if it is not observational rows. A cell is \
*under-covered* if a one-sided t-test over repetitions rejects coverage ≥ 0.9 at 1 %, divided by the number of cells \
and arms (Bonferroni)."""
CHOICE = """\
The default of `CounterfactualIntervals()` is **`{chosen}`**, by judgement from the tables below: it promises ≥ 1-α \
whatever the confounding and the ratio, is under-covered nowhere, answers for every arm, and where methods that \
promise as much differ it is the narrowest or next to it. `transfer` is as narrow on synthetic data, but wider where \
selection biases the regression itself (STAR), and refuses an arm without observational rows."""
WIDTHS = """\
Widths are relative to the narrowest of the three plain baselines of the same cell and arm: geometric means over the \
{cells} cells and arms where all configurations are finite in every repetition. *At equal coverage* each method is set \
to the level at which it covers just 0.9 of the fresh rows, over the repetitions in which all methods have such a \
level, for those that need no new fit."""
NOTES = """\
- At equal coverage the valid methods differ by a few per cent only: in the synthetic data covariates say little about \
the outcome. What the default gains there over the trial alone it gains by calibrating on every trial row, without a \
hold-out set; *constant, all trial rows*, the same without any observational row, does as well. On STAR the \
observational pupils add to it. A ridge regression with full conformal prediction on the trial is not in the table.
- `pooled-dr` is the narrowest, but its promise is 1-α-Δ_pool, and with few trial rows the density ratio is not learnt \
well enough to keep 0.9: it is no default. Its `floor` bounds the damage.
- `grounded` and `weighted` models use half the trial rows for training. `centred` uses none and subtracts the bias \
that all rows share, which is most of what selection by outcome does to a regression."""
# A width at equal coverage is shown where all methods have one in at least this share of the repetitions.
MOST = 0.5


def named(only: list[str]) -> tuple[list[str], list[str]]:
    """Return the cells and the configurations among these names; all of them where none is named."""
    every = list(configurations())
    unknown = [name for name in only if name not in CELLS and name not in every]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is neither a cell nor a configuration; {suggest(unknown[0], CELLS + every)}")
    return [name for name in only if name in CELLS] or CELLS, [name for name in only if name in every] or every


def compare_all(seeds: int, jobs: int, cells: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Return these configurations in these cells, averaged over repetitions."""
    tasks = [(cell, seed, names) for seed in range(seeds) for cell in cells]
    found = Parallel(jobs, verbose=5, batch_size=1)(delayed(repeat)(*task) for task in tasks)
    return summarised([outcome for part in found for outcome in part])


def repeat(cell: str, seed: int, names: list[str]) -> list[Outcome]:
    """Return one repetition of a cell, on one core."""
    with one_thread():
        return compare_cell(cell, seed, names=names)


def summarised(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Return one row per cell, configuration and arm; the width is that of the repetitions without infinite ones."""
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for each in outcomes:
        if each.coverage == each.coverage:  # not NaN: the method does not refuse the arm
            groups.setdefault((each.cell, each.configuration, each.arm), []).append(each)
    common = _common_seeds(outcomes)
    rows = []
    for (cell, configuration, arm), group in groups.items():
        coverages = [each.coverage for each in group]
        finite = [each.width for each in group if not each.infinite]
        equal = [each.equal_width for each in group if each.seed in common[cell, arm] and each.equal_width > 0]
        spread = stdev(coverages) / len(coverages) ** 0.5 if len(coverages) > 1 else float("nan")
        rows.append(
            {
                "cell": cell,
                "configuration": configuration,
                "arm": arm,
                "repetitions": len(group),
                "coverage": round(fmean(coverages), 6),
                "error": round(spread, 6),
                "width": round(fmean(finite), 6) if finite else float("inf"),
                "infinite": round(fmean(each.infinite for each in group), 6),
                "equal_width": round(fmean(equal), 6) if len(equal) >= MOST * len(group) else float("nan"),
            }
        )
    return in_order(rows)


def _common_seeds(outcomes: list[Outcome]) -> dict[tuple[str, str], set[int]]:
    """Return, by cell and arm, the repetitions in which every method that can has a width at equal coverage."""
    found: dict[tuple[str, str], dict[str, set[int]]] = {}
    for each in outcomes:
        seeds = found.setdefault((each.cell, each.arm), {}).setdefault(each.configuration, set())
        if each.equal_width > 0:
            seeds.add(each.seed)
    known = {key: [seeds for seeds in by.values() if seeds] for key, by in found.items()}
    return {key: set.intersection(*seeds) if seeds else set() for key, seeds in known.items()}


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows by cell, configuration and arm."""
    names = list(configurations())
    return sorted(rows, key=lambda row: (CELLS.index(row["cell"]), names.index(row["configuration"]), row["arm"]))


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the averaged repetitions."""
    chosen = str(CounterfactualIntervals().method)
    names = list(dict.fromkeys(row["configuration"] for row in rows))
    table = {(row["cell"], row["configuration"], row["arm"]): row for row in rows}
    cells = finite_cells(names, table)
    lines = [
        "# The default method, and the study that chose it",
        "",
        SETTING.format(seeds=max(row["repetitions"] for row in rows)),
        "",
        CHOICE.format(chosen=chosen),
        "",
        *claims(chosen, table),
        "",
        "## All cells together",
        "",
        WIDTHS.format(cells=len(cells)),
        "",
        "| method | under-covered | least coverage | relative width | at equal coverage | most infinite |",
        "| --- " * 6 + "|",
        *(overall(name, cells, table) for name in names),
        "",
        NOTES,
        "",
    ]
    for d in DIMENSIONS:
        shown_cells = [f"synthetic, d = {d}, m = {m}" for m in TRIAL_SIZES]
        lines += section(f"Synthetic, d = {d}", shown_cells, names, table)
    return "\n".join(lines + section("Real data", ["STAR", "NSW"], names, table)).rstrip() + "\n"


def claims(chosen: str, table: Table) -> list[str]:
    """Return the results that the default must show, from the table."""
    mine = [row for (_, name, _), row in table.items() if name == chosen]
    lines = [f"- Under-covered in {sum(map(under_covered, mine))} of {len(mine)} cells and arms."]
    for cell in ("synthetic, d = 1, m = 250", "synthetic, d = 5, m = 100", "STAR"):
        for arm in ARMS:
            row, plain = table[cell, chosen, arm], [table[cell, name, arm] for name in PLAIN]
            best = min(plain, key=lambda each: each["width"])
            gain = 1 - row["width"] / table[cell, "GradientBoostingRegressor, trial alone", arm]["width"]
            text = f"- {cell}, {arm}: {row['coverage']:.3f} at width {row['width']:.4g}"
            if cell.startswith("synthetic, d = 1,"):
                oracle = round(oracle_width(arm), 3)
                text += f", {row['width'] / oracle:.2f} times that of an oracle ({oracle})"
            lines.append(
                f"{text}; the narrowest plain baseline ({best['configuration']}) {best['coverage']:.3f} at "
                f"{best['width']:.4g}; at equal coverage {row['equal_width']:.4g} against "
                f"{min(each['equal_width'] for each in plain):.4g}, and "
                f"{table[cell, ALL_ROWS, arm]['equal_width']:.4g} for a constant with all trial rows; "
                f"{gain:.0%} narrower than GradientBoostingRegressor's."
            )
    return lines


def under_covered(row: dict[str, Any]) -> bool:
    """Return whether coverage ≥ 1-α is rejected."""
    if not row["error"] > 0:
        return bool(row["coverage"] < 1 - ALPHA)
    statistic = (row["coverage"] - (1 - ALPHA)) / row["error"]
    return bool(stats.t.cdf(statistic, row["repetitions"] - 1) < TEST_LEVEL / (len(CELLS) * len(ARMS)))


def finite_cells(names: list[str], table: Table) -> list[tuple[str, str]]:
    """Return the cells and arms where every configuration answers with finite intervals, in every repetition."""
    cells = dict.fromkeys((cell, arm) for cell, _, arm in table)
    return [
        (cell, arm)
        for cell, arm in cells
        if all((cell, name, arm) in table and not table[cell, name, arm]["infinite"] for name in names)
    ]


def overall(name: str, cells: list[tuple[str, str]], table: Table) -> str:
    """Return a configuration's line over all cells."""
    mine = [row for (_, configuration, _), row in table.items() if configuration == name]
    widths = []
    for key in ("width", "equal_width"):
        relative = [table[cell, name, arm][key] / min(table[cell, p, arm][key] for p in PLAIN) for cell, arm in cells]
        known = [each for each in relative if each > 0]
        widths.append(f"{geometric_mean(known):.3f}" if known else "")
    under = f"{sum(map(under_covered, mine))} of {len(mine)}"
    least, infinite = min(row["coverage"] for row in mine), max(row["infinite"] for row in mine)
    return f"| {name} | {under} | {least:.3f} | {' | '.join(widths)} | {infinite:.0%} |"


def section(title: str, cells: list[str], names: list[str], table: Table) -> list[str]:
    """Return the table of some cells, one column per cell and arm: coverage ± its standard error / mean width."""
    columns = [(cell, arm) for cell in cells for arm in ARMS]
    heads = [f"{cell.rsplit(', ', maxsplit=1)[-1]}, {arm}" for cell, arm in columns]
    lines = [f"## {title}", "", f"| method | {' | '.join(heads)} |", "| --- " * (len(columns) + 1) + "|"]
    for name in names:
        cells_ = [shown(table.get((cell, name, arm))) for cell, arm in columns]
        lines.append(f"| {name} | {' | '.join(cells_)} |")
    return [*lines, ""]


def shown(row: dict[str, Any] | None) -> str:
    """Return coverage with its error and width; bold where under-covered, empty where the method refuses."""
    if row is None:
        return "refuses"
    width = f"{row['width']:.3g}" if row["width"] < 1000 else f"{row['width']:,.0f}"
    if row["infinite"]:
        width = f"∞ ({row['infinite']:.0%}; else {width})" if row["width"] < float("inf") else "∞"
    text = f"{row['coverage']:.3f} ± {row['error']:.3f} / {width}"
    return f"**{text}**" if under_covered(row) else text
