"""A small study as frames, for the attack through Python: what is asked of it, and when an answer holds."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from confide import CounterfactualIntervals, stack
from fuzz.verdict import LONGEST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from confide import Study

STUDY = ["--observational", "obs.csv", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y"]
QUICK = ["--method", "transfer", "--base", "linear", "--alpha", "0.2"]


class Cases(dict[str, "Callable[[], str]"]):
    """Cases by their names; warnings that a case does not look at are left out."""

    def named(self, name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
        """Return a decorator that adds a case."""

        def add(case: Callable[[], str]) -> Callable[[], str]:
            @functools.wraps(case)
            def quiet() -> str:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return case()

            self[name] = quiet
            return quiet

        return add


def people(count: int, seed: int, labels: tuple[Any, ...] = (0, 1), bias: float = 0.0) -> Any:
    """Return people as a frame of pandas, each treatment as often as the others."""
    rng = np.random.default_rng(seed)
    age, dose = rng.integers(20, 80, count) * 1.0, rng.standard_normal(count)
    code = rng.permutation(np.arange(count) % len(labels))
    place = np.array(["east", "north", "west"], dtype=object)[rng.integers(0, 3, count)]
    y = age / 20 + dose + code + bias + 0.5 * rng.standard_normal(count)
    return pd.DataFrame({"age": age, "dose": dose, "place": place, "t": np.array(labels)[code], "y": y})


def tables(labels: tuple[Any, ...] = (0, 1)) -> tuple[Any, Any]:
    """Return the observational table and the trial."""
    return people(90, 0, labels, 0.5), people(22 * len(labels), 1, labels)


def study(labels: tuple[Any, ...] = (0, 1)) -> Study:
    """Return the study."""
    return stack(*tables(labels))


def new() -> Any:
    """Return covariates of seven new people."""
    return people(7, 2).drop(columns=["t", "y"])


def unfitted(method: Any = "transfer", **given: Any) -> CounterfactualIntervals:
    """Return a model that is fitted in no time."""
    return CounterfactualIntervals(method, **{"alpha": 0.2, "base": "linear", "random_state": 0, **given})


def fitted(**given: Any) -> CounterfactualIntervals:
    """Return a model of the study."""
    return unfitted(**given).fit(study())


def answers(model: CounterfactualIntervals, rows: Any = None, labels: tuple[Any, Any] = (0, 1)) -> Any:
    """Return all that a model says of rows, one column per answer."""
    rows = new() if rows is None else rows
    found = [model.predict_effect(rows, labels[1], labels[0])]
    found += [*model.predict_effect_interval(rows, labels[1], labels[0])]
    for label in labels:
        found += [model.predict(rows, label), *model.predict_interval(rows, label)]
    return np.column_stack(found)


def holds(truth: Any, otherwise: str) -> None:
    """Raise an AssertionError with what broke unless it is true."""
    if not truth:
        raise AssertionError(otherwise)


def same(one: Any, other: Any, what: str) -> None:
    """Break unless both arrays are the same, bit for bit."""
    holds(np.array_equal(one, other, equal_nan=True), f"{what}: {one} is not {other}")


def refused(call: Callable[[], Any], *says: str) -> str:
    """Break unless a call is refused by a ValueError in one clear line with these words; return the line."""
    try:
        answered = call()
    except Exception as error:  # noqa: BLE001  (any other is what broke)
        line = str(error)
        ours = isinstance(error, ValueError) and type(error).__module__.startswith(("builtins", "confide"))
        clear = "\n" not in line and len(line) < LONGEST_MESSAGE and line.endswith((".", "?", ")"))
        holds(ours and clear and " at 0x" not in line, f"refused badly, {type(error).__qualname__}: {line[:300]!r}")
    else:
        raise AssertionError(f"it was answered: {str(answered)[:200]}")
    for word in says:
        holds(word in line, f"the refusal does not say {word!r}: {line}")
    return line


def refused_all(calls: dict[str, Callable[[], Any]], *says: str) -> int:
    """Break unless each call is refused well; the name of the one that is not is in what broke."""
    for name, call in calls.items():
        try:
            refused(call, *says)
        except AssertionError as broken:
            raise AssertionError(f"{name}: {broken}") from broken
    return len(calls)


def refused_each(given: Iterable[Any], call: Callable[[Any], Any], *says: str) -> int:
    """Break unless a call is refused well with each of these values."""
    return refused_all({repr(each)[:60]: functools.partial(call, each) for each in given}, *says)


def warned(call: Callable[[], Any], category: type[Warning] = Warning) -> list[warnings.WarningMessage]:
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [each for each in caught if issubclass(each.category, category)]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Work in a new folder."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        yield Path()


@contextlib.contextmanager
def files(labels: tuple[Any, ...] = (0, 1)) -> Iterator[Path]:
    """Work in a new folder with the study in three files."""
    with folder() as here:
        observational, trial = tables(labels)
        observational.to_csv("obs.csv", index=False)
        trial.to_csv("trial.csv", index=False)
        new().assign(who=[f"p{place}" for place in range(7)]).to_csv("new.csv", index=False)
        yield here


def command(*words: str, status: int = 0) -> tuple[str, str]:
    """Run a command here; break unless it ends with this status. Return what it said: out, err."""
    from confide.cli.main import main  # noqa: PLC0415  (as heavy as a command)

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    ended: Any = 0
    words_of_process = patch.object(sys, "argv", ["confide", *words])
    with words_of_process, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            ended = end.code or 0
    told = [each.buffer.getvalue().decode() for each in (out, err)]
    holds(ended == status, f"`confide {' '.join(words)}` ended with {ended}: {told[1][-300:]}")
    if status == 2:
        line = "\n".join(each for each in told[1].splitlines() if not each.startswith("note: "))
        holds(line.startswith("confide: ") and "\n" not in line, f"not one line: {line!r}")
    return told[0], told[1]


def page(path: str) -> tuple[str, dict[str, Any]]:
    """Return a page's text and the data of its scripts."""
    text = Path(path).read_text(encoding="utf-8")
    found = re.findall(r'<script[^>]* id="data"[^>]*>(.*?)</script>', text, re.DOTALL)
    holds(len(found) == 1, f"the page has {len(found)} blocks of data")
    return text, json.loads(found[0])
