"""Results in a notebook: tables, in which names stay text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from confide import CounterfactualIntervals, Intervals, IntervalSets, average_effect, stack
from confide.base.notebook import MOST_ROWS, Records, ShownRecord, html_table
from confide.diagnostics import balance, coverage_report, row_flow
from helpers import study_arrays

HOSTILE = '<script>alert("x")</script>&'


class Cells(HTMLParser):
    """The tags of a table, and the text of its cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(text)

    def handle_starttag(self, tag, _):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


@dataclass(frozen=True)
class Result(ShownRecord):
    name: str
    value: float
    parts: np.ndarray = field(default_factory=lambda: np.arange(3.0))
    nothing: None = None


def test_a_record_is_a_table_of_its_attributes():
    cells = Cells(Result(HOSTILE, 1 / 3)._repr_html_())
    assert cells.texts == [
        *("Result", "", "name", HOSTILE, "value", "0.333333", "parts", "0, 1, 2", "nothing", ""),
    ]
    assert cells.tags == {"table", "thead", "tbody", "tr", "th", "td"}


def test_records_are_a_table_of_rows_without_empty_columns():
    found = Records(Result(HOSTILE, float(number)) for number in range(MOST_ROWS + 3))
    cells = Cells(found._repr_html_())
    assert cells.texts[:6] == ["name", "value", "parts", HOSTILE, "0", "0, 1, 2"]
    assert cells.texts[-1] == "… 3 more"
    assert found == list(found)
    assert "<table>" in Records()._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([True, False, True]), "2 of 3 true"),
        (np.arange(9), "0, 1, 2, 3, 4, … (9 values)"),
        ({HOSTILE: 1.0}, f"{HOSTILE}: 1"),
        ((1, None), "1, "),
        (np.inf, "inf"),
    ],
)
def test_a_cell_is_short_text(value, text):
    assert Cells(html_table(["a"], [[value]])).texts == ["a", text]


def test_records_within_records_are_tables():
    assert Cells(html_table(["a"], [[Records([Result("x", 1.0)])]])).texts[:3] == ["a", "", "name"]


def test_intervals_are_named_by_the_callers_index():
    study, new = hostile_study()
    model = CounterfactualIntervals(random_state=0, base="linear").fit(study)
    cells = Cells(model.predict_interval(new, treatment=HOSTILE)._repr_html_())
    assert cells.texts[:5] == ["", "lower", "upper", "width", HOSTILE]
    assert "script" not in cells.tags


def test_intervals_without_a_frame_are_numbered_and_counted():
    ends = np.arange(MOST_ROWS + 1.0)
    cells = Cells(Intervals(ends, ends + 2)._repr_html_())
    assert cells.texts[4:8] == ["0", "0", "2", "2"]
    assert cells.texts[-1] == "… 1 more"
    assert Cells(Intervals([np.nan], [np.nan])._repr_html_()).texts[4:] == ["0", "nan", "nan", "0"]


def test_sets_are_written_as_unions():
    sets = IntervalSets(np.array([0.0, 2.0]), np.array([1.0, 3.0]), np.array([0, 2, 2]))
    assert Cells(sets._repr_html_()).texts[3:] == ["0", "[0, 1] ∪ [2, 3]", "2", "1", "empty", "0"]
    discrete = IntervalSets.of_values(np.array([0.0, 1.0]), np.array([[True, True]]))
    assert Cells(discrete._repr_html_()).texts[3:] == ["0", "{0, 1}", "2"]


def test_results_show_hostile_names_as_text():
    study, new = hostile_study()
    model = CounterfactualIntervals(random_state=0, base="linear").fit(study)
    asked = np.full(len(new), HOSTILE, dtype=object)
    for found in (
        model.summary(),
        balance(study),
        row_flow(model, study),
        average_effect(model, study),
        coverage_report(model, new, np.zeros(len(new)), treatment=asked),
        model.diagnostics_[HOSTILE],
    ):
        shown = found._repr_html_()
        cells = Cells(shown)
        assert "table" in cells.tags
        assert "script" not in cells.tags
        assert any(HOSTILE in text for text in cells.texts), shown


def test_the_summary_is_text_and_shows_every_sentence():
    study, _ = hostile_study()
    summary = CounterfactualIntervals(random_state=0, base="linear").fit(study).summary()
    assert isinstance(summary, str)
    assert summary.startswith("prognostic at alpha = 0.1")

    class Words(HTMLParser):
        said = ""

        def handle_data(self, data):
            self.said += f" {data}"

    words = Words()
    words.feed(summary._repr_html_())
    for word in summary.replace("\n", " ").split():
        assert word.lstrip("-").rstrip(":") in words.said


def hostile_study():
    """A study whose treatment, covariate and rows have names that would be markup."""
    X, y, treatment, trial = study_arrays()
    table = pd.DataFrame({HOSTILE: X[:, 0], "t": np.where(treatment == 1, HOSTILE, "a"), "y": y})
    new = table[trial][[HOSTILE]].iloc[:3]
    new.index = [HOSTILE, "b", "c"]
    return stack(table[~trial], table[trial], treatment="t", outcome="y"), new
