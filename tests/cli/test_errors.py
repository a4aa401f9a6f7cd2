"""What cannot be is one line, status 2, and nothing is left behind."""

import builtins
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from commands import CONFIDE, QUICK, STUDY, names
from pages import PROGRESS
from tables import covariates, people, typed, write


def change(name, how):
    write(name, how(typed(name)))


def put(name, content):
    Path(name).write_bytes(content)


RUN = ["run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "m.confide"]
BAD = {
    "missing file": (lambda: Path("obs.csv").unlink(), RUN, "obs.csv: No such file or directory"),
    "missing new file": (lambda: Path("new.csv").unlink(), RUN, "new.csv: No such file or directory"),
    "a folder": (lambda: [Path("obs.csv").unlink(), Path("obs.csv").mkdir()], RUN, "obs.csv is a folder without files"),
    "empty file": (lambda: put("trial.csv", b""), RUN, "trial.csv cannot be read as csv"),
    "empty new file": (lambda: put("new.csv", b""), RUN, "new.csv cannot be read as csv"),
    "no rows": (lambda: put("trial.csv", b"age,t,y\n"), RUN, "trial.csv has no rows"),
    "not text": (
        lambda: put("obs.csv", b"age,town,t,y\n1,M\xfcnchen,drug,1\n"),
        RUN,
        "give its encoding: --encoding latin-1",
    ),
    "ragged": (lambda: put("obs.csv", b"a,b\n1,2\n3\n"), RUN, "Expected 2 columns, got 1"),
    "not parquet": (
        lambda: put("o.parquet", b"PAR1" * 9),
        ["run", *STUDY, "--observational", "o.parquet", *RUN[-2:]],
        "o.parquet cannot be read as parquet",
    ),
    "extension": (
        None,
        ["run", *STUDY, "--trial", "trial.xlsx", *RUN[-2:]],
        ("trial.xlsx: the extension must be one of", "Spreadsheet programs read and write .csv."),
    ),
    "treatment column": (None, [*RUN, "--treatment", "agee"], "no column agee; did you mean age?"),
    "outcome column": (None, [*RUN, "--outcome", "yy"], "no column yy; did you mean y?"),
    "identifier column": (None, [*RUN, "--id", "whom"], "no file has the identifier 'whom'; did you mean who?"),
    "several columns": (
        None,
        [*RUN, "--treatment", "tt", "--cluster", "towns", "--group", "smokr", "--id", "whom"],
        (
            "4 names are no columns: 'tt' (treatment; did you mean t?), 'towns' (cluster; did you mean town?), 'whom'",
            "'smokr' (group; did you mean smoker?).",
        ),
    ),
    "groups of a report, before a fit": (
        None,
        [*RUN, "--report", "r.html", "--by", "age > 50", "--by", "smoker,agee > 50"],
        "groups must be covariates, got 'agee > 50'; did you mean age?",
    ),
    "new column": (
        lambda: change("new.csv", lambda table: table.drop_columns(["town"])),
        RUN,
        "new.csv has no column town",
    ),
    "one treatment": (
        lambda: [write(f"{name}.csv", people(80, 3, ["drug"])) for name in ("obs", "trial")],
        RUN,
        "has one value, drug",
    ),
    "no common covariates": (
        lambda: change("obs.csv", lambda table: table.select(["who", "t", "y"])),
        RUN,
        "there are no covariates",
    ),
    "outcome not numeric": (
        None,
        [*RUN, "--outcome", "town", "--id", "y"],
        "the outcome must be numeric, but column 'town' holds categories",
    ),
    "outcome missing": (
        lambda: change("trial.csv", lambda table: table.set_column(6, "y", pa.array([None] * 40 + [1.0] * 40))),
        RUN,
        "trial.csv has no outcome 'y' in 40 of 80 rows (such as row 1)",
    ),
    "unknown option": (None, [*RUN, "--methd", "naive"], ("No such option", "--methd")),
    "option of other commands": (
        None,
        ["effects", *STUDY, "--target", "observational"],
        "effects has no option --target; it is one of run, report, compare, diagnose.",
    ),
    "treatments of other names": (
        lambda: write("trial.csv", people(80, 3, ["drug 5mg", "placebo"])),
        RUN,
        "trial drug 5mg, placebo. Write each treatment alike in both tables.",
    ),
    "unknown command": (None, ["runn"], "No such command 'runn'"),
    "unknown method": (None, [*RUN, "--method", "pooled-rd"], "did you mean pooled-dr"),
    "missing option": (None, ["run", "--trial", "trial.csv"], "Missing option '--observational'"),
    "alpha": (None, [*RUN, "--alpha", "1.5"], "1.5"),
    "alpha as text": (None, [*RUN, "--alpha", "ten"], ("--alpha", "ten")),
    "alpha in per cent": (None, [*RUN, "--alpha", "90%"], ("--alpha", "'90%'", ". For 90 % intervals give 0.1.")),
    "a value with its unit": (
        None,
        ["select", "m.confide", "new.csv", "--treatment", "1", "--above", "80 €"],
        ("--above", "'80 €'", ". Write it with a decimal point and no unit, such as 0.5."),
    ),
    "gamma in words": (None, [*RUN, "--gamma", "two"], ("--gamma", "'two'", "a decimal point and no unit")),
    "rows with an exponent": (None, [*RUN, "--train-rows", "1e5"], ("--train-rows", "'1e5'", "Write digits alone")),
    "a seed below 0": (None, [*RUN, "--seed", "-3"], ("--seed", "0", "-3")),
    "a range with its unit": (None, [*RUN, "--outcome-range", "0 €,1"], "--outcome-range '0 €,1' must be numbers"),
    "alpha in per cent, as a number": (None, [*RUN, "--alpha", "90"], "got 90.0. For 90 % intervals give 0.1."),
    "rate of false picks": (
        None,
        ["select", "m.confide", "new.csv", "--treatment", "drug", "--above", "3", "--fdr", "10"],
        "fdr must lie strictly between 0 and 1, got 10.0. For at most 10 % false picks give 0.1.",
    ),
    "rate of false picks in per cent": (
        None,
        [*RUN, "--report", "r.html", "--above", "3", "--fdr", "10%"],
        ("--fdr", "'10%'", ". For at most 10 % false picks give 0.1."),
    ),
    "participants in clusters": (
        None,
        ["run", *STUDY, "--participants", "p.csv", "--cluster", "town"],
        "nothing is proved for participants of a study with a cluster",
    ),
    "the model after the rows": (
        lambda: put("m.confide", b""),
        ["predict", "new.csv", "m.confide"],
        "new.csv looks like a table, and m.confide does not: are the two exchanged? Try confide predict m.confide new",
    ),
    "the model after the rows, of a report": (
        lambda: put("m.confide", b""),
        ["report", "new.csv", "--predict", "m.confide"],
        "Try confide report m.confide --predict new.csv",
    ),
    "the model after the rows, of a choice": (
        lambda: put("m.confide", b""),
        ["select", "new.csv", "m.confide", "--treatment", "drug", "--above", "3"],
        "Try confide select m.confide new.csv",
    ),
    "seed": (None, [*RUN, "--seed", "-1"], ("--seed", "-1")),
    "nothing to do": (None, ["run", *STUDY], "give --predict, --save or --participants"),
    "json beside rows": (None, [*RUN, "--out", "-", "--json"], "cannot both go to standard output"),
    "two standard inputs": (None, [*RUN, "--trial", "-", "--predict", "-"], "only one of the files"),
    "no such folder": (None, [*RUN, "--out", "deep/out.csv"], "deep/out.csv cannot be written"),
    "a file as the folder": (None, [*RUN, "--out", "new.csv/o.csv"], "new.csv/o.csv is an input"),
    "another file as the folder": (
        lambda: put("note.txt", b""),
        [*RUN, "--out", "note.txt/out.csv"],
        "note.txt/out.csv cannot be written: note.txt is a file, and no folder",
    ),
    "no such folder to save in": (None, [*RUN, "--save", "deep/m.confide"], "deep/m.confide cannot be written"),
    "a folder as output": (
        lambda: Path("out.csv").mkdir(),
        RUN,
        "out.csv cannot be written: it is a folder. Name a file.",
    ),
    "one name for two": (None, [*RUN, "--save", "out.csv"], "out.csv cannot hold both the intervals and the model"),
    "one file for two": (None, [*RUN, "--save", "./out.csv"], "out.csv cannot hold both the intervals and the model"),
    "an input as output": (None, [*RUN, "--save", "./trial.csv"], "trial.csv is an input"),
    "the new rows as output": (None, [*RUN, "--out", "new.csv"], "new.csv is an input"),
    "out without predict": (None, ["run", *STUDY, "--save", "m.confide", "--out", "out.csv"], "--out needs --predict"),
    "unknown control": (None, [*RUN, "--control", "placbo"], "did you mean placebo?"),
    "values that are no numbers": (None, [*RUN, "--outcome-values", "yes,no"], "must be numbers with commas"),
    "an outcome beyond its values": (None, [*RUN, "--outcome-values", "0,1"], "outcomes are none of outcome_values"),
    "output's extension": (None, [*RUN, "--out", "out.txt"], "out.txt: the extension must be one of"),
    "full disk": (lambda: Path("out.csv").symlink_to("/dev/full"), RUN, "out.csv: No space left on device"),
    "full disk while saving": (
        lambda: Path("m.confide").symlink_to("/dev/full"),
        ["run", *STUDY, *QUICK, "--save", "m.confide"],
        "m.confide: No space left on device",
    ),
    "a column that the answers need": (
        lambda: change("new.csv", lambda table: table.append_column("y_drug", table["age"])),
        RUN,
        "columns that the answers need: y_drug",
    ),
    "a word among numbers": (
        lambda: put("new.csv", b"who,age,town,joined,smoker\n1,old,x,2020-01-01,true\n"),
        RUN,
        "column 'age' holds numbers, and 'old' is not one of them",
    ),
    "missing model": (None, ["predict", "m.confide", "new.csv"], "m.confide: No such file or directory"),
    "no model": (
        lambda: put("m.confide", b"PK\x03\x04 not really"),
        ["predict", "m.confide", "new.csv", "--out", "out.csv"],
        "m.confide",
    ),
    "empty model": (
        lambda: put("m.confide", b""),
        ["predict", "m.confide", "new.csv", "--out", "out.csv"],
        "m.confide",
    ),
    "extra argument": (None, ["demo", "extra"], "unexpected extra argument"),
    "compare": (None, ["compare", *STUDY, "--outcome", "yy"], "no column yy"),
    "diagnose": (None, ["diagnose", *STUDY, "--treatment", "tt"], "no column tt"),
    "unknown table": (None, ["reproduce", "tabel2"], "table 'tabel2' is unknown; did you mean table2?"),
    "no seeds": (None, ["reproduce", "table2", "--seeds", "0"], "--seeds"),
    "no jobs": (None, ["reproduce", "table2", "--jobs", "0"], "--jobs"),
    "Coat without its files": (None, ["reproduce", "coat"], "coat needs Coat's ratings: give --coat"),
    "Coat's files elsewhere": (None, ["reproduce", "coat-splits", "--coat", "deep"], "deep is not a directory"),
    "not Coat's files": (None, ["reproduce", "coat", "--coat", "."], "train.ascii is not there"),
    "Yahoo's files elsewhere": (None, ["reproduce", "yahoo", "--yahoo", "deep"], "deep is not a directory"),
    "results into a file": (None, ["reproduce", "table2", "--out", "new.csv"], "new.csv cannot be written"),
    "demo into a file": (None, ["demo", "--files", "new.csv"], "new.csv"),
    "demo's files and a report": (None, ["demo", "--files", "star", "--report", "r.html"], "leave out --report"),
    "demo's files and a browser": (None, ["demo", "--files", "star", "--open"], "leave out --open"),
    "unknown data of the demo": (None, ["demo", "--data", "stars"], "did you mean star?"),
    "demo where nothing can be written": (
        None,
        ["demo", "--report", "deep/report.html"],
        "deep/report.html cannot be written: there is no folder deep. Make it, or name another.",
    ),
    "a folder as the demo's report": (lambda: Path("report.html").mkdir(), ["demo"], "report.html cannot be written"),
    "a report that is no page": (None, [*RUN, "--report", "r.csv"], "r.csv: a report is a page"),
    "a report on standard output": (None, [*RUN, "--report", "-"], "give it a name that ends in .html"),
    "a report beside nothing": (
        None,
        ["run", *STUDY, "--save", "m.confide", "--report", "r.html"],
        "--report needs --predict",
    ),
    "better without a report": (None, [*RUN, "--lower-is-better"], "--lower-is-better is for a report"),
    "higher without a report": (None, [*RUN, "--higher-is-better"], "--higher-is-better is for a report"),
    "a report in no folder": (None, [*RUN, "--report", "deep/r.html"], "deep/r.html cannot be written"),
    "an input as report": (
        lambda: put("m.html", b""),
        ["report", "m.html", "--predict", "new.csv", "--out", "./m.html"],
        "m.html is an input",
    ),
    "half a study": (
        None,
        ["report", "m.confide", "--predict", "new.csv", "--trial", "trial.csv"],
        "give --observational, --trial, --treatment and --outcome together",
    ),
    "a very long word": (None, [*RUN, "--method", "x" * 5000], "xxx… is unknown"),
    "a report without its model": (
        None,
        ["report", "m.confide", "--predict", "new.csv"],
        "m.confide: No such file or directory",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(folder, confide, case):
    prepare, arguments, message = BAD[case]
    if prepare is not None:
        prepare()
    before = names(folder)
    status, out, err = confide(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("confide: ")
    assert err.count("\n") == 1
    assert all(part in err for part in ([message] if isinstance(message, str) else message))
    assert names(folder) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("new", "options", "message"),
    [
        ("many", [], "many is a folder, and new rows are read from one file: name it. --dask answers folders"),
        ("many/*.csv", [], "many/*.csv is a pattern, and new rows are read from one file"),
        ("none/*.csv", [], "no file matches none/*.csv"),
        ("new.xlsx", [], "new.xlsx: the extension must be one of"),
        ("gone.csv", [], "gone.csv: No such file or directory"),
        ("new.csv", ["--report", "r.html", "--above", "1", "--under", "magic"], "--under names treatment 'magic'"),
        ("new.csv", ["--report", "r.html", "--treatment-label", "drg=x"], "did you mean drug?"),
        ("new.csv", ["--report", "r.html", "--above", "1", "--fdr", "10"], "For at most 10 % false picks give 0.1."),
    ],
)
def test_what_needs_no_model_is_refused_before_one_is_fitted(confide, monkeypatch, new, options, message):
    """And `predict` before it loads one: there is none here."""
    Path("many").mkdir()
    write("many/1.csv", typed("new.csv"))
    monkeypatch.setattr("confide.CounterfactualIntervals.fit", lambda *_: pytest.fail("fitted"))
    commands = [["run", *STUDY, "--predict", new, "--save", "m.confide", *options]]
    if not options:
        commands += [["predict", "m.confide", new], ["report", "m.confide", "--predict", new]]
    for command in commands:
        status, out, err = confide(*command)
        assert (status, out) == (2, "")
        assert message.partition(" --dask")[0] in err
        assert err.count("\n") == 1
        assert ("--dask" in err) == ("--dask" in message or "pattern, " in message) * (command[0] != "report")


@pytest.mark.usefixtures("folder")
def test_a_folder_that_may_not_be_written_in(confide, monkeypatch):
    """Root may write everywhere, so the system's refusal is played."""
    Path("shut").mkdir()
    monkeypatch.setattr("os.access", lambda path, *_: str(path) != "shut")
    status, out, err = confide(*RUN, "--save", "shut/m.confide")
    assert (status, out) == (2, "")
    assert err.startswith("confide: shut/m.confide cannot be written: nothing may be written in the folder /")


@pytest.mark.usefixtures("folder")
def test_a_file_that_may_not_be_read(confide, monkeypatch):
    """Root may read everything, so the system's refusal is played."""
    real = builtins.open

    def refuse(path, *arguments, **options):
        if str(path) == "obs.csv":
            raise PermissionError(13, "Permission denied", "obs.csv")
        return real(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refuse)
    status, out, err = confide(*RUN)
    assert (status, out, err) == (2, "", "confide: obs.csv: Permission denied.\n")


@pytest.mark.slow
def test_a_disk_that_fills_up_in_the_middle(folder, model):
    """A limit on the size of files stands for the end of the disk: some bytes fit, and not all."""
    write("many.csv", covariates(people(4000, 3)))
    before = names(folder)
    code = f"""
import resource, sys
from confide.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
sys.argv = ["confide", "predict", {str(model)!r}, "many.csv", "--out", sys.argv[1]]
main()
"""
    for out in ("out.csv", "out.parquet", "out.arrow", "out.csv.gz"):
        command = [sys.executable, "-c", code, out]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr == f"confide: {out}: File too large.\n"
        assert names(folder) == before


def test_an_error_keeps_the_file_that_was_there(folder, confide, model):
    put("out.csv", b"of yesterday")
    put("new.csv", b"who,age,town,joined,smoker\n1,40,x,2020-01-01,true\n2,old,x,2020-01-01,true\n")
    assert confide("predict", model, "new.csv", "--out", "out.csv")[0] == 2
    assert (folder / "out.csv").read_bytes() == b"of yesterday"


@pytest.mark.slow
def test_whoever_stops_reading_gets_no_traceback(folder, model):
    write("many.csv", pa.concat_tables([typed("new.csv")] * 2000))
    command = f"{CONFIDE} predict {model} many.csv | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S602
    assert done.stdout.startswith("who,age")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_an_interrupt_is_one_line(folder, model):
    write("many.csv", pa.concat_tables([typed("new.csv")] * 8_000))
    started = subprocess.Popen(
        [CONFIDE, "predict", model, "many.csv", "--out", "out.csv"], stderr=subprocess.PIPE, text=True, cwd=folder
    )
    while not list(folder.glob(".out.csv.*")):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert (started.returncode, PROGRESS.sub("", err)) == (130, "confide: interrupted.\n")
    assert "out.csv" not in names(folder)
    assert not list(folder.glob(".out.csv.*"))


@pytest.mark.slow
def test_a_terminated_run_leaves_nothing(folder, model):
    write("many.csv", pa.concat_tables([typed("new.csv")] * 20_000))
    started = subprocess.Popen([CONFIDE, "predict", model, "many.csv", "--out", "out.csv"], cwd=folder)
    while not list(folder.glob(".out.csv.*")):
        assert started.poll() is None
        time.sleep(0.01)
    started.terminate()
    assert started.wait(timeout=60) == 143
    assert not list(folder.glob("*out.csv*"))


@pytest.mark.slow
def test_nothing_but_the_answer_where_no_one_watches(folder, model):
    """No spinner, no bar, no colour in a pipe."""
    done = subprocess.run(
        [CONFIDE, "predict", model, "new.csv", "--out", "out.csv"],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
