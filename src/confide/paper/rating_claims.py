"""The paper's claims on ratings, and whether the tables support them: verdicts are computed from their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.paper.averages import group_of, shown, shown_width
from confide.paper.protocols import NOT_YAHOO
from confide.paper.rating_tables import ADDITIVE, CONSTANT
from confide.paper.settings import ORACLE
from confide.paper.verdicts import against, coverage_verdict, grows, kept, less_than, reaches, verdict

if TYPE_CHECKING:
    from confide.paper.averages import Line
    from confide.paper.reproduce import Reproduced

CLAIM = "The paper: its methods reach 0.9 and are much narrower than Naive, also without trial outcomes in the ratio."
SPLITS = (
    "The paper: all methods are close to 0.9 or above; Naive gets narrower with m_tr and with m_cal, and with m_tr "
    "every method covers more."
)
PAPERS = ("wscp-dr-inexact", "wscp-dr-exact", "wscp-dr*-inexact", "wscp-dr*-exact")


def on_ratings(found: Reproduced) -> list[str]:
    """Return what a table of ratings shows; the paper's claims are judged only on the paper's ratings."""
    answered = [line for line in found.lines if line.coverage is not None]
    by_name = {line.method: line for line in answered}
    claimed = [by_name[name] for name in PAPERS if name in by_name]
    lines = [f"**{NOT_YAHOO}** They say nothing of the paper's claims.", ""] if NOT_YAHOO in found.notes else []
    if "naive" not in by_name or not claimed:
        return [*lines, "The table is not complete."]
    if not lines:
        narrower = [less_than(found, line, "naive") for line in claimed]
        lines = [
            f"{CLAIM} Its methods reach 0.9: {kept(claimed)} They are narrower than `naive`: {verdict(narrower)}",
            "",
            *_why(by_name["naive"], claimed, narrower),
        ]
    lines += ["Coverage, width, ratings in the set:", ""]
    for line in answered:
        ratings = shown(line.more["ratings"], 2)
        lines.append(f"- `{line.method}`: {coverage_verdict(line)}, width {shown_width(line)}, {ratings} ratings.")
    methods = [line for line in answered if line.method not in (CONSTANT, ADDITIVE, ORACLE)]
    for baseline in (CONSTANT, ADDITIVE):
        if baseline in by_name:
            lines += ["", _beside(found, methods, baseline)]
    pairs = against(found, by_name["naive"], ADDITIVE)
    same = sum(mine == other for mine, other in pairs)
    if same:
        turned_off = "held-out ratings turned its factors off"
        lines += ["", f"`naive` is `{ADDITIVE}` in {same} of {len(pairs)} repetitions: {turned_off}."]
    valid = [line for line in answered if reaches(line) is not False and line.method != ORACLE]
    if valid:
        best = min(valid, key=lambda line: line.more["ratings"].mean)
        lines += ["", f"Of those that are not below 0.9 `{best.method}` has the smallest sets on average."]
    return lines


def _why(naive: Line, claimed: list[Line], narrower: list[bool | None]) -> list[str]:
    """Return why claims on ratings do not hold, where it is known."""
    said = []
    if any(reaches(line) is False and line.method.endswith("-inexact") for line in claimed):
        said.append("Inexact promises nothing: its ends are regressed on trial ratings and not calibrated there.")
    if not all(narrower) and naive.width is not None and naive.paper_width is not None:
        said.append(
            f"`naive` has a width of {naive.width.mean:.3f} here and of {naive.paper_width.mean:.3f} in the paper: its "
            "factors are shrunk, or turned off, by held-out ratings, and so there is less to gain."
        )
    return [" ".join(said), ""] if said else []


def on_splits(found: Reproduced) -> list[str]:
    """Return what the sweeps of the trial's fit and calibration parts show."""
    methods = (*PAPERS, "wcp-nb", "naive")
    measured = [line for line in found.lines if line.coverage is not None and line.method in methods]
    lines = [f"{SPLITS} All of them reach 0.9: {kept(measured)}", ""]
    for method in methods:
        mine = [line for line in measured if line.method == method]
        shares = [line.coverage.mean for line in mine if line.coverage is not None] or [0.0]
        span = f"{min(shares):.3f} to {max(shares):.3f}"
        few = sum(reaches(line) is False for line in mine)
        lines += [f"- `{method}`: {span}; below 0.9 in {few} of {len(mine)} cells."] * bool(mine)
    of_naive = [line for line in measured if line.method == "naive"]
    judged = []
    for name in ("m_tr", "m_cal"):
        narrower = [grows(found, last, first, "width") for first, last in _ends(found, of_naive, name)]
        judged.append(f"`naive` gets narrower with {name}: {verdict(narrower)}")
    more = [grows(found, first, last, "coverage") for first, last in _ends(found, measured, "m_tr")]
    judged.append(f"Every method covers more with m_tr: {verdict(more)}")
    return [*lines, "", " ".join(judged)]


def _ends(found: Reproduced, measured: list[Line], name: str) -> list[tuple[Line, Line]]:
    """Return each method's lines at the smallest and the largest of one part, the other part being at its largest."""
    swept_part, other = ("fit", "calibration") if name == "m_tr" else ("calibration", "fit")
    sizes = {group_of(found.name, row): row for row in found.rows}
    most = max(row[other] for row in found.rows)
    swept: dict[str, list[Line]] = {}
    for line in sorted(measured, key=lambda line: sizes[line.group][swept_part]):
        if sizes[line.group][other] == most:
            swept.setdefault(line.method, []).append(line)
    return [(mine[0], mine[-1]) for mine in swept.values() if len(mine) > 1]


def _beside(found: Reproduced, methods: list[Line], baseline: str) -> str:
    """Return which methods have fewer ratings in their sets than a plain baseline, and cover."""
    fewer = [line for line in methods if less_than(found, line, baseline, "ratings")]
    covering = [f"`{line.method}`" for line in fewer if reaches(line) is not False]
    short = [f"`{line.method}`" for line in fewer if reaches(line) is False]
    sentence = f"Fewer ratings in the set than `{baseline}` beyond noise: {', '.join(covering) or 'none'}"
    return f"{sentence}; fewer, but below 0.9: {', '.join(short)}." if short else f"{sentence}."
