"""Where tables are and where answers go: folders, links, names of files, and outputs that would destroy something."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from fuzz.attacks._bench import (
    arrow,
    check_same,
    file_of,
    files,
    folder,
    ran,
    read_answers,
    refused,
    refused_here,
    table,
    words,
)
from fuzz.commands import run_here

if TYPE_CHECKING:
    from fuzz.attacks._bench import Cases

MODEL = "model.confide"


def directory_for_a_file() -> str:
    """A folder in place of the trial."""
    with folder():
        Path("there.csv").mkdir()
        return refused_here(words("--trial", "there.csv"), ["there.csv"])


def missing_file() -> str:
    """A file that is not there."""
    return refused({}, "--trial", "nowhere.csv", says=["nowhere.csv", "No such file"])


def broken_link() -> str:
    """A link to a file that is gone."""
    with folder():
        Path("link.csv").symlink_to("gone.csv")
        return refused_here(words("--trial", "link.csv"), ["link.csv", "No such file"])


def link_to_an_input() -> str:
    """Inputs by links, whose names end otherwise."""
    with folder():
        for name in ("obs", "trial", "new"):
            Path(f"{name}.link.csv").symlink_to(f"{name}.csv")
        given = ["--observational", "obs.link.csv", "--trial", "trial.link.csv", "--predict", "new.link.csv"]
        ran(words(*given), 0)
        check_same(read_answers())
    return "The answer of the files that the links lead to."


def output_is_an_input() -> str:
    """The intervals over each of the inputs."""
    with folder():
        said = {refused_here(words(out=name), [name, "is an input"]) for name in ("obs.csv", "trial.csv", "new.csv")}
    return f"{min(said)} Likewise for the others; no byte of them changed."


def output_links_to_an_input() -> str:
    """The intervals into a link, or by another path, to an input."""
    with folder():
        Path("link.csv").symlink_to("new.csv")
        Path("sub").mkdir()
        for out in ("link.csv", "sub/../new.csv", "./new.csv", str(Path("new.csv").absolute())):
            refused_here(words(out=out), ["is an input"])
    return "Refused by every way that leads to the input, and no byte of it changed."


def output_is_a_second_name_of_an_input() -> str:
    """The intervals into a second name (a hard link) of an input."""
    with folder():
        os.link("new.csv", "second.csv")
        before = Path("new.csv").read_bytes()
        ran(words(out="second.csv"), 0)
        assert Path("new.csv").read_bytes() == before
        check_same(read_answers("second.csv"))
    return "The second name gets the answers, and the input keeps its bytes."


def model_is_an_input() -> str:
    """The model over the trial, the participants over the observational file, the page over the new rows."""
    with folder():
        for option, path in (("--save", "trial.csv"), ("--participants", "obs.csv"), ("--report", "new.csv")):
            refused_here(words(option, path), [path])
    return "Refused each time, and no byte changed."


def two_outputs_of_one_name() -> str:
    """Intervals, model, participants and page with one name for two."""
    with folder():
        said = refused_here(words("--save", "out.csv"), ["out.csv", "both"])
        refused_here(words("--participants", "./out.csv"), ["out.csv", "both"])
        refused_here(words("--save", "page.html", "--report", "sub/../page.html"), ["page.html"])
    return said


def prediction_over_its_model() -> str:
    """`predict` with the intervals over the model or the new rows."""
    with folder():
        Path(MODEL).write_bytes(_model())
        Path("m.csv").symlink_to(MODEL)
        refused_here(["predict", MODEL, "new.csv", "--out", "m.csv"], ["is an input"])
        return refused_here(["predict", MODEL, "new.csv", "--out", "new.csv"], ["is an input"])


def no_folder() -> str:
    """Each output in a folder that does not exist."""
    with folder():
        said = refused_here(words(out="no/such/out.csv"), ["no/such/out.csv", "there is no folder no/such"])
        for option, path in (("--save", "no/m.confide"), ("--report", "no/page.html"), ("--participants", "no/p.csv")):
            refused_here(words(option, path), [path, "there is no folder no"])
    return said


def folder_as_output() -> str:
    """The intervals to a folder."""
    with folder():
        Path("made.csv").mkdir()
        return refused_here(words(out="made.csv"), ["made.csv"])


def extension_that_is_unknown() -> str:
    """A spreadsheet's extension, for an input and for the output."""
    with folder({"obs.xlsx": b"PK\x03\x04"}):
        refused_here(words("--observational", "obs.xlsx"), ["obs.xlsx", ".csv"])
        return refused_here(words(out="out.xlsx"), ["out.xlsx", ".csv"])


def names_with_signs() -> str:
    """File names with spaces, quotes, signs of shells and other scripts."""
    names = ("my table (1).csv", "it's; rm -rf $HOME.csv", 'say "hi" & go.csv', "таблица 表.csv")
    with folder():
        for name in names:
            Path(name).write_bytes(files()["obs.csv"])
            ran(words("--observational", name, out=f"out {name}"), 0)
            check_same(read_answers(f"out {name}"))
    return f"{len(names)} such names are names: the answer of the clean files, nothing executed."


def names_like_patterns() -> str:
    """A Parquet file whose name looks like a pattern."""
    with folder():
        pq.write_table(arrow("obs"), "obs[1].parquet")
        ran(words("--observational", "obs[1].parquet"), 0)
        check_same(read_answers())
    return "A file that is there is read under its name."


def names_with_leading_dashes() -> str:
    """File names that begin with a dash."""
    with folder():
        Path(MODEL).write_bytes(_model())
        Path("-new.csv").write_bytes(files()["new.csv"])
        ran(words("--predict", "-new.csv"), 0)
        check_same(read_answers())
        ran(["predict", "--out", "again.csv", "--", MODEL, "-new.csv"], 0)
        check_same(read_answers("again.csv"))
        refused_here(["predict", MODEL, "-new.csv", "--out", "third.csv"], ["-n"])
    return "Read as the value of an option and after --; without -- one line that there is no option -n."


def standard_input() -> str:
    """Two files from standard input."""
    with folder():
        return refused_here(words("--trial", "-", "--predict", "-"), ["standard input"])


def device() -> str:
    """A device as an input: /dev/null has no rows."""
    with folder():
        Path("null.csv").symlink_to(os.devnull)
        return refused_here(words("--trial", "null.csv"), ["null.csv"])


def unreadable() -> str:
    """A file that may not be read."""
    with folder():
        Path("trial.csv").chmod(0)
        if os.access("trial.csv", os.R_OK):
            ran(words(), 0)
            check_same(read_answers())
            return "Permissions do not bind this user: the answer of the clean files."
        return refused_here(words(), ["trial.csv", "Permission denied"])


def mode_of_the_output() -> str:
    """The intervals over an older output with permissions of its own."""
    with folder():
        Path("out.csv").write_text("old\n", encoding="utf-8")
        Path("out.csv").chmod(0o600)
        ran(words(), 0)
        check_same(read_answers())
        assert stat.S_IMODE(Path("out.csv").stat().st_mode) == 0o600
    return "The older output is replaced whole, and who may read it stays as it was."


def output_through_a_link() -> str:
    """The intervals into a link to an older output elsewhere."""
    with folder():
        Path("sub").mkdir()
        Path("sub/real.csv").write_text("old\n", encoding="utf-8")
        Path("out.csv").symlink_to("sub/real.csv")
        assert run_here(words()).status == 0
        check_same(read_answers("sub/real.csv"))
        assert Path("out.csv").is_symlink()
    return "The file that the link leads to has the answers, and the link is still one."


def answers_to_answers() -> str:
    """The output as the next input: its columns have the names of answers already."""
    with folder():
        Path(MODEL).write_bytes(_model())
        ran(["predict", MODEL, "new.csv", "--out", "once.csv"], 0)
        return refused_here(["predict", MODEL, "once.csv", "--out", "twice.csv"], ["y_drug"])


def own_column_named_like_an_answer() -> str:
    """A file of new rows with a column y_drug of its own."""
    columns = {**table("new"), "y_drug": ["1"] * 6}
    return refused({"new.csv": file_of(columns)}, says=["y_drug"])


def outcome_in_new_rows() -> str:
    """The new rows have treatment and outcome too, with nonsense in them."""
    with folder({"new.csv": file_of({**table("new"), "t": ["?"] * 6, "y": ["dead"] * 6})}):
        ran(words(), 0)
        check_same(read_answers())
    return "They are no covariates: the answer of the clean files."


def covariate_missing_in_new_rows() -> str:
    """The new rows lack a covariate; it is told before anything is fitted."""
    columns = table("new")
    del columns["town"]
    return refused({"new.csv": file_of(columns)}, says=["new.csv", "town"])


def trial_twice() -> str:
    """One file as both tables, under its name and by another path."""
    with folder():
        Path("link.csv").symlink_to("trial.csv")
        for path in ("./trial.csv", "link.csv"):
            refused_here(words("--observational", path), ["trial.csv", "both tables"])
        return refused_here(words("--observational", "trial.csv"), ["trial.csv", "both tables"])


def formats_of_the_output() -> str:
    """The same answers as CSV, gzip, Parquet and Arrow."""
    with folder():
        found = []
        for out in ("out.parquet", "out.arrow"):
            ran(words(out=out), 0)
            found.append(pq.read_table(out) if out.endswith("parquet") else pa.feather.read_table(out))
        ran(words(out="out.csv"), 0)
        wanted = read_answers()
        for each in found:
            check_same({name: each[name].to_numpy() for name in wanted}, wanted)
            assert np.array_equal(each["x"].to_numpy(), [float(cell) for cell in table("new")["x"]])
    return "The same numbers to the last digit, and the file's own columns beside them."


def _model() -> bytes:
    with folder():
        ran(words("--save", MODEL), 0)
        return Path(MODEL).read_bytes()


CASES: Cases = {
    "a folder in place of a file": directory_for_a_file,
    "a file that is not there": missing_file,
    "a link to nowhere": broken_link,
    "inputs by links": link_to_an_input,
    "an output over an input": output_is_an_input,
    "an output over an input by another path": output_links_to_an_input,
    "an output over a second name of an input": output_is_a_second_name_of_an_input,
    "model, participants and page over inputs": model_is_an_input,
    "one name for two outputs": two_outputs_of_one_name,
    "predictions over their model or rows": prediction_over_its_model,
    "outputs in a folder that does not exist": no_folder,
    "an output that is a folder": folder_as_output,
    "the extension of a spreadsheet": extension_that_is_unknown,
    "file names with spaces, quotes and signs of shells": names_with_signs,
    "a file name like a pattern": names_like_patterns,
    "file names that begin with a dash": names_with_leading_dashes,
    "two inputs from standard input": standard_input,
    "a device as an input": device,
    "an input that may not be read": unreadable,
    "an older output with its permissions": mode_of_the_output,
    "an output through a link": output_through_a_link,
    "answers as the next input": answers_to_answers,
    "a column named like an answer": own_column_named_like_an_answer,
    "treatment and outcome in the new rows": outcome_in_new_rows,
    "a covariate that the new rows lack": covariate_missing_in_new_rows,
    "one file as both tables": trial_twice,
    "four formats of the output": formats_of_the_output,
}
