"""The paper's claims, and whether the tables support them: verdicts are computed from their rows.

The module is long because the paper makes many claims: one short function per claim, in the paper's order.
"""

from __future__ import annotations

import re
from statistics import fmean
from typing import TYPE_CHECKING

from confide.paper.averages import group_of, shown, shown_width
from confide.paper.protocols import NOT_YAHOO
from confide.paper.published import published
from confide.paper.rating_claims import on_ratings, on_splits
from confide.paper.settings import ORACLE
from confide.paper.synthetic_tables import PLAIN
from confide.paper.verdicts import (
    TEST_LEVEL,
    against,
    below,
    by_seed,
    coverage_verdict,
    fails,
    grows,
    kept,
    less_than,
    reaches,
    verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from confide.paper.averages import Line
    from confide.paper.reproduce import Reproduced

# Widths that change by less than this along a sweep hardly change.
HARDLY = 0.1
# The number of trial rows from which wTCP-DR is claimed to reach 0.9.
ENOUGH = 50
TARGETS = ("Y(0)", "Y(1)", "ITE")
INEXACT, EXACT, REFITS = "wscp-dr-inexact", "wscp-dr-exact", "wtcp-dr, refits"
PROMISED = ("transfer", "transfer-centred", "wscp-dr-calibrated")
PROVED = ("naive", *PROMISED, *PLAIN)
CONSTANT = next(iter(PLAIN))
# Methods that the paper claims to be narrower than Naive.
NARROWER = {INEXACT: TARGETS, EXACT: TARGETS, REFITS: ("Y(0)", "ITE")}
# Where a sentence ends and another begins.
SENTENCES = re.compile(r"(?<=[.*]) (?=[A-Z`w])")
# The paper's claims, in short.
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
    f"m ≥ {ENOUGH} for 0.9."
)
NESTED = "The paper: with nested inexact no method reaches 0.9, and nested exact is much wider."
RATIO = "The paper: with a kernel ratio instead of an MLP wTCP-DR loses much coverage, wSCP-DR does not."


def claims(found: dict[str, Reproduced]) -> list[str]:
    """Return the paper's questions with the answers of the available tables, as Markdown."""
    simulated = "yahoo" in found and NOT_YAHOO in found["yahoo"].notes
    yahoo = "Simulated ratings in place of Yahoo! R3" if simulated else "RQ1 and RQ2 on Yahoo! R3"
    asked: list[tuple[str, str, Callable[[Reproduced], list[str]]]] = [
        ("RQ1: is the specified coverage of 0.9 reached?", "table2", _coverage),
        ("RQ2: are intervals narrower than those of the trial alone?", "table2", _width),
        ("RQ3: what does the strength of hidden confounding do to coverage?", "dimension", _dimension),
        ("RQ4: what does the size of the trial do to width?", "trial-size", _trial_size),
        ("Nested effects", "nested", _nested),
        ("Which density ratio", "ratio", _ratio),
        ("RQ1 and RQ2 on Coat", "coat", on_ratings),
        ("Splits of Coat's trial", "coat-splits", on_splits),
        (yahoo, "yahoo", on_ratings),
    ]
    answers = {
        title: answer(found[table]) if table in found else [f"Not run yet: `confide reproduce {table}`."]
        for title, table, answer in asked
    }
    sections = [line for title, lines in answers.items() for line in (f"### {title}", "", *lines, "")]
    return [*_in_short(answers), *sections]


def _in_short(answers: dict[str, list[str]]) -> list[str]:
    """Return the verdicts of all answers as a table."""
    lines = ["| question | claim | here |", "| --- | --- | --- |"]
    for title, answer in answers.items():
        for sentence in (each for line in answer for each in SENTENCES.split(line)):
            claim, colon, judged = sentence.rpartition(": **")
            if colon and judged.endswith(".**"):
                lines.append(f"| {title.partition(':')[0]} | {claim} | {judged.removesuffix('.**')} |")
    return [*lines, ""]


def _of(found: Reproduced, method: str, group: str = "") -> list[Line]:
    return [
        line
        for line in found.lines
        if line.method == method and line.group == group and (line.coverage is not None or line.method == ORACLE)
    ]


def _every(found: Reproduced, methods: Iterable[str], group: str = "") -> list[Line]:
    return [line for method in methods for line in _of(found, method, group)]


def _groups(found: Reproduced) -> list[str]:
    return list(dict.fromkeys(line.group for line in found.lines))


def _coverage(found: Reproduced) -> list[str]:
    claimed = _every(found, (EXACT, REFITS))
    lines = [f"{COVERAGE} Exact and wTCP-DR reach 0.9: {kept(claimed)} Coverage here:", ""]
    shown_methods = (EXACT, REFITS, INEXACT, "wcp", "naive", *PROMISED, "pooled-dr", *PLAIN)
    every = {method: _of(found, method) for method in shown_methods}
    lines += [
        f"- `{method}`: {'; '.join(f'{line.target} {coverage_verdict(line)}' for line in mine)}."
        for method, mine in every.items()
        if mine
    ]
    proved = [line for line in _every(found, PROVED) if line.target != "ITE"]
    by_chance = (
        f"Of the {len(proved)} lines of outcomes whose 0.9 is proved "
        f"({', '.join(dict.fromkeys(f'`{line.method}`' for line in proved))}), "
        f"called below it: {sum(reaches(line) is False for line in proved)}; by chance {TEST_LEVEL * len(proved):.1f} "
        "would be."
    )
    return [*lines, "", by_chance, "", _on_inexact(found, [""], "in both arms"), "", _on_wcp(found)]


def _on_inexact(found: Reproduced, groups: list[str], where: str) -> str:
    """Return whether the method without a promise is below 0.9 for outcomes."""
    arms = [line for group in groups for line in _of(found, INEXACT, group) if line.target != "ITE"]
    return (
        f"Inexact is below 0.9 {where}: {verdict(map(fails, arms))} It promises nothing: its ends are regressed on "
        "trial rows and not calibrated there."
    )


def _on_wcp(found: Reproduced) -> str:
    arms = [line for line in _of(found, "wcp") if line.target != "ITE"]
    ours = [line.coverage.mean for line in arms if line.coverage is not None]
    paper = [line.paper_coverage.mean for line in arms if line.paper_coverage is not None]
    if not ours or not paper:
        return ""
    disjoint = published()["mended"]["wcp"]
    return (
        f"WCP is below 0.9 in both arms: {verdict(map(fails, arms))} It covers {fmean(ours):.3f} on average. The "
        f"paper's {fmean(paper):.3f} has another cause too: where its code calibrates on rows that it was not trained "
        f"on, and nothing else is changed, it covers {fmean([disjoint['coverage_y0'], disjoint['coverage_y1']]):.3f}."
    )


def _width(found: Reproduced) -> list[str]:
    claimed = [line for method, targets in NARROWER.items() for line in _of(found, method) if line.target in targets]
    lines = [f"{WIDTH} Its methods are narrower than `naive`: {_counted(found, claimed, 'naive')}", ""]
    lines += [
        f"Its methods are narrower than a constant that the trial alone gives: {_counted(found, claimed, CONSTANT)}",
        "",
    ]
    lines += [each for note in found.notes if note.startswith(REFITS) for each in (note, "")]
    uncovered = [line for line in claimed if reaches(line) is False]
    if uncovered:
        names = ", ".join(f"`{line.method}` {line.target}" for line in uncovered)
        lines += [f"Below 0.9, so that their width is no gain: {names}.", ""]
    lines += ["Mean width against `naive`, and against the constant, in the same repetitions:", ""]
    for method in (*NARROWER, *PROMISED, "pooled-dr"):
        parts = [
            f"{line.target} {_relative(found, line, 'naive')}, {_relative(found, line, CONSTANT)}"
            for line in _of(found, method)
        ]
        lines += [f"- `{method}`: {'; '.join(parts)}."] * bool(parts)
    needed = {line.target: line.width for line in _of(found, ORACLE)}
    naive = {line.target: line.width for line in _of(found, "naive")}
    both = [f"{each} {shown(needed[each])} ({shown(naive[each])})" for each in TARGETS if each in needed.keys() & naive]
    if both:
        lines += ["", f"An oracle that knows p(y|x) needs {', '.join(both)}; in brackets what `naive` takes."]
    return lines


def _counted(found: Reproduced, claimed: list[Line], method: str) -> str:
    """Return in how many of the claimed cells intervals are narrower than another method's, and the verdict."""
    answers = [less_than(found, line, method) for line in claimed]
    return (
        f"{verdict(answers)} Beyond noise narrower in {answers.count(True)} of {len(answers)} claimed cells, wider in "
        f"{answers.count(False)}."
    )


def _relative(found: Reproduced, line: Line, method: str) -> str:
    """Return how much narrower the finite intervals are than another method's, and in how many repetitions."""
    pairs = against(found, line, method)
    if not pairs:
        return "never finite beside it"
    share = fmean(mine for mine, _ in pairs) / fmean(other for _, other in pairs)
    words = f"{1 - share:.0%} narrower" if share < 1 else f"{share - 1:.0%} wider"
    return f"{words} (narrower in {sum(mine < other for mine, other in pairs)} of {len(pairs)})"


def _dimension(found: Reproduced) -> list[str]:
    groups = _groups(found)
    of_both = [line for group in groups for line in _every(found, (EXACT, "naive"), group)]
    lines = [f"{DIMENSION} Exact and Naive reach 0.9: {kept(of_both)}", ""]
    gains: dict[str, bool | None] = {}
    for method in (EXACT, "naive", INEXACT, "wcp"):
        for target in TARGETS:
            swept = [line for group in groups for line in _of(found, method, group) if line.target == target]
            if not swept:
                continue
            if method == "wcp":
                gains[f"{target} {_change(swept)}"] = grows(found, swept[0], swept[-1], "coverage")
            shown_all = ", ".join(f"{shown(line.coverage)} at {line.group}" for line in swept)
            few = sum(reaches(line) is False for line in swept)
            lines.append(f"- `{method}`, {target}: {shown_all}; below 0.9 at {few} of {len(swept)}.")
    lines += ["", _on_inexact(found, groups, "at every d")]
    if gains:
        certain = sum(answer is True for answer in gains.values())
        counted = f"beyond noise in {certain} of {len(gains)}"
        lines += ["", f"WCP improves with d: {verdict(gains.values())} {', '.join(gains)}; {counted}."]
    return lines


def _change(swept: list[Line]) -> str:
    first, last = swept[0].coverage, swept[-1].coverage
    return "" if first is None or last is None else f"{last.mean - first.mean:+.3f}"


def _trial_size(found: Reproduced) -> list[str]:
    papers = (INEXACT, EXACT, "wtcp-dr")
    compared = [name for name in ("naive", *papers) if any(line.method == name for line in found.lines)]
    finite = [group for group in _groups(found) if _all_finite(found, compared, group)]
    lines = [TRIAL_SIZE, ""]
    if len(finite) < 2:
        return [*lines, "At no two sizes all of these methods have finite intervals."]
    first, last = finite[0], finite[-1]
    lines += [f"Width from {first}, the smallest trial at which all of them are finite, to {last}:", ""]
    change: list[float] = []
    hardly: list[bool | None] = []
    for method in (*compared, "transfer-centred", CONSTANT):
        for before, after in _paired(found, method, first, last):
            if before.target == "ITE" or before.width is None or after.width is None:
                continue
            share = after.width.mean / before.width.mean - 1
            lines.append(
                f"- `{method}`, {before.target}: {shown_width(before)} to {shown_width(after)} "
                f"({share:+.0%}).{_where_below(found, method, before.target)}"
            )
            if method in papers:
                change.append(share)
                hardly.append(_hardly(found, before, after))
    if change:
        summary = f"The widths of the paper's methods change by less than {HARDLY:.0%}: {verdict(hardly)}"
        beyond = f"beyond noise by more in {hardly.count(False)} of {len(hardly)}"
        lines += ["", f"{summary} By {min(change):+.0%} to {max(change):+.0%}; {beyond}."]
        lines += [each for line in _why_wider(found, papers, first, last) for each in ("", line)]
    shares = {name: _change_by_seed(found, name, first, last) for name in compared}
    more = [
        below([naive - shares[name][seed] for seed, naive in shares["naive"].items() if seed in shares[name]])
        for name in papers
        if name in shares and "naive" in shares
    ]
    lines += ["", f"`naive` gains more than each of the paper's methods: {verdict(more)}"]
    return [*lines, "", _small_trials(found)]


def _hardly(found: Reproduced, before: Line, after: Line) -> bool | None:
    """Return whether a width changes by less than `HARDLY`, up or down, from one cell to another."""
    start, end = (by_seed(found, line, "width") for line in (before, after))
    shares = [end[seed] / start[seed] - 1 for seed in start if seed in end]
    sign = -1 if sum(shares) < 0 else 1
    return below([sign * share - HARDLY for share in shares])


def _why_wider(found: Reproduced, methods: Iterable[str], first: str, last: str) -> list[str]:
    """Return what is known of widths that grow with the trial: where they began too narrow, where the search ended."""
    short = [line for line in _every(found, methods, first) if line.target != "ITE" and reaches(line) is False]
    names = ", ".join(f"`{line.method}` {line.target}" for line in short)
    said = [f"Narrow at {first}, and below 0.9 there: {names}. A width that misses is no gain."] if short else []
    edges = [
        fmean([line.edge for line in _of(found, "wtcp-dr", group) if line.target != "ITE"] or [0.0])
        for group in (first, last)
    ]
    if edges[1] > edges[0]:
        said.append(
            f"`wtcp-dr`: {edges[0]:.0%} of its intervals for an outcome end where the search for outcomes ended at "
            f"{first}, {edges[1]:.0%} at {last}; that end bounds their width. The more trial rows, the surer is r̂ of "
            "outcomes that observational rows lack, and Algorithm 2 cannot rule those out."
        )
    return said


def _change_by_seed(found: Reproduced, method: str, first: str, last: str) -> dict[int, float]:
    """Return by how much the widths of both outcomes change from one cell to another, in each repetition."""
    change: dict[int, list[float]] = {}
    for before, after in _paired(found, method, first, last):
        if before.target != "ITE":
            start, end = (by_seed(found, line, "width") for line in (before, after))
            for seed in start.keys() & end.keys():
                change.setdefault(seed, []).append(end[seed] / start[seed] - 1)
    return {seed: fmean(each) for seed, each in sorted(change.items())}


def _paired(found: Reproduced, method: str, first: str, last: str) -> list[tuple[Line, Line]]:
    """Return a method's lines in two cells, those of the same target together."""
    others = {line.target: line for line in _of(found, method, last)}
    return [(line, others[line.target]) for line in _of(found, method, first) if line.target in others]


def _all_finite(found: Reproduced, methods: list[str], group: str) -> bool:
    mine = [line for line in _every(found, methods, group) if line.target != "ITE"]
    return len(mine) == 2 * len(methods) and not any(line.infinite or line.refused for line in mine)


def _where_below(found: Reproduced, method: str, target: str) -> str:
    """Return at which sizes coverage is below 0.9."""
    few = [
        line.group for line in found.lines if line.method == method and line.target == target and reaches(line) is False
    ]
    return f" Below 0.9 at {', '.join(few)}." if few else ""


def _small_trials(found: Reproduced) -> str:
    """Return whether wTCP-DR covers from 50 trial rows on, and not before."""
    mine = [
        line for line in found.lines if line.method == "wtcp-dr" and line.target != "ITE" and line.coverage is not None
    ]
    sizes = {group_of(found.name, row): row["m"] for row in found.rows}
    large = [line for line in mine if sizes[line.group] >= ENOUGH]
    small = [line for line in mine if sizes[line.group] < ENOUGH]
    short = ", ".join(f"{line.target} at {line.group}" for line in large if reaches(line) is False)
    where = f" Below it is {short}: an arm has about half of these rows." if short else ""
    return (
        f"wTCP-DR reaches 0.9 from m = {ENOUGH} on: {kept(large)}{where} wTCP-DR is below 0.9 with fewer rows: "
        f"{verdict(map(fails, small))}"
    )


def _nested(found: Reproduced) -> list[str]:
    inexact, exact = (
        {line.method: line for line in found.lines if line.group == form and line.coverage is not None}
        for form in ("inexact", "exact")
    )
    papers = [method for method, line in inexact.items() if line.paper_coverage is not None and method in exact]
    short = [fails(inexact[method]) for method in papers]
    wider = [grows(found, inexact[method], exact[method], "width") for method in papers]
    verdicts = f"Below 0.9 with inexact: {verdict(short)} Wider with exact: {verdict(wider)}"
    lines = [f"{NESTED} {verdicts} Coverage and width:", ""]
    for method, line in exact.items():
        before = inexact[method]
        lines.append(
            f"- `{method}`: inexact {coverage_verdict(before)}, width {shown_width(before)}; exact "
            f"{coverage_verdict(line)}, width {shown_width(line)}."
        )
    return lines


def _ratio(found: Reproduced) -> list[str]:
    drops: dict[str, list[bool | None]] = {}
    lines = []
    for method in dict.fromkeys(line.method for line in found.lines if line.group == "kernel"):
        parts = []
        for kernel, mlp in _paired(found, method, "kernel", "MLP"):
            if kernel.coverage is None or mlp.coverage is None:
                continue
            drops.setdefault(method, []).append(grows(found, kernel, mlp, "coverage"))
            change = kernel.coverage.mean - mlp.coverage.mean
            parts.append(f"{kernel.target} {change:+.3f} (to {coverage_verdict(kernel)})")
        lines.append(f"- `{method}`: {'; '.join(parts)}.")
    lost = [drop for method in (INEXACT, EXACT) for drop in drops.get(method, [])]
    verdicts = (
        f"wTCP-DR loses coverage: {verdict(drops.get('wtcp-dr', []))} wSCP-DR loses coverage, against the claim: "
        f"{verdict(lost)}"
    )
    if True in lost:
        verdicts += " The paper's code has a kernel ratio in both rows of wSCP-DR, and could not see it."
    return [f"{RATIO} {verdicts} Coverage with the kernel ratio minus that with the MLP:", "", *lines]
