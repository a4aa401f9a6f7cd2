"""Wheel and sdist as a user gets them: built into dist/, looked into, installed in a clean environment, and tried.

After the build everything happens away from the repository, in an empty folder, with what pip installed there.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

import trove_classifiers
from packaging.metadata import Metadata
from readme_renderer import markdown

from versions import constraints

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

LIBRARY = """
import importlib.metadata, importlib.resources, sys
import confide, confide.datasets
from confide.paper.published import published
assert confide.__file__.startswith(sys.prefix), f"imported from {confide.__file__}, not from the wheel"
assert importlib.metadata.version("confide") == sys.argv[1]
assert all(getattr(confide, name) is not None for name in confide.__all__)
assert importlib.resources.files("confide").joinpath("py.typed").is_file()
assert published()["table2"]
for load in (confide.datasets.load_star, confide.datasets.load_nsw, confide.datasets.load_within_study):
    data = load()
    print(f"{load.__name__}: {len(data.observational):,} observational rows, {len(data.trial):,} of the trial")
    assert len(data.observational) > 500
"""
TABLES = ("--observational", "x/observational.csv", "--trial", "x/trial.csv", "--predict", "x/new.csv")
COLUMNS = ("--treatment", "mathGrp", "--outcome", "mathPost", "--id", "person")


def main() -> None:
    """Build, look into and try the package; the first thing that is wrong ends it."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        away = Path(name)
        sdist, wheel, direct = built(away)
        look(sdist, wheel, direct)
        check_metadata(sdist, wheel)
        environment = installed(wheel, away)
        empty = away / "empty"
        empty.mkdir()
        use(environment, empty)
    print(f"good: {wheel.relative_to(ROOT)} and {sdist.relative_to(ROOT)}")


def built(away: Path) -> tuple[Path, Path, Path]:
    """Return the sdist, the wheel that it builds, and a wheel built without it, all by the pinned tools."""
    build = [sys.executable, "-m", "build", "--no-isolation"]
    run(*build, "--outdir", DIST, ROOT)  # without a choice `build` makes the wheel from the sdist
    run(*build, "--wheel", "--outdir", away, ROOT)
    wheel = f"confide-{VERSION}-py3-none-any.whl"
    return DIST / f"confide-{VERSION}.tar.gz", DIST / wheel, away / wheel


def look(sdist: Path, wheel: Path, direct: Path) -> None:
    """Compare what is in the files with what git keeps: nothing may be missing, and nothing be there beside it."""
    listed = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    tracked = {name for name in listed if name}
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    same(held - {"PKG-INFO"}, tracked, "the sdist")

    with zipfile.ZipFile(wheel) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    metadata = f"confide-{VERSION}.dist-info/"
    package = {name for name in parts if not name.startswith(metadata)}
    same(package, {name.removeprefix("src/") for name in tracked if name.startswith("src/confide/")}, "the wheel")
    same(
        {name.removeprefix(metadata) for name in parts if name.startswith(metadata)},
        {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"},
        "the wheel's metadata",
    )
    with zipfile.ZipFile(direct) as archive:
        if {name: archive.read(name) for name in archive.namelist()} != parts:
            sys.exit("the wheel from the sdist is not the wheel from the repository")
    print(f"the wheel has {len(package)} files of src/confide, the sdist all {len(held)} that git keeps", flush=True)


def check_metadata(sdist: Path, wheel: Path) -> None:
    """Check what an index checks, as `twine check` does: valid metadata, alike in both, and a README to be shown."""
    with tarfile.open(sdist) as archive:
        source = archive.extractfile(f"confide-{VERSION}/PKG-INFO")
        of_sdist = source.read() if source else b""
    with zipfile.ZipFile(wheel) as archive:
        of_wheel = archive.read(f"confide-{VERSION}.dist-info/METADATA")
    expect(of_sdist == of_wheel, "sdist and wheel have the same metadata")
    try:
        metadata = Metadata.from_email(of_wheel, validate=True)
    except ExceptionGroup as group:
        sys.exit("\n".join(map(str, group.exceptions)))
    unknown = set(metadata.classifiers or ()) - trove_classifiers.classifiers
    expect(not unknown, f"the index knows the classifiers, not {unknown}")
    expect(metadata.description_content_type == "text/markdown", "the description is Markdown")
    shown = markdown.render(metadata.description or "") or ""
    expect("<h1" in shown and "<code" in shown, "the index shows README as a page")
    print(f"metadata {metadata.metadata_version} is valid; README is {len(shown):,} characters of HTML", flush=True)
    check_links(shown)


def check_links(shown: str) -> None:
    """Check that README's links within the repository lead to files, and say how many an index cannot follow."""
    within = [link for link in re.findall(r'(?:href|src)="([^"#]+)', shown) if not link.startswith(("https:", "http:"))]
    dead = [link for link in within if not (ROOT / link).is_file()]
    expect(not dead, f"README's links lead to files, not {dead}")
    if within:
        print(f"{len(within)} links are relative: an index cannot follow them (docs/releasing.md)", flush=True)


def same(found: set[str], expected: set[str], what: str) -> None:
    """Fail where names differ, and say which."""
    for names, how in ((expected - found, "lacks"), (found - expected, "should not have")):
        if names:
            shown = ", ".join(sorted(names)[:10])
            sys.exit(f"{what} {how} {len(names)} files: {shown} (is everything added to git, and nothing left over?)")


def installed(wheel: Path, away: Path) -> Path:
    """Return the commands of a new environment that has the wheel, its dependencies at the pinned versions, no more."""
    environment = away / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    # The pip beside the interpreter that made .venv, which has none of its own.
    base = Path(sys.base_prefix) / "bin" / "python3"
    pip: list[str | Path] = [base, "-m", "pip", "--python", environment / "bin" / "python"]
    pinned = away / "constraints.txt"  # without hashes: there is none for the wheel
    pinned.write_text(constraints(minima=False), encoding="utf-8")
    run(*pip, "install", "--quiet", "--constraint", pinned, wheel)
    run(*pip, "check")
    return environment / "bin"


def use(bin_: Path, folder: Path) -> None:
    """Do what a newcomer does, in an empty folder."""
    confide = bin_ / "confide"
    expect("demo" in run(confide, "--help", cwd=folder), "--help names the commands")
    naming = "import confide; print(confide.CounterfactualIntervals().method)"
    default = run(bin_ / "python", "-c", naming, cwd=folder).strip()
    expect(f"\n{default}\n" in f"\n{run(confide, 'methods', cwd=folder)}", "`methods` names the default")
    run(confide, "demo", "--files", "x", cwd=folder)
    run(confide, "run", *TABLES, *COLUMNS, "--out", "intervals.csv", "--save", "model.confide", cwd=folder)
    asked, answered = rows(folder / "x" / "new.csv"), rows(folder / "intervals.csv")
    expect([row["person"] for row in answered] == [row["person"] for row in asked], "a row for each that was asked for")
    expect(all(float(row["y_1_lower"]) < float(row["y_1_upper"]) for row in answered), "intervals in every row")
    run(confide, "predict", "model.confide", "x/new.csv", "--out", "again.csv", cwd=folder)
    expect(rows(folder / "again.csv") == answered, "the saved model answers the same")
    run(confide, "report", "model.confide", "--predict", "x/new.csv", "--out", "page.html", cwd=folder)
    page = (folder / "page.html").read_text(encoding="utf-8")
    expect("<html" in page and "n0001" in page and "Plot" in page, "the report has its rows and its charts")
    print(run(bin_ / "python", "-c", LIBRARY, VERSION, cwd=folder), end="", flush=True)


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def expect(holds: bool, what: str) -> None:
    """Fail unless something holds."""
    if not holds:
        sys.exit(f"not so: {what}")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command that must succeed, and return what it prints; nothing of our surroundings reaches it."""
    shown = ("…" if "\n" in str(part) else str(part) for part in command[1:])
    print("$", Path(command[0]).name, *shown, flush=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env=clean, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\nstatus {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
