"""No section of the page speaks of options, but the last one, for whoever makes it."""

import re
import warnings

import pytest

from confide import CounterfactualIntervals
from confide.exceptions import InfiniteIntervalWarning
from confide.report import write_report
from report_pages import fitted, new_patients, study_of

HEADING = "For whoever makes this page"
# An option of the command line, a parameter of Python, a command.
NAMES = re.compile(r"--[a-z]|\b[a-z_]+=|\bconfide [a-z]+\b|_[a-z]+_test|coverage_report")


def parts_of(path):
    """Return the words of a page, without scripts and licences: those for its readers, and those for its maker."""
    page = path.read_text(encoding="utf-8")
    body = re.sub(r"<(script|style|head|pre)\b.*?</\1>", " ", page, flags=re.DOTALL)
    assert body.count('<section id="maker" class="screen"') == 1
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", body)).replace("&#39;", "'").replace("&#34;", '"')
    readers, heading, maker = text.partition(HEADING)
    assert heading
    return readers, maker


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Write a page, and return its two parts."""
    folder = tmp_path_factory.mktemp("pages")

    def written(model, study=None, new=None, **asked):
        path = folder / "page.html"
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what they say is on the page
            patch.setattr("confide.report.evidence.hidden_confounding_test", lambda *_, **__: [])  # it takes its time
            write_report(path, model, new_patients(10) if new is None else new, study=study, methods=["wcp"], **asked)
        return parts_of(path)

    return written


def test_a_level_that_is_fixed(page, monkeypatch):
    monkeypatch.setattr("confide.report.contents.MOST_BYTES", 0)
    readers, maker = page(fitted("wcp"))
    assert NAMES.findall(readers) == []
    assert "The level is fixed at α = 0.1:" in readers
    assert "The level is fixed: for another one make the page again with --alpha." in maker


def few(**parameters):
    """Return a model of too few trial rows for effects, and its study."""
    study = study_of(200, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        return fitted(study=study, **parameters), study


CASES = {
    "without tables": ({}, False, {}, ["--observational", "study=", "--lower-is-better", "--above", "--control"]),
    "with tables": ({}, True, {}, ["--by", "--above", "confide compare", "--save-config", "--gamma"]),
    "with groups": ({"groups": "smoker"}, True, {"by": "town"}, ["--lower-is-better"]),
    "one side": ({"side": "lower"}, True, {}, ["--side"]),
    "a choice": ({}, True, {"above": 4.0, "lower_is_better": True}, ["--by"]),
    "a step's own level": ({"arm_alpha": 0.1, "gamma": 1.3}, False, {}, ["arm_alpha="]),
}
ABSENT = {
    "with tables": ["--observational", "--side"],
    "with groups": ["--by"],
    "a choice": ["--above", "--lower-is-better"],
    "without tables": ["--by", "confide compare"],
}


@pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")
@pytest.mark.parametrize("case", CASES)
def test_options_are_in_the_last_section_alone(page, case):
    parameters, tables, asked, named = CASES[case]
    study = study_of()
    readers, maker = page(fitted(study=study, **parameters), study if tables else None, **asked)
    assert NAMES.findall(readers) == []
    assert [name for name in named if name not in maker] == []
    assert [name for name in ABSENT.get(case, []) if name in maker] == []


def test_advice_is_told_without_its_remedy_and_with_it_to_the_maker(page):
    model, study = few(gamma=1.3)
    readers, maker = page(model, study, new_patients(2000, seed=5).slice(0, 40))
    assert NAMES.findall(readers) == []
    shortage = "needs 25 trial calibration rows for a finite interval; there are"
    assert f"Effect intervals: α = 0.0384615 {shortage}" in readers
    assert "Each of an effect's two steps is computed at level 0.05/1.3 = 0.0385." in readers
    assert "Use a larger alpha" not in readers
    assert f"Effect intervals: alpha=0.0384615 {shortage}" in maker
    assert "That is arm_alpha/gamma: a smaller gamma makes it larger." in maker


def test_people_unlike_the_trials_are_told_to_readers_and_what_helps_to_the_maker(page):
    new = new_patients(200)
    old = new.set_column(new.column_names.index("age"), "age", [[900.0 + row for row in range(200)]])
    readers, maker = page(fitted(), None, old)
    assert NAMES.findall(readers) == []
    assert readers.count("do not rely on it for these.") == 2
    assert "fit with a target (target=, --target)" in maker


def test_a_refusal_keeps_its_reason(page):
    study = study_of()
    model = CounterfactualIntervals("naive", base="ridge", random_state=0).fit(*study)
    readers, maker = page(model, study)
    assert NAMES.findall(readers) == []
    reason = "naive learns from trial rows, whose outcomes it would use twice."
    assert f"The average effect is not worked out. N{reason[1:]} What follows" in readers
    assert f"N{reason[1:]} Use prognostic, transfer or transfer-centred" in maker
