"""People are chosen from a file, and the screen says what that promises."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from commands import STUDY
from confide import load, select
from tables import covariates, people, typed, write

ASKED = ["--treatment", "drug", "--fdr", "0.4"]


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """A model that learns from observational rows alone, and whom it chooses among 30 people."""
    from confide import CounterfactualIntervals, stack

    path = tmp_path_factory.mktemp("kept") / "model.confide"
    tables = [people(240, 0).drop_columns(["who"]), people(80, 1).drop_columns(["who"])]
    CounterfactualIntervals("transfer", base="ridge", random_state=0).fit(stack(*tables, "t", "y")).save(path)
    return str(path)


@pytest.fixture(scope="session")
def value():
    """An outcome that some people reach."""
    return str(float(np.median(people(80, 1)["y"].to_numpy())))


@pytest.mark.usefixtures("folder")
def test_the_people_chosen_are_written_with_their_p_values(kept, value, confide):
    status, out, err = confide("select", kept, "new.csv", *ASKED, "--above", value, "--out", "chosen.csv")
    assert (status, err) == (0, "")
    new, table = typed("new.csv"), typed("chosen.csv")
    found = select(load(kept), covariates(people(30, 2)).drop_columns(["who"]), "drug", above=float(value), fdr=0.4)
    assert 0 < found.selected.sum() < 30
    assert table.column_names == [*new.column_names, "p_value"]
    assert table.drop_columns(["p_value"]).to_pylist() == new.filter(pa.array(found.selected)).to_pylist()
    np.testing.assert_allclose(table["p_value"].to_numpy(), found.p_values[found.selected])
    assert out.splitlines() == [
        f"{found.selected.sum()} of 30 people chosen, in chosen.csv.",
        found.promise,
        found.found_at_all,
    ]


@pytest.mark.usefixtures("folder")
def test_a_value_that_nearly_everybody_reaches_is_pointed_out(kept, confide):
    status, out, _ = confide("select", kept, "new.csv", *ASKED, "--below", "1e6", "--out", "chosen.csv")
    told = out.splitlines()[-1]
    assert status == 0
    assert told.startswith("The list tells little: ")
    assert "trial people under drug are below 1e+06, and nearly everybody like them will be." in told
    status, out, _ = confide("select", kept, "new.csv", *ASKED, "--below", "1e6", "--out", "chosen.csv", "--json")
    assert json.loads(out)["tells_little"] == told


@pytest.mark.usefixtures("folder")
def test_everybody_is_written_in_any_format(kept, value, confide):
    write("new.parquet", covariates(people(30, 2)))
    wanted = None
    for source, target in (("new.csv", "all.csv"), ("new.csv", "all.arrow"), ("new.parquet", "all.parquet")):
        assert confide("select", kept, source, *ASKED, "--above", value, "--all", "--out", target)[0] == 0
        table = typed(target) if target.endswith("csv") else read(target)
        assert table.column_names[-2:] == ["p_value", "selected"]
        assert len(table) == 30
        mask = [str(each).lower() for each in table["selected"].to_pylist()]
        wanted = wanted or mask
        assert mask == wanted
    assert set(wanted) == {"true", "false"}


def read(path):
    from confide.data.files import read_file

    return read_file(path)


def test_json_and_standard_output(folder, kept, value, confide):
    status, out, _ = confide("select", kept, "new.csv", *ASKED, "--below", value, "--out", "chosen.csv", "--json")
    told = json.loads(out)
    assert status == 0
    assert told["selected"] == len(typed("chosen.csv"))
    assert (told["people"], told["side"], told["value"], told["fdr"]) == (30, "below", float(value), 0.4)
    assert told["smallest"] == pytest.approx(1 / (told["rows"] + 1))
    assert set(told) >= {"treatment", "gamma", "reached", "fewest", "promise", "found_at_all", "tells_little"}
    status, out, err = confide("select", kept, "new.csv", *ASKED, "--below", value)
    assert status == 0
    assert out == (folder / "chosen.csv").read_text()
    assert f"{told['selected']} of 30 people chosen.\n" in err


@pytest.mark.usefixtures("folder")
def test_formulas_in_a_file_are_copied_as_predict_copies_them(kept, value, confide):
    table = covariates(people(30, 2))
    write("odd.csv", table.set_column(0, "who", pa.array([f'=1+{k},"x"' for k in range(30)])))
    assert confide("select", kept, "odd.csv", *ASKED, "--above", value, "--all", "--out", "all.csv")[0] == 0
    assert confide("predict", kept, "odd.csv", "--out", "predicted.csv")[0] == 0
    assert pc.all(pc.equal(typed("all.csv")["who"], typed("predicted.csv")["who"])).as_py()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--treatment", "drug"], "give --above or --below, and one of them."),
        (["--treatment", "drug", "--above", "1", "--below", "2"], "give --above or --below, and one of them."),
        (["--treatment", "drugs", "--above", "1"], "treatment 'drugs' is unknown; did you mean drug?"),
        (["--treatment", "drug", "--above", "1", "--fdr", "1.5"], "fdr must lie strictly between 0 and 1, got 1.5."),
        (["--treatment", "drug", "--above", "1", "--json"], "--json and the people cannot both go to standard output"),
        (["--treatment", "drug", "--above", "1", "--out", "new.csv"], "new.csv is an input"),
    ],
)
def test_bad_questions_are_one_line(kept, confide, arguments, message):
    status, out, err = confide("select", kept, "new.csv", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("confide: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_file_that_has_the_columns_already_is_refused(kept, value, confide):
    confide("select", kept, "new.csv", *ASKED, "--above", value, "--all", "--out", "all.csv")
    status, _, err = confide("select", kept, "all.csv", *ASKED, "--above", value, "--all", "--out", "twice.csv")
    assert status == 2
    assert "the input has columns that the output needs: p_value, selected. Rename them." in err


@pytest.mark.slow
def test_a_model_that_learnt_from_the_trial_is_refused(folder, confide):
    quick = ["--method", "wscp-dr-calibrated", "--base", "ridge"]
    assert confide("run", *STUDY, *quick, "--save", "two.confide")[0] == 0
    status, _, err = confide("select", "two.confide", "new.csv", *ASKED, "--above", "1", "--out", "chosen.csv")
    assert status == 2
    assert "wscp-dr-calibrated learns from trial rows" in err
    assert not (folder / "chosen.csv").exists()
