"""The page itself: a model's predictions, its promise and the evidence, in one file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from sklearn.utils.validation import check_is_fitted

from confide import __version__
from confide.base.advice import says_of
from confide.base.atomic import atomic_write
from confide.base.validation import names_in
from confide.data.study import check_study
from confide.effects.wording import plain
from confide.model import CounterfactualIntervals
from confide.report.choosing import Choice
from confide.report.contents import contents
from confide.report.evidence import Evidence
from confide.report.findings import Findings
from confide.report.individuals import Individuals
from confide.report.words import Words

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from confide.data.study import Study
    from confide.predict.batches import Answered
    from confide.typing import Label, Table

# The page's own script is made of these parts, in this order; they share one scope.
PARTS = (
    "numbers",
    "words",
    "choices",
    "filters",
    "table",
    "scrolling",
    "charts",
    "evidence_charts",
    "download",
    "events",
)
LIBRARIES = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
# The style that Observable Plot puts into each chart.
PLOT_STYLE = """:where(.plot-d6a7b5) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot-d6a7b5 text),
:where(.plot-d6a7b5 tspan) {
  white-space: pre;
}"""
# How sentences of advice write levels, and how the page does.
LEVELS = (("alpha/gamma", "α/γ"), ("alpha = ", "α = "), ("alpha=", "α = "), ("Alpha=", "α = "))
LICENCES = {
    "D3": "vendor/LICENSE.d3.txt",
    "Observable Plot": "vendor/LICENSE.plot.txt",
    "interval-tree-1d": "vendor/LICENSE.interval-tree-1d.txt",
    "binary-search-bounds": "vendor/LICENSE.binary-search-bounds.txt",
    "isoformat": "vendor/LICENSE.isoformat.txt",
}


def write_report(
    path: str | os.PathLike[str],
    model: CounterfactualIntervals,
    X_new: Table,
    *,
    study: Study | None = None,
    control: Label | None = None,
    lower_is_better: bool | None = None,
    outcome_label: str | None = None,
    unit: str = "",
    treatment_labels: Mapping[Any, str] | None = None,
    by: str | Sequence[str] = (),
    above: float | None = None,
    below: float | None = None,
    under: Label | None = None,
    fdr: float = 0.1,
    methods: Sequence[str] | None = None,
    random_state: int = 0,
) -> Answered:
    """Write a report on a fitted model and new rows: one HTML file that needs no network.

    The file is written completely or not at all. It contains the rows' own columns and predictions: handle it with the
    same care as the table.

    Parameters
    ----------
    path : path
        Where the page is written.
    model : CounterfactualIntervals
        Fitted.
    X_new : frame or (n, d) array
        New rows, at least one. Columns of a frame that are not covariates identify the rows and are carried through.
        The page contains at most 10,000 rows, of more a random sample; it counts, and chooses people, over all.
    study : Study, default None
        What the model was fitted on. With it the page opens with average effects, and has balance, the flow of rows,
        coverage on held-out rows of the trial, for which some methods are fitted again, and the test for hidden
        confounding.
    control : label, default None
        Treatment that the others are compared with; None: the model's own.
    lower_is_better : bool, default None
        Whether a smaller outcome is better. It decides who benefits and who is harmed; None: the page calls neither
        direction better, and counts who is above 0 and who below.
    outcome_label : str, default None
        What the outcome is called; None: as the column that the model was fitted on.
    unit : str
        Its unit.
    treatment_labels : mapping, default None
        What treatments are called, by label.
    by : str or sequence of str
        Covariates, or comparisons such as ``"age > 70"``, by each of which average effects are shown; the model's own
        groups are shown too. The first is also that of coverage by group, if the model has no groups.
    above, below : float, default None
        Whom to choose (`confide.select`): people whose outcome is above, or below, this value. None: the page says how
        to ask.
    under : label, default None
        The treatment under which that outcome is meant; None: the first that is not the control.
    fdr : float, default 0.1
        The false discovery rate of the choice.
    methods : sequence of str, default None
        Methods that are measured on the held-out rows beside the model's own; None: `naive`, `transfer`,
        `transfer-centred`, `prognostic`, `pooled-dr` and `wcp` (`confide compare` measures all).
    random_state : int
        Decides which rows are held out, and the folds of the test.

    Returns
    -------
    Answered
        The number of rows, and on which side of 0 their effect intervals lie.
    """
    _check_model(model)
    if study is not None:
        check_study(study)
    if treatment_labels is not None and not isinstance(treatment_labels, Mapping):
        raise ValueError(f"treatment_labels must be a mapping such as {{1: 'drug'}}, got {treatment_labels!r}.")
    named = {str(label): name for label, name in (treatment_labels or {}).items()}
    words = Words.of(model, outcome_label, unit, named, lower_is_better=lower_is_better)
    columns = names_in("by", by)
    choice = None if above is None and below is None else Choice(above, below, fdr, under)
    individuals = Individuals.of_table(model, X_new, control, choice)
    findings = Findings.of(model, individuals, study, control=control, by=columns)
    evidence = None
    if study is not None:
        evidence = Evidence.of(model, study, random_state, methods, by=columns[0] if columns else None)
    write_page(path, model, individuals, findings, evidence, words=words, control=control)
    return individuals.counted


def _check_model(model: Any) -> None:
    """Raise unless a page can be made of the model."""
    if not isinstance(model, CounterfactualIntervals):
        raise ValueError(  # noqa: TRY004  (whatever is wrong with an argument is a ValueError here)
            f"model must be a fitted CounterfactualIntervals, got a {type(model).__name__}; confide.load reads a file."
        )
    check_is_fitted(model)
    if len(model.arms_) < 2:
        raise ValueError(
            f"the model has one treatment, {model.control_!r}, and a report compares two or more. Use predict_interval."
        )


def write_page(
    path: str | os.PathLike[str],
    model: CounterfactualIntervals,
    individuals: Individuals,
    findings: Findings,
    evidence: Evidence | None = None,
    *,
    words: Words,
    control: Label | None = None,
) -> None:
    """Write the page of individuals and findings, with the evidence for the model if it is given."""
    words.check(model)
    page = _template().render(
        **contents(model, individuals, findings, evidence, words, control),
        licences={name: _read(file) for name, file in LICENCES.items()},
        policy=_policy(),
        scripts=[Markup(script) for script in _scripts()],  # noqa: S704  (our own files)
        style=Markup(_read("page.css")),  # noqa: S704
        version=__version__,
    )
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def _number(value: float) -> str:
    """Return a number with four digits; a mean of no values is a dash."""
    if value != value:  # noqa: PLR0124
        return "–"
    return ("∞" if value > 0 else "−∞") if abs(value) == float("inf") else f"{value:.4g}"


@cache
def _read(name: str) -> str:
    return files("confide.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _scripts() -> tuple[str, ...]:
    """Return the scripts, safe inside a script element: the libraries, and the page's own parts in one scope."""
    own = "\n".join(_read(f"scripts/{name}.js") for name in PARTS)
    found = (*map(_read, LIBRARIES), f'(() => {{\n"use strict";\n{own}}})();\n')
    for text in found:
        if "</script" in text.lower() or "<!--" in text:
            raise RuntimeError("a script of the page would end its own script element.")
    return found


@cache
def _policy() -> str:
    """Return what the page may do: run its own three scripts, show its own two styles, and ask no network.

    Styles of single elements are free: they can load nothing. Browsers that do not know the two rules on styles follow
    the first.
    """
    styles = f"style-src 'unsafe-inline'; style-src-elem {_hashes(_read('page.css'), PLOT_STYLE)}"
    return (
        f"default-src 'none'; script-src {_hashes(*_scripts())}; {styles}; style-src-attr 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hashes(*texts: str) -> str:
    """Return what a policy calls these texts."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{each}'" for each in digests)


def _with_code(text: str) -> Markup:
    """Return text whose parts between backticks are code; everything is escaped."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 and place < len(parts) - 1 else part
        for place, part in enumerate(parts)
    )


def _says(text: str) -> str:
    """Return what advice says, without the remedy, which is for whoever makes the page; levels are called α as here."""
    said = says_of(text)
    for name, symbol in LEVELS:
        said = said.replace(name, symbol)
    return said


def _sentence(text: str) -> str:
    """Return text with a capital at its start and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


@cache
def _template() -> Any:
    loader = FunctionLoader(lambda name: _read(f"templates/{name}"))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=loader
    )
    environment.filters["share"] = lambda value: f"{100 * value:.0f} %"
    environment.filters["number"] = _number
    environment.filters["plain"] = lambda value, scale=1: plain(scale * value, "−")
    environment.filters["code"] = _with_code
    environment.filters["says"] = _says
    environment.filters["sentence"] = _sentence
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["percent"] = lambda value: f"{100 * value:.10g} %"
    return environment.get_template("page.html.jinja")
