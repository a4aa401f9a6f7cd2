"""What whoever makes the page could do about what is missing or assumed on it, with the names of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.base.advice import remedy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from confide.model import CounterfactualIntervals
    from confide.report.evidence import Evidence
    from confide.report.findings import Findings
    from confide.report.words import Words

TABLES = (
    "The page was made without the tables that the model was fitted on: with `--observational`, `--trial`, "
    "`--treatment` and `--outcome` (in Python `study=`) it opens with average effects, and has balance, the flow of "
    "rows, coverage on rows of the trial that the model has not seen, and the test for hidden confounding."
)
GROUPS = (
    'For average effects in groups give `--by` a covariate, or a comparison such as `--by "age > 70"`; '
    '`--by "sex,age > 70"` crosses two.'
)
COMPARE = "`confide compare` measures all methods on held-out rows."
ONE_END = "Intervals have one end, by `--side`; with both, people can be found to be better under either treatment."
FIXED = "The level is fixed: for another one make the page again with `--alpha`."
STEPS = "The level of each of the two steps of an effect is `arm_alpha=`, in Python."
GAMMA = "`--gamma` fits the model at the level α/γ, for people who may be γ times as frequent as in the trial."
CONFIG = "`confide run --save-config` declares the options that decide the answers beforehand; the hash is theirs."


def for_maker(
    model: CounterfactualIntervals,
    findings: Findings,
    evidence: Evidence | None,
    words: Words,
    said: Iterable[str],
    *,
    fixed: bool,
) -> list[str]:
    """Return what could be done, each once; names of options are between backticks.

    ``said`` is advice that the page shows without its remedies; ``fixed`` whether its level cannot be moved.
    """
    advised = [text for text in (*said, *_refusals(findings, evidence)) if remedy_of(text)]
    capitals = (f"{text[0].upper()}{text[1:]}" for text in advised)
    asked = (*_on_answers(findings, evidence, words), *_on_levels(model, findings, fixed=fixed))
    return list(dict.fromkeys([*capitals, *asked, CONFIG]))


def _refusals(findings: Findings, evidence: Evidence | None) -> list[str]:
    """Return why parts of the page are missing, where a function refused them."""
    found = list(findings.refused.values())
    if evidence is not None:
        found += [evidence.held_out, *(each.refused for each in evidence.compared if each.refused is not None)]
    return found


def _on_answers(findings: Findings, evidence: Evidence | None, words: Words) -> Iterator[str]:
    """Yield what could be asked of the page."""
    if evidence is None:
        yield TABLES
    control = words.treatment(findings.pairs[0][1])
    yield f"Effects are against {control}; `--control` names another treatment to compare with."
    if words.lower_is_better is None:
        yield (
            f"Nobody said which direction is better for {words.outcome}: `--lower-is-better` and `--higher-is-better` "
            "do."
        )
    if findings.averages and all(len(records) == 1 for records in findings.averages.values()):
        yield GROUPS
    if not findings.selections and "selections" not in findings.refused:
        yield (
            f"`--above` or `--below` a value, with `--fdr`, lists people whose {words.outcome} will be so, at a known "
            "rate of false picks."
        )
    if evidence is not None and evidence.compared:
        yield COMPARE


def _on_levels(model: CounterfactualIntervals, findings: Findings, *, fixed: bool) -> Iterator[str]:
    """Yield what decides levels and ends of intervals."""
    if model.side_ != "both":
        yield ONE_END
    if fixed:
        yield FIXED
    if model._keeps_arm_alpha:
        yield STEPS
    if findings.gammas:
        yield GAMMA
