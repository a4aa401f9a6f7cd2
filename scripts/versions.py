"""The tests at other versions: at the declared minima, on Python 3.11 and on Python 3.13.

Each has an environment of its own, which is kept, and made anew when what it should hold has changed. Versions are
fixed: minima are the lower bounds of pyproject.toml, everything else is what requirements-dev.lock pins.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "pyproject.toml"
LOCK = ROOT / "requirements-dev.lock"
ALL = ("minima", "3.11", "3.13")
# What the tests import beside confide's own dependencies.
TOOLS = ["pytest", "pytest-xdist", "hypothesis", "pandas", "polars", "matplotlib", "hatchling"]
TOOLS += ["dask[dataframe]", "distributed", "lightgbm"]
TOOLS += ["crepes", "densratio", "mapie", "playwright", "axe-playwright-python"]
# The pinned ones of these need newer libraries than the minima.
OLDER = {"pandas": "2.2.2"}
SITE = "tests/test_site.py"
# What meets the libraries' edges: frames and files, commands, models in files, scikit-learn's checks, threads, scipy.
SMOKE = ["tests/cli", "tests/data", "tests/io", "tests/plot", "tests/datasets", "tests/report", "tests/test_public.py"]
SMOKE += ["tests/base/test_threads.py", "tests/conformal/test_intervals.py", "tests/predict/test_batches.py"]
SMOKE += ["tests/models/test_auto.py", "tests/methods/test_estimator_checks.py", "tests/methods/test_peers.py"]
SMOKE += ["tests/ratio/test_ratios.py", "tests/paper/test_oracle_width.py", "--ignore=tests/cli/test_reproduce.py"]
SMOKE += ["-m", "not (slow or docs or long)"]


def main() -> None:
    """Run the tests in each environment that is asked for, and fail if they fail in one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=ALL, metavar="NAME", help=f"which of {', '.join(ALL)}")
    parser.add_argument("--smoke", action="store_true", help="a minute of tests at the minima and on 3.13")
    parser.add_argument(
        "pytest",
        nargs="*",
        metavar="ARGUMENT",
        help="arguments of pytest, after `--`; without them what `make test` runs",
    )
    given = parser.parse_args()
    names = given.only or (["minima", "3.13"] if given.smoke else ALL)
    tests = given.pytest or (SMOKE if given.smoke else [])
    print(f"left out: {SITE}, for which MkDocs is needed", flush=True)
    failed = [name for name in names if not passes(name, tests)]
    sys.exit(f"tests failed: {', '.join(failed)}" if failed else None)


def passes(name: str, tests: list[str]) -> bool:
    """Run the tests in one environment, and say with which versions and how long it took."""
    start = time.monotonic()
    python = environment(name)
    made = time.monotonic()
    print(f"\n{name}: {versions(python)}", flush=True)
    pytest: list[str | Path] = [python, "-m", "pytest", "-n", "2", "--dist", "loadgroup", f"--ignore={SITE}"]
    done = subprocess.run([*pytest, *tests], cwd=ROOT, check=False)
    print(f"{name}: ready in {made - start:.0f} s, tested in {time.monotonic() - made:.0f} s", flush=True)
    return done.returncode == 0


def environment(name: str) -> Path:
    """Return the interpreter of an environment that holds the versions of this name."""
    folder = ROOT / f".venv-{name}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    fixed = constraints(minima=name == "minima")
    base = interpreter("3.11" if name == "minima" else name)
    wanted = "\n".join([base, *TOOLS, fixed, PROJECT.read_text(encoding="utf-8")])
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return python
    print(f"\n{name}: making {folder.name} ...", flush=True)
    # Without ensurepip, which Debian packages separately, as in the Makefile.
    subprocess.run([base, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    listed = folder / "constraints.txt"
    listed.write_text(fixed, encoding="utf-8")
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--constraint",
        listed,
    ]
    subprocess.run([*pip, "--editable", ROOT, *TOOLS], check=True)
    ready.write_text(wanted, encoding="utf-8")
    return python


def constraints(*, minima: bool) -> str:
    """Return pip's constraints: what the lock pins, or the lower bounds and what the lock pins of the rest."""
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s\\]+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE))
    return "\n".join(f"{name}=={version}" for name, version in (pinned | (OLDER | bounds() if minima else {})).items())


def bounds() -> dict[str, str]:
    """Return the lower bound of each dependency of confide."""
    found = {}
    for dependency in tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]:
        bound = re.fullmatch(r"([\w-]+)>=([\w.]+)", dependency)
        if bound is None:
            sys.exit(f"pyproject.toml: {dependency!r} is not a name and a lower bound, so it has no minimum to test")
        found[bound[1]] = bound[2]
    return found


def interpreter(version: str) -> str:
    """Return a Python of this version: the one that runs this, one on PATH, or one that is built."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    if version == "3.13":
        done = subprocess.run([ROOT / "scripts" / "python313.sh"], stdout=subprocess.PIPE, text=True, check=False)
        found = done.stdout.strip()
    else:
        found = shutil.which(f"python{version}") or ""
    return found or sys.exit(f"no Python {version} here: install one, or name the others with --only")


def versions(python: Path) -> str:
    """Return what an environment runs with: Python, confide's dependencies, and the frames of the tests."""
    code = "import sys, importlib.metadata as m; print('Python', sys.version.split()[0], end=''); "
    code += "[print(',', name, m.version(name), end='') for name in sys.argv[1:]]"
    return subprocess.check_output([python, "-c", code, *bounds(), "pandas", "polars"], text=True)


if __name__ == "__main__":
    main()
