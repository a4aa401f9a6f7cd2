"""The page chooses whom `confide select` chooses, among all rows of the file, and says a refusal as one."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from confide import CounterfactualIntervals, stack
from confide.report import individuals
from tables import covariates, people, write

ASKED = ["--above", "6", "--fdr", "0.4"]


@pytest.fixture
def page_of(folder, confide, monkeypatch):
    """Make a page of a file; return its text and what was said on standard error."""
    monkeypatch.setattr(individuals, "MOST_ROWS", 40)

    def made(*arguments):
        status, _, err = confide("report", "m.confide", "--out", "r.html", *arguments)
        assert status == 0, err
        page = (folder / "r.html").read_text(encoding="utf-8")
        return page, " ".join(re.sub("<script.*?</script>|<[^>]*>", " ", page, flags=re.DOTALL).split()), err

    return made


def saved(method="transfer"):
    """Save a model of the tables of the folder."""
    tables = [people(n, seed).drop_columns(["who"]) for n, seed in ((240, 0), (80, 1))]
    study = stack(*tables, "t", "y")
    CounterfactualIntervals(method, base="ridge", alpha=0.3, random_state=0).fit(study).save("m.confide")


@pytest.mark.parametrize("order", ["ascending", "descending"])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_numbers_are_those_of_select(page_of, confide, monkeypatch, order, streamed):
    saved()
    new = covariates(people(300, 2)).sort_by([("age", order)])
    write("many.csv", new)
    status, out, _ = confide(
        "select", "m.confide", "many.csv", "--treatment", "drug", *ASKED, "--json", "--out", "c.csv"
    )
    told = json.loads(out)
    assert status == 0
    assert 0 < told["selected"] < 300
    if streamed:
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(Path("many.csv").read_bytes())))
        )
    page, said, _ = page_of("--predict", "-" if streamed else "many.csv", "--under", "drug", *ASKED)
    assert f"Whose y will be above 6 under drug? {told['selected']} of 300 people" in said
    assert "The page contains a random sample of 40 of 300 rows" in said
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    rates = {each["rate"]: each for each in data["chosen"]["rates"]}
    assert rates[0.4]["count"] == told["selected"]
    assert rates[0.4]["found"] == told["found_at_all"]


def test_a_refusal_is_no_answer_and_is_told(page_of):
    saved("pooled-dr")
    _, said, err = page_of("--predict", "new.csv", *ASKED)
    assert "Who would be chosen? Not answered: pooled-dr learns from trial rows in more ways than one" in said
    assert "note: whom to choose is not answered: pooled-dr learns from trial rows" in err
    assert "Use prognostic, transfer" in err


@pytest.mark.slow
def test_balance_of_a_sorted_file_has_no_shift_of_its_order(page_of):
    """The first rows of a file that is sorted by age are the youngest; a sample of them is not."""
    saved()
    write("many.csv", covariates(people(600, 2)).sort_by("age"))
    tables = ["--observational", "obs.csv", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
    page, said, _ = page_of("--predict", "many.csv", *tables)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    (age,) = [
        each["smd"]
        for each in data["balance"]
        if (each["covariate"], each["comparison"]) == ("age", "new rows against trial")
    ]
    assert abs(age) < 0.5
    assert "New rows are a random sample of 40 of 600." in said
    assert np.all(np.diff(data_places(data)) > 0)


def data_places(data):
    """Return the places of the rows of a page in their table."""
    import base64

    return np.frombuffer(base64.b64decode(data["places"]), dtype="<u4").astype(int)
