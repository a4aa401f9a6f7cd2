"""Checks of arguments; their messages give the value, the bound and the remedy in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

# Models square and cube numbers (splines are cubic); larger ones would overflow.
LARGEST_NUMBER = 1e100
# Messages show so many characters of a value.
SHOWN_CHARACTERS = 80


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave the estimator exactly as it was if the block raises: no half-fitted state."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def near(name: Any, known: Iterable[Any]) -> list[str]:
    """Return the known names that differ by case only, else the nearest ones; empty if none is near."""
    names = [str(each) for each in known]
    same = [each for each in names if each.casefold() == str(name).casefold()]
    return same or get_close_matches(str(name), names, n=3)


def suggest(name: Any, known: Iterable[Any]) -> str:
    """Return "did you mean …?" for the names that are near, or the whole list."""
    names = [str(each) for each in known]
    meant = near(name, names)
    return f"did you mean {examples(meant)}?" if meant else f"there are: {examples(names, 20)}."


def examples(values: Iterable[Any], most: int = 5) -> str:
    """Return the first few values as text, for a message."""
    shown = [short(value) for value in values]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")


def number_of(count: int, one: str, several: str | None = None) -> str:
    """Return a count with its noun, whose plural has an s if none is given."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def short(value: Any) -> str:
    """Return a value as text for a message; of a long one the beginning."""
    text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def check_size(what: str, values: NDArray[np.float64]) -> None:
    """Raise if a finite number is larger than what models compute with."""
    large = values[np.isfinite(values) & (np.abs(values) > LARGEST_NUMBER)]
    if len(large):
        raise ValueError(
            f"{what} holds {large[0]:g}, and numbers must lie between -{LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}. If "
            "it stands for a missing value, leave it empty; otherwise change the unit."
        )


def unmasked(values: Any) -> Any:
    """Return values in which masked ones are missing; a plain array would have what is under the mask."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    plain = np.array(values, dtype=object)
    plain[np.ma.getmaskarray(values)] = None
    return plain


def check_seed(random_state: Any) -> None:
    """Raise unless random_state is None, a number of 32 bits or a RandomState."""
    if random_state is None or random_state is np.random or isinstance(random_state, np.random.RandomState):
        return
    if not isinstance(random_state, Integral) or not 0 <= int(random_state) < 2**32:
        plain = isinstance(random_state, Real | str)
        raise ValueError(
            "random_state must be None, a whole number from 0 to 2**32 - 1 or a numpy RandomState, got "
            f"{short(repr(random_state)) if plain else type(random_state).__name__}."
        )


def check_outcome(y: ArrayLike) -> NDArray[np.float64]:
    """Return finite outcomes as a vector of floats."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None: give the outcomes.")
    y = unmasked(y)
    kind = np.asarray(y).dtype
    if kind.kind in "cmM":
        raise ValueError(
            f"the outcome must be numeric: {kind} values are not. Complex data not supported, dates neither."
        )
    try:
        outcome = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the outcome must be numeric: {error}. Encode it as numbers.") from error
    if outcome.ndim != 1:
        raise ValueError(f"the outcome must be one-dimensional, got shape {outcome.shape}.")
    bad = np.flatnonzero(~np.isfinite(outcome))
    if len(bad):
        raise ValueError(
            f"the outcome must be finite: {len(bad)} of {len(outcome)} are NaN or infinite "
            f"(rows {examples(bad)}). Drop those rows, or impute them before the split."
        )
    check_size("the outcome", outcome)
    largest = float(np.abs(outcome).max(initial=0.0))
    if 0 < largest < 1 / LARGEST_NUMBER:  # squares of errors would be 0
        raise ValueError(
            f"the outcome is at most {largest:g} in size, and its largest value must be at least "
            f"{1 / LARGEST_NUMBER:g}, or models cannot tell errors from 0. Change the unit."
        )
    return outcome


def check_trial(trial: ArrayLike) -> NDArray[np.bool_]:
    """Return the trial mask as booleans; True marks a row of the randomised trial."""
    mask = np.asarray(unmasked(trial))
    if mask.ndim != 1:
        raise ValueError(f"trial must be one-dimensional, got shape {mask.shape}.")
    if mask.dtype != bool:
        bad = [value for value in mask.tolist() if not isinstance(value, bool | int | float) or value not in (0, 1)]
        if bad:
            raise ValueError(f"trial must be a boolean mask (True: row of the trial), got the value {bad[0]!r}.")
        mask = mask.astype(bool)
    return mask


def check_positive(name: str, value: Any) -> NDArray[np.float64]:
    """Return one number or several as a vector; raise unless all are finite and above 0."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a positive number, got {value!r}.") from error
    if numbers.ndim != 1 or not len(numbers) or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueError(f"{name} must be positive, got {value!r}.")
    return numbers


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number as an integer; raise unless it is at least the bound."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def names_in(what: str, given: Any) -> list[str]:
    """Return one name, or several, as a list; raise if they are no text."""
    if isinstance(given, str):
        return [given]
    names = list(given) if isinstance(given, Iterable) else [given]
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise ValueError(f"{what} must be a name or a list of names, got {short(repr(strange[0]))}.")
    return names


def check_lengths(**columns: Any) -> None:
    """Raise unless all have the same number of rows."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the numbers of rows differ: {listed}.")


def check_outcome_values(outcome_values: Any, y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the values a discrete outcome can take, in order; raise if an outcome is none of them."""
    if outcome_values is None:
        return None
    try:
        values = np.asarray(outcome_values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"outcome_values must be a list of finite numbers, got {outcome_values!r}.") from error
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"outcome_values must be a list of finite numbers, got {outcome_values!r}.")
    values = np.unique(values)
    others = y[~np.isin(y, values)]
    if len(others):
        raise ValueError(
            f"{len(others)} outcomes are none of outcome_values={values.tolist()}, such as {others[0]}. "
            "Add the values, or leave it None."
        )
    return values


def check_outcome_range(outcome_range: Any, y: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the declared bounds of the outcome as floats; raise if an outcome lies outside."""
    if outcome_range is None:
        return None
    try:
        low, high = (float(bound) for bound in outcome_range if not isinstance(bound, str))
    except (TypeError, ValueError) as error:
        raise ValueError(f"outcome_range must be a pair (low, high), got {outcome_range!r}.") from error
    if not low < high:
        raise ValueError(f"outcome_range must have low < high, got ({low}, {high}).")
    outside = y[(y < low) | (y > high)]
    if len(outside):
        raise ValueError(
            f"{len(outside)} outcomes lie outside outcome_range=({low}, {high}), such as {outside[0]}. "
            "Widen the range, or leave it None."
        )
    return low, high
