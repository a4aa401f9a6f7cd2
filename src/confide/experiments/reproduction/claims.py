"""What the paper claims, and whether the tables bear it out: every sentence is derived from their rows."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from scipy import stats

from confide.experiments.reproduction.settings import ALPHA
from confide.experiments.reproduction.summary import group_of, shown, shown_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.experiments.reproduction.reproduce import Reproduced
    from confide.experiments.reproduction.runs import Row
    from confide.experiments.reproduction.summary import Line

LEVEL = 1 - ALPHA
# Level of the test for coverage below 0.9, each line by itself.
TEST_LEVEL = 0.05
# Widths that change by less along a sweep hardly change.
HARDLY = 0.1
TARGETS = ("Y(0)", "Y(1)", "ITE")
PAPERS = ("wscp-dr-exact", "wtcp-dr, refits", "wscp-dr-inexact")
PROMISED = ("transfer", "transfer-centred", "wscp-dr-calibrated")
# What the paper says, in short.
COVERAGE = (
    "The paper: wSCP-DR (Exact) and wTCP-DR reach 0.9 for Y(0), Y(1) and the effect, Inexact is slightly below, WCP "
    "far below."
)
WIDTH = "The paper: Inexact is much narrower than Naive, Exact slightly, wTCP-DR for Y(0) and the effect."
DIMENSION = (
    "The paper: Exact and Naive keep 0.9 at every d, Inexact is slightly below, and WCP improves as confounding gets "
    "weaker."
)
TRIAL_SIZE = (
    "The paper: Naive gains most from a larger trial, the widths of its own methods hardly change, and wTCP-DR needs "
    "m ≥ 50 for 0.9."
)
NESTED = "The paper: nested inexact reaches 0.9 with no method; nested exact does, and is much wider."
RATIO = "The paper: with a kernel ratio instead of an MLP wTCP-DR loses much coverage, wSCP-DR does not."
RATINGS = "The paper: its methods reach 0.9 and are much narrower than Naive, also without trial outcomes in the ratio."
HOLDS, NOT, PART = "**Holds.**", "**Does not hold.**", "**Holds in part.**"


def claims(found: dict[str, Reproduced]) -> list[str]:
    """Return the paper's questions with what the tables that are there say to them, as Markdown."""
    asked: list[tuple[str, str, Callable[[Reproduced], list[str]]]] = [
        ("RQ1: is the specified coverage of 0.9 reached?", "table2", _coverage),
        ("RQ2: are intervals narrower than those of the trial alone?", "table2", _width),
        ("RQ3: what does the strength of hidden confounding do to coverage?", "dimension", _dimension),
        ("RQ4: what does the size of the trial do to width?", "trial-size", _trial_size),
        ("Nested effects", "nested", _nested),
        ("Which density ratio", "ratio", _ratio),
        ("RQ1 and RQ2 on Coat", "coat", _ratings),
        ("RQ1 and RQ2 on Yahoo! R3", "yahoo", _ratings),
    ]
    lines: list[str] = []
    for title, table, answer in asked:
        lines += [f"### {title}", ""]
        lines += answer(found[table]) if table in found else [f"Not run yet: `confide reproduce {table}`."]
        lines.append("")
    return lines


def reaches(line: Line) -> bool | None:
    """Return whether coverage is at least 0.9; None where it is below, and a one-sided t test does not reject 0.9."""
    if line.coverage is None or line.coverage.mean >= LEVEL:
        return True
    if line.seeds < 2:  # one seed rejects nothing
        return None
    error = line.coverage.sd / math.sqrt(line.seeds)
    return None if line.coverage.mean + stats.t.ppf(1 - TEST_LEVEL, line.seeds - 1) * error >= LEVEL else False


def _verdict(holds: list[bool | None]) -> str:
    """Return whether a claim holds of all its parts, what is within noise counting for it."""
    for_it = [each is not False for each in holds]
    return HOLDS if all(for_it) else PART if any(for_it) else NOT


def _told(line: Line) -> str:
    words = {True: "", None: ", below 0.9 within noise", False: ", **below 0.9**"}[reaches(line)]
    return f"{line.target} {shown(line.coverage)}{words}"


def _of(found: Reproduced, method: str, group: str = "") -> list[Line]:
    return [line for line in found.lines if line.method == method and line.group == group]


def _coverage(found: Reproduced) -> list[str]:
    first = [line for method in PAPERS[:2] for line in _of(found, method)]
    lines = [f"{COVERAGE} {_verdict([reaches(line) for line in first])} Coverage here:", ""]
    every = {method: _of(found, method) for method in (*PAPERS, "wcp", "naive", *PROMISED, "pooled-dr")}
    lines += [f"- `{method}`: {'; '.join(map(_told, mine))}." for method, mine in every.items() if mine]
    return [*lines, "", _on_wcp(found)]


def _on_wcp(found: Reproduced) -> str:
    arms = [line for line in _of(found, "wcp") if line.target != "ITE"]
    if not arms or any(line.coverage is None or line.paper_coverage is None for line in arms):
        return ""
    ours = fmean(line.coverage.mean for line in arms if line.coverage is not None)
    paper = fmean(line.paper_coverage.mean for line in arms if line.paper_coverage is not None)
    seen = (
        "Hidden confounding does cost WCP coverage"
        if all(reaches(line) is False for line in arms)
        else ("That hidden confounding costs WCP coverage is not to be seen here")
    )
    return (
        f"{seen}: {ours:.3f} on average over both arms. The paper's {paper:.3f} owes most of its distance from 0.9 to "
        "calibration rows that were trained on, not to confounding."
    )


def _width(found: Reproduced) -> list[str]:
    compared = [line for method in (PAPERS[2], *PAPERS[:2]) for line in _of(found, method)]
    narrower = [_relative(found, line) for line in compared]
    holds = [share < 1 and reaches(line) is not False for line, (share, *_) in zip(compared, narrower, strict=True)]
    counted = f"Narrower, and not below 0.9: {sum(holds)} of {len(holds)} methods and targets."
    lines = [f"{WIDTH} {counted} {_verdict(list(holds))} Mean width against `naive` in the same repetitions:", ""]
    for method in (*PAPERS, *PROMISED, "pooled-dr"):
        parts = [_narrower(found, line) for line in _of(found, method)]
        if parts:
            lines.append(f"- `{method}`: {'; '.join(parts)}.")
    oracle = {line.target: line.width for line in found.lines if line.method == "oracle"}
    naive = {line.target: line.width for line in _of(found, "naive")}
    told = [f"{target} {shown(oracle[target])} ({shown(naive[target])})" for target in TARGETS if target in oracle]
    if told:
        lines += ["", f"An oracle that knows p(y|x) needs {', '.join(told)}; in brackets what `naive` takes."]
    return lines


def _relative(found: Reproduced, line: Line) -> tuple[float, int, int]:
    """Return our mean width over naive's where both are finite, and in how many of how many repetitions it is less.

    Refits were asked about fewer rows than naive; both are means over the same population.
    """
    mine, naive = (_widths(found, method, line) for method in (line.method, "naive"))
    both = [seed for seed in mine if seed in naive]
    if not both:
        return math.inf, 0, 0
    share = fmean(mine[seed] for seed in both) / fmean(naive[seed] for seed in both)
    return share, sum(mine[seed] < naive[seed] for seed in both), len(both)


def _widths(found: Reproduced, method: str, line: Line) -> dict[int, float]:
    """Return the widths by seed where all intervals are finite."""

    def matches(row: Row) -> bool:
        here = group_of(found.name, row) in ("", line.group)
        return here and row["method"] == method and row["target"] == line.target and row["seed"] != ""

    return {row["seed"]: row["width"] for row in found.rows if matches(row) and row["infinite"] == 0}


def _narrower(found: Reproduced, line: Line) -> str:
    share, times, of = _relative(found, line)
    if not of:
        return f"{line.target} never finite where `naive` is"
    words = f"{1 - share:.0%} narrower" if share < 1 else f"{share - 1:.0%} wider"
    return f"{line.target} {words} (narrower in {times} of {of})"


def _dimension(found: Reproduced) -> list[str]:
    groups = list(dict.fromkeys(line.group for line in found.lines))
    kept = [line for method in ("wscp-dr-exact", "naive") for group in groups for line in _of(found, method, group)]
    gains = []
    lines = [f"{DIMENSION} Of Exact and Naive: {_verdict([reaches(line) for line in kept])}", ""]
    for method in ("wscp-dr-exact", "naive", "wscp-dr-inexact", "wtcp-dr", "wcp", *PROMISED, "pooled-dr"):
        for target in ("Y(0)", "Y(1)"):
            swept = [line for group in groups for line in _of(found, method, group) if line.target == target]
            if not swept:
                continue
            if method == "wcp" and swept[0].coverage and swept[-1].coverage:
                gains.append(swept[-1].coverage.mean - swept[0].coverage.mean)
            shown_all = ", ".join(f"{shown(line.coverage)} at {line.group}" for line in swept)
            below = sum(reaches(line) is False for line in swept)
            lines.append(f"- `{method}`, {target}: {shown_all}; below 0.9 at {below} of {len(swept)}.")
    if gains:
        rising = all(gain > 0 for gain in gains)
        lines += ["", f"That WCP improves with d {'holds' if rising else 'does not hold'}: {_signed(gains)}."]
    return lines


def _signed(gains: list[float]) -> str:
    return ", ".join(f"{gain:+.3f} for Y({arm})" for arm, gain in enumerate(gains))


def _trial_size(found: Reproduced) -> list[str]:
    groups = list(dict.fromkeys(line.group for line in found.lines))
    swept_from = "Width from the smallest trial with finite intervals in every repetition to the largest:"
    lines = [f"{TRIAL_SIZE} {swept_from}", ""]
    change: dict[str, list[float]] = {}
    for method in ("naive", "wscp-dr-inexact", "wscp-dr-exact", "wtcp-dr", *PROMISED, "pooled-dr"):
        for target in ("Y(0)", "Y(1)"):
            swept = [line for group in groups for line in _of(found, method, group) if line.target == target]
            finite = [line for line in swept if line.width is not None and not line.infinite and line.seeds]
            if not finite or finite[0].width is None or finite[-1].width is None:
                continue
            change.setdefault(method, []).append(finite[-1].width.mean / finite[0].width.mean - 1)
            below = [line.group for line in swept if reaches(line) is False]
            told = f" Below 0.9 at {', '.join(below)}." if below else ""
            lines.append(
                f"- `{method}`, {target}: {shown_width(finite[0])} at {finite[0].group}, {shown_width(finite[-1])} at "
                f"{finite[-1].group} ({change[method][-1]:+.0%}).{told}"
            )
    papers = [each for method in ("wscp-dr-inexact", "wscp-dr-exact", "wtcp-dr") for each in change.get(method, [])]
    if papers:
        holds = all(abs(each) < HARDLY for each in papers)
        span = f"{min(papers):+.0%} to {max(papers):+.0%}"
        lines += ["", f"The widths of the paper's methods change by {span}: {HOLDS if holds else NOT}"]
    if "naive" in change:
        most = min(change, key=lambda method: fmean(change[method]))
        told = "gains most" if most == "naive" else f"does not gain most: `{most}` does"
        lines += ["", f"`naive` {told}. An interval that is infinite at a smaller m is no gain that these shares show."]
    return lines


def _nested(found: Reproduced) -> list[str]:
    inexact, exact = (
        {line.method: line for line in found.lines if line.group == form and line.coverage is not None}
        for form in ("inexact", "exact")
    )
    none, every = [reaches(line) is not True for line in inexact.values()], [reaches(line) for line in exact.values()]
    lines = [f"{NESTED} Of inexact: {_verdict(list(none))} Of exact: {_verdict(every)} Coverage and width:", ""]
    for method, line in exact.items():
        before = inexact[method]
        lines.append(
            f"- `{method}`: inexact {_told(before).removeprefix('ITE ')}, width {shown_width(before)}; exact "
            f"{_told(line).removeprefix('ITE ')}, width {shown_width(line)}."
        )
    return lines


def _ratio(found: Reproduced) -> list[str]:
    lines = [f"{RATIO} Coverage with the kernel ratio less that with the MLP:", ""]
    for method in dict.fromkeys(line.method for line in found.lines if line.group == "kernel"):
        both = zip(_of(found, method, "kernel"), _of(found, method, "MLP"), strict=True)
        parts = [
            f"{kernel.target} {kernel.coverage.mean - mlp.coverage.mean:+.3f} (to {_told(kernel).split(' ', 1)[1]})"
            for kernel, mlp in both
            if kernel.coverage is not None and mlp.coverage is not None
        ]
        lines.append(f"- `{method}`: {'; '.join(parts)}.")
    return lines


def _ratings(found: Reproduced) -> list[str]:
    papers = ("wscp-dr-inexact", "wscp-dr-exact", "wscp-dr*-inexact", "wscp-dr*-exact")
    by_name = {line.method: line for line in found.lines}
    mine = [by_name[name] for name in papers if name in by_name]
    lines = [f"**{note}**\n" for note in found.notes]
    if "naive" not in by_name or not mine:
        return [*lines, "The table is not complete."]
    narrower = [_relative(found, line)[0] < 1 for line in mine]
    verdicts = (
        f"Coverage: {_verdict([reaches(line) for line in mine])} Narrower than `naive`: {_verdict(list(narrower))}"
    )
    lines += [f"{RATINGS} {verdicts} Coverage, width, ratings in the set:", ""]
    for line in found.lines:
        ratings = f", {shown(line.more['ratings'], 2)} ratings" if "ratings" in line.more else ""
        lines.append(f"- `{line.method}`: {_told(line).removeprefix('rating ')}, width {shown_width(line)}{ratings}.")
    valid = [line for line in found.lines if reaches(line) is not False and "ratings" in line.more]
    if valid:
        best = min(valid, key=lambda line: line.more["ratings"].mean)
        lines += ["", f"Of those that are not below 0.9 `{best.method}` has the smallest sets."]
    return lines
