"""What people and spreadsheets leave in a table: titles, units, totals, a header or a person twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.attacks._bench import file_of, files, folder, noted, notes, ran, refused, same, table, words

if TYPE_CHECKING:
    from fuzz.attacks._bench import Cases


def title() -> str:
    """A title above the header."""
    return refused({"obs.csv": b"Table 1: people\n" + files()["obs.csv"]}, says=["obs.csv", "columns"])


def comment() -> str:
    """A comment above the header."""
    return refused({"trial.csv": b"# made by hand\n" + files()["trial.csv"]}, says=["trial.csv", "columns"])


def sep_line() -> str:
    """The line `sep=;` of a spreadsheet above the header."""
    return refused({"obs.csv": b"sep=;\n" + file_of(table("obs"), ";")}, says=["obs.csv", "columns"])


def units() -> str:
    """A row of units below the header."""
    content = files()["obs.csv"].replace(b"\n", b"\n,cm,,,,,,points\n", 1)
    return refused({"obs.csv": content}, says=["'x'", "'cm'", "row 1"])


def total() -> str:
    """A row with the total at the end."""
    return refused({"obs.csv": files()["obs.csv"] + b"total,,,,,,,400\n"}, says=["obs.csv", "row 81"])


def empty_row() -> str:
    """A row of separators at the end of the trial."""
    return refused({"trial.csv": files()["trial.csv"] + b",,,,,,,\n"}, says=["trial.csv", "row 61"])


def header_twice() -> str:
    """Two files in one, with the header of the second in the middle."""
    head = files()["obs.csv"].split(b"\n", 1)[0] + b"\n"
    return refused({"obs.csv": files()["obs.csv"] + head}, says=["'x'", "row 81"])


def trial_in_one_file_twice() -> str:
    """The trial's rows twice in its file."""
    content = files()["trial.csv"]
    with folder({"trial.csv": content + content.split(b"\n", 1)[1]}):
        return noted(ran(words(), 0), "60 values of 'who'", "several rows of trial.csv", "--cluster who")


def people_with_two_visits() -> str:
    """Some people with a second row in the trial."""
    who = [*table("trial")["who"][:50], *table("trial")["who"][:10]]
    with folder({"trial.csv": file_of({**table("trial"), "who": who})}):
        return noted(ran(words(), 0), "10 values of 'who'", "several rows of trial.csv")


def site_as_identifier() -> str:
    """An identifier of sites, which many rows share, is left out without a word."""
    given = {
        f"{name}.csv": file_of(
            {**table(name), "site": [f"{name}-{place % 4}" for place in range(len(table(name)["x"]))]}
        )
        for name in ("obs", "trial", "new")
    }
    done = same(given, "--id", "site")
    assert not notes(done)
    return "The answer of the clean files, and no note."


def capitals_in_new_rows() -> str:
    """Towns in capitals in the new rows only."""
    with folder({"new.csv": file_of(table("new", town=str.upper))}):
        return noted(ran(words(), 0), "'town'", "'NORD' and 'Nord'", "unknown")


def quoted_labels() -> str:
    """Treatments in single quotes in one file."""
    return refused({"obs.csv": files()["obs.csv"].replace(b"drug", b"'drug'")}, says=["'drug'", "trial drug, placebo"])


def units_in_cells() -> str:
    """Outcomes with their unit in one file."""
    return refused({"trial.csv": file_of(table("trial", y=lambda cell: f"{cell} kg"))}, says=["'y'", "kg"])


def footnote() -> str:
    """A number with the mark of a footnote."""
    return refused({"trial.csv": files()["trial.csv"].replace(b"6.094", b"6.094*", 1)}, says=["'y'", "'6.094*'", "row"])


def end_of_file_mark() -> str:
    """The end mark of old systems at the end of a file."""
    return refused({"obs.csv": files()["obs.csv"] + b"\x1a"}, says=["obs.csv", "columns"])


def quoted_cells() -> str:
    """Every cell in quotes, numbers too."""
    same({f"{name}.csv": file_of(table(name), quoted=True) for name in ("obs", "trial", "new")})
    return "The answer of the clean files."


def nul_in_cells() -> str:
    """A NUL character in a category."""
    same({name: content.replace(b"Nord", b"No\0rd") for name, content in files().items()})
    return "A category like another: the answer under the plain name."


CASES: Cases = {
    "a title above the header": title,
    "a comment above the header": comment,
    "the line sep=; above the header": sep_line,
    "a row of units": units,
    "a row with the total": total,
    "a row of separators": empty_row,
    "a header in the middle": header_twice,
    "the trial twice in its file": trial_in_one_file_twice,
    "people with two rows in the trial": people_with_two_visits,
    "an identifier of sites": site_as_identifier,
    "categories in capitals in the new rows": capitals_in_new_rows,
    "treatments in single quotes": quoted_labels,
    "units in the cells of one file": units_in_cells,
    "the mark of a footnote": footnote,
    "the end mark of old systems": end_of_file_mark,
    "every cell in quotes": quoted_cells,
    "NUL in a category": nul_in_cells,
}
