"""The page on robustness, from the tables of what was tried."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fuzz.found import FOUND
from fuzz.verdict import ANSWERED, DEFECT, REFUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.base.csv_rows import Row

TITLES = {
    "tables": (
        "Tables",
        "Each case is a study of two small tables and some new rows with something odd in it, or several such things. "
        "It is asked twice, in two containers: frames of pyarrow, pandas and polars, CSV, gzip, UTF-16, Parquet and "
        "Arrow files, and a folder that is read by batches; models are saved and loaded on the way. *Answered* means: "
        "both containers agree; where the oddity is only a way of writing, the answer is that of the clean table "
        "(outcomes in extreme units: times the unit); points are finite, intervals have a lower end below the upper "
        "one and no NaN; and with `transfer` at least ⌈(1-α)(m+1)⌉ of each arm's m calibration rows are in their own "
        "intervals, which is what its promise rests on: its scores are fixed before the trial is seen. With "
        "`prognostic` "
        "that check would show nothing of the promise, because a calibration row that is asked again as a new one is "
        "there twice and moves the scores; there the attacks below make each trial row the new one in turn, and learn "
        "everything again without it. That shows that the rank is kept for these very rows, and neither that a "
        "trial's people are like the new ones nor how wide intervals are. *Refused* means a `ValueError` in one line, "
        "without the "
        "insides of a library.",
    ),
    "commands": (
        "Command line",
        "Each case is a command with words that programs stumble over, in a folder with a small study; one of 40 is a "
        "process of its own. *Answered* is status 0, and no file is there or changed that was not named. *Refused* is "
        "status 2, one line on stderr, and no file touched. No traceback, no word executed, nothing after two minutes.",
    ),
    "models": (
        "Model files",
        "Each case is a model file that was damaged, or forged with the right checksum; it is loaded, and asked if it "
        "can be, in a process that may use 4 GB. A damaged file is refused, or gives the very same bytes. A forged one "
        "is a model, or is refused by name. The interpreter's own audit hook watches: no process started, no file "
        "written or removed, no network, no pickle.",
    ),
}


def summed(fuzzer: str, rows: list[Row]) -> list[Row]:
    """Return one row per family of cases."""
    families: dict[str, Counter[str]] = {}
    for row in rows:
        families.setdefault(row["family"], Counter())[row["outcome"]] += 1
    return [
        {"fuzzer": fuzzer, "family": family, "cases": counts.total(), **{each: counts[each] for each in OUTCOMES}}
        for family, counts in sorted(families.items())
    ]


OUTCOMES = (ANSWERED, REFUSED, DEFECT)


def page(tried: list[Row], faults: list[Row], attacks: Sequence[Row] = ()) -> str:
    """Return the page in Markdown."""
    total = sum(row["cases"] for row in tried)
    defects = sum(row[DEFECT] for row in tried) + sum(row["injected"] - row["survived"] for row in faults)
    defects += sum(not row["held"] for row in attacks)
    injected = sum(row["injected"] for row in faults)
    by_hand = f", {len(attacks):,} attacks by hand" if attacks else ""
    lines = [
        "# Hostile input and faults",
        "",
        f"{total:,} hostile inputs{by_hand} and {injected:,} faults, with {_count(defects, 'defect')} when they were "
        f"last run; {_count(len(FOUND), 'defect')} were found so far and mended, each with a test (below). Input that "
        "cannot be answered is refused in one line that says what to do; an output is whole or not there. The tables "
        "are made by `make fuzz`, `make attacks` and `make faults`; a drawn case has a number, so that `python -m fuzz "
        "tables --case 123` runs it again.",
        "",
    ]
    for fuzzer, (title, text) in TITLES.items():
        rows = [row for row in tried if row["fuzzer"] == fuzzer]
        if rows:
            lines += [f"## {title}", "", text, "", *_table(rows), ""]
    if attacks:
        lines += ["## Attacks by hand", "", ATTACKS, "", *_attacks(attacks), ""]
    if faults:
        lines += ["## Faults", "", FAULTS, "", *_faults(faults), ""]
    lines += ["## Defects found, and what was done", "", "| found by | what | done |", "| --- | --- | --- |"]
    lines += [f"| {each.by} | {each.what} | {each.done} |" for each in FOUND]
    return "\n".join(lines) + "\n"


ATTACKS = (
    "Each attack was made as somebody would make it who did not write the code; its cases are named, and each says "
    "what was seen to hold. What broke was mended, and is in the list of defects below; `make attacks` runs all again."
)
FAULTS = (
    "Each fault is injected into a command on a small study at a random moment of its run; *in the middle* are those "
    "that came before its end. Survived means: no part of a file under an output's name, an older output as it was, no "
    "temporary file left by a run that could still tidy up, one line and no traceback for whoever watches, and after "
    "all of them a rerun that gives the same bytes as a run without a fault. A killed `reproduce` goes on from the "
    "parts that are whole."
)


def _count(number: int, what: str) -> str:
    return f"{'no' if number == 0 else number} {what}{'' if number == 1 else 's'}"


def _table(rows: list[Row]) -> list[str]:
    total = {name: sum(row[name] for row in rows) for name in ("cases", *OUTCOMES)}
    return [
        "| what is odd | cases | answered | refused | defects |",
        "| --- | --: | --: | --: | --: |",
        *(_line(row["family"], row) for row in rows),
        _line("**all**", total),
    ]


def _line(what: str, row: Row) -> str:
    return f"| {what} | {row['cases']:,} | {row[ANSWERED]:,} | {row[REFUSED]:,} | {row[DEFECT]:,} |"


def _faults(rows: list[Row]) -> list[str]:
    return [
        "| fault | command | injected | in the middle | survived |",
        "| --- | --- | --: | --: | --: |",
        *(
            f"| {row['fault']} | {row['command']} | {row['injected']} | {row['in_the_middle']} | {row['survived']} |"
            for row in rows
        ),
    ]


def _attacks(rows: Sequence[Row]) -> list[str]:
    """Return how many cases of each attack held, and what was seen in each."""
    names = list(dict.fromkeys(row["attack"] for row in rows))
    lines = ["| attack | cases | held | broke |", "| --- | --: | --: | --: |"]
    for name in names:
        held = [row["held"] for row in rows if row["attack"] == name]
        lines.append(f"| {name} | {len(held)} | {sum(held)} | {len(held) - sum(held)} |")
    for name in names:
        lines += ["", f"### The attack on {name}", ""]
        lines += [
            f"- {_plain(row['case'])}: {'' if row['held'] else '**broke**: '}{_plain(row['seen'])}"
            for row in rows
            if row["attack"] == name
        ]
    return lines


def _plain(text: object) -> str:
    """Return a text in which Markdown sees no marks of its own."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", str(text))
