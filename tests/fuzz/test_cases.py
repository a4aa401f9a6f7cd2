"""A few of the fuzzers' cases: each is answered or refused; `make fuzz` runs ten thousand of each."""

import numpy as np
import pytest

from fuzz import commands, models, tables
from fuzz.verdict import DEFECT, fault_of_error, fault_of_message


def defects(fuzzer, cases):
    verdicts = [fuzzer.attempt(case) for case in cases]
    assert len({each.outcome for each in verdicts}) > 1  # some are answered, some refused
    return [(case, each.said) for case, each in zip(cases, verdicts, strict=True) if each.outcome == DEFECT]


@pytest.mark.filterwarnings("default")  # the fuzzers record warnings themselves
@pytest.mark.parametrize(("fuzzer", "count"), [(tables, 3), (commands, 6), (models, 10)])
def test_a_few_cases(fuzzer, count):
    assert defects(fuzzer, range(1, 1 + count)) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("fuzzer", "count"), [(tables, 150), (commands, 200), (models, 400)])
def test_more_cases(fuzzer, count):
    assert defects(fuzzer, range(20_000, 20_000 + count)) == []


def test_a_case_is_drawn_from_its_number():
    one, other = tables.draw(7), tables.draw(7)
    assert one.tables["trial"].equals(other.tables["trial"])
    assert not one.tables["trial"].equals(tables.draw(8).tables["trial"])
    rng = np.random.default_rng
    assert commands.draw(rng(3)) == commands.draw(rng(3))


def test_what_is_no_refusal():
    assert fault_of_error(ValueError("alpha must be below 1, got 2.")) is None
    assert fault_of_error(KeyError("x")) is not None
    assert fault_of_error(ValueError("two\nlines.")) is not None
    assert fault_of_error(ValueError("without an end")) is not None
    assert fault_of_message("") is not None
    assert fault_of_message("x" * 5000) is not None
    assert fault_of_message("<class 'int'> is wrong.") is not None


@pytest.mark.slow
def test_wrong_answers_are_defects(monkeypatch):
    """An oracle that sees nothing is no oracle: a library that answers nonsense is caught."""
    drawn = ((number, tables.draw(number)) for number in range(500))
    case = next(number for number, each in drawn if each.expects == tables.SAME and len(each.tables["new"]))
    real = tables._columns
    assert tables.attempt(case).outcome != DEFECT
    monkeypatch.setattr(tables, "_columns", lambda *given: {name: each + np.nan for name, each in real(*given).items()})
    assert "NaN" in tables.attempt(case).said
    calls = iter(range(100))
    monkeypatch.setattr(
        tables, "_columns", lambda *given: {name: each + 1e-3 * next(calls) for name, each in real(*given).items()}
    )
    assert "gives another" in tables.attempt(case).said


def test_what_a_command_may_not_do():
    nothing = {"obs.csv": b"x"}
    assert commands.judge([], commands.Ran(2, "", "confide: no.\n"), nothing, nothing) == []
    for ran, after in (
        (commands.Ran(1, "", "Traceback (most recent call last)"), nothing),
        (commands.Ran(2, "", "confide: no.\n"), {**nothing, "out.csv": b"half"}),
        (commands.Ran(2, "", "one\ntwo\n"), nothing),
        (commands.Ran(0, "", ""), {"obs.csv": b"changed"}),
        (commands.Ran(0, "", ""), {**nothing, "hacked": b""}),
    ):
        assert commands.judge(["out.csv"], ran, nothing, after)


def test_what_a_model_file_may_not_do(tmp_path, monkeypatch):
    """The watch on the interpreter sees a file that is written while a model is loaded."""
    assert models.attempt(0).outcome != DEFECT

    def load(_):
        (tmp_path / "hacked").write_text("")
        raise ValueError("x.")

    monkeypatch.setattr(models, "load", load)
    assert "the interpreter do" in models.attempt(0).said
