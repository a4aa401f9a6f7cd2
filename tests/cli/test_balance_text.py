"""What diagnose prints first: covariate balance and the flow of rows."""

import json

import pytest

from commands import QUICK, STUDY
from confide.cli.balance_text import print_balance_and_flow
from confide.diagnostics import Balance, RowFlow

FLOW = [RowFlow(stage, "[b]", "trial", rows) for stage, rows in (("read", 1500), ("fitting", 0), ("calibrating", 1500))]


def record(covariate, smd, weighted=None, rows=(200, 200)):
    return Balance(covariate, "trial: [b] against [a]", smd, weighted, covariate.split(" = ")[0], rows)


def printed(capsys, found, **more):
    print_balance_and_flow(found, FLOW, **more)
    return capsys.readouterr().out


def test_covariates_beyond_the_line_are_counted_and_shown_largest_first(capsys):
    found = [record("age", 0.05), record("town = a", 0.2), record("town = b", -0.4), record("sex", float("nan"))]
    out = printed(capsys, found)
    assert " ".join(out.split()).count("1 of 3 covariates differ by more than 0.1; chance alone gives about 0.10.") == 1
    assert "trial: [b] against [a] (200 and 200 rows)" in out
    assert [line.split() for line in out.splitlines() if line.startswith("    ")][:3] == [
        ["covariate", "SMD"],
        ["town", "=", "b", "-0.40"],
        ["town", "=", "a", "+0.20"],
    ]
    assert "clusters" not in out


def test_weighted_differences_have_a_column_and_clusters_a_word(capsys):
    out = printed(capsys, [record("age", 0.3, 0.02)], clustered=True)
    assert "weighted" in out
    assert ["age", "+0.30", "+0.02"] in [line.split() for line in out.splitlines()]
    assert "and more between clusters" in " ".join(out.split())


def test_what_only_weighting_unbalances_is_shown_too(capsys):
    out = printed(capsys, [record("age", 0.02, -0.5), record("sex", 0.3, 0.01), record("town", 0.0, 0.0)])
    assert "1 of 3 covariates differ by more than 0.1, 1 after weighting; chance" in " ".join(out.split())
    shown = [line.split()[0] for line in out.splitlines() if line.startswith("    ") and line.strip()]
    assert shown[:3] == ["covariate", "age", "sex"]
    assert "town" not in shown


def test_of_many_the_ten_largest_are_shown(capsys):
    out = printed(capsys, [record(f"x{number}", 0.2 + number / 100) for number in range(14)])
    assert "x4 " in out
    assert "x3 " not in out
    assert "and 4 more: --json has all" in out


def test_balanced_covariates_need_no_table(capsys):
    out = printed(capsys, [record("age", 0.05)])
    assert "0 of 1 covariates" in " ".join(out.split())
    assert "SMD\n" not in out.replace("(SMD)\n", "")


def test_the_flow_of_rows_is_a_table(capsys):
    out = printed(capsys, [record("age", 0.05)])
    assert ["[b]", "trial", "1,500", "0", "1,500"] in [line.split() for line in out.splitlines()]


@pytest.mark.usefixtures("folder")
def test_diagnose_prints_balance_and_flow_first(confide):
    command = ["diagnose", *STUDY, *QUICK, "--base", "linear", "--alpha", "0.2", "--control", "placebo"]
    status, out, err = confide(*command)
    assert (status, err) == (0, "")
    said = ("Covariate balance", "trial: drug against placebo", "Flow of rows", "naive at")
    parts = [out.index(text) for text in said]
    assert parts == sorted(parts)
    assert "trial against observational (80 and 240 rows)" in out
    told = json.loads(confide(*command, "--json")[1])
    assert {each["column"] for each in told["balance"]} == {"age", "town", "joined", "smoker"}
    assert sum(each["rows"] for each in told["flow"] if each["stage"] == "read") == 320
