"""A test for covariate shift: whether new rows come from the trial's population, for which the promises hold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, kolmogorov

from confide.base.advice import Advice
from confide.base.validation import examples
from confide.data.encoding import encoded_names
from confide.diagnostics.strange_values import Strange, both, far_numbers, say_far, say_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# Largest random samples: of the trial rows that are kept, and of the new rows whose distribution is compared with
# theirs.
TRIAL_ROWS = 2000
NEW_ROWS = 10_000
# With fewer trial rows than this, nothing is tested.
LEAST_ROWS = 10
# Unknown categories of rows in memory are told if at least this share holds one. Fewer are ordinary among people held
# out: the encoder learns from some of the rows, and does not meet all rare categories.
UNKNOWN_SHARE = 0.05
# Largest probability of a false alarm per call, over all columns: rows from the trial's population called unlike it.
ALARM_LEVEL = 0.001
# The same for single absurd rows, under the assumption on the tails that Population states.
ABSURD_LEVEL = 0.005
# The distribution-free checks of a column: its largest values, its smallest ones, gaps, and its distribution.
EXACT_CHECKS = 4
# A tail is the outermost rows^TAIL_POWER values of the trial, or more if that many hold fewer than TAIL_VALUES distinct
# values.
TAIL_POWER = 0.4
TAIL_VALUES = 3
NOTHING: Mapping[str, Strange] = MappingProxyType({})


@dataclass(frozen=True)
class Population:
    """The trial's covariates, all arms together: the reference sample that new rows are tested against.

    Four checks per column:

    - distribution: the two-sample Kolmogorov–Smirnov test, where a missing value counts as larger than all others;
    - range: how many new values lie above the trial's largest or below its smallest one, and the probability that so
      many do. Missing values are left out on both sides: which rows have a value does not make one of them larger;
    - gaps, where the trial has none: how many new values are missing, and the probability that so many are;
    - absurd values: whether a single value lies farther out than the largest of that many rows should, judged from the
      spacings of the trial's most extreme values (`farther_out`). This check is skipped where these have too few
      distinct values.

    The first three checks are distribution-free. Together they raise a false alarm, on rows from the trial's
    population, in at most one call in a thousand, for any number of new rows. The fourth does so in at most one call in
    two hundred, under an assumption on each tail: the hazard on the scale of log|x - median| does not decrease. That
    is, beyond the tail's beginning, x·f(x)/(1 - F(x)) does not decrease, with x measured from the trial's median. Every
    power law satisfies this, however heavy, and so do lighter tails: normal, exponential, lognormal, Student and Cauchy
    distributions, each with any share of zeros. The assumption excludes a small group of people, far from all others,
    that the trial missed by chance. If the group is a share q of the population, one new row belongs to it and none of
    m trial rows does with probability q·(1 - q)^m, at most 1/(e·m). Integers and rounded values are not covered by the
    proof; for them the rate was measured (docs/population.md).

    Single values that no row of the model's tables is like are told beside these checks (`strange_values`).

    Attributes
    ----------
    names : tuple of str
        Name of each column.
    columns : (rows, columns) array
        The trial's values. Each column is sorted in increasing order, with missing values as +∞.
    whose : {"trial", "target"}
        Whose covariates these are: with a target the promises are for its people, and the checks are against them.
    ends : (4, columns) array or None
        Smallest and largest value of all rows that the model was fitted on, and beyond what numbers are far from them
        (`fitted_ends`). None: not known.
    """

    names: tuple[str, ...]
    columns: NDArray[np.float64]
    whose: str = "trial"
    ends: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        X: NDArray[np.float64],
        names: Any,
        seed: int,
        whose: str = "trial",
        ends: NDArray[np.float64] | None = None,
    ) -> Population:
        """Return the reference sample: at most TRIAL_ROWS rows of the trial's covariates, drawn at random."""
        chosen = np.random.default_rng(seed).permutation(len(X))[:TRIAL_ROWS]
        return cls(tuple(str(name) for name in names), np.sort(_missing_last(X[chosen]), axis=0), whose, ends)

    @classmethod
    def encoded_by(
        cls, encoder: Any, X: NDArray[np.float64], seed: int, whose: str, ends: NDArray[np.float64] | None = None
    ) -> Population:
        """Return the reference sample of rows that an encoder made."""
        return cls.of(X, encoded_names(encoder, X.shape[1]), seed, whose, ends)

    def unlike(self, X: NDArray[np.float64], unknown: Mapping[str, Strange] = NOTHING) -> str | None:
        """Return what is to be said of new rows that differ from the trial's; None if nothing is.

        ``unknown`` are their `unknown_categories`, of which encoded rows have no trace. Here those are told that at
        least `UNKNOWN_SHARE` of the rows hold: people held out of a study often have a rare one. Of files all are told.
        """
        many = {name: each for name, each in unknown.items() if each.rows >= UNKNOWN_SHARE * len(X)}
        return self.judge(replace(self.look(X), unknown=many))

    def look(self, X: NDArray[np.float64], start: int = 0) -> Look:
        """Return the summary of new rows that the checks need; ``start`` is the number of rows before these.

        The summaries of batches, joined, equal the summary of all rows.
        """
        if not X.size:
            return Look.at_nothing(self)
        first, last = self._known_ends()
        ends = np.array([np.fmin.reduce(X), np.fmax.reduce(X)])
        missing = np.isnan(X).sum(axis=0)
        beyond_ends = np.zeros((2, len(last)))
        for column in np.flatnonzero(ends[1] > last):
            beyond_ends[0, column] = np.sum(X[:, column] > last[column])
        for column in np.flatnonzero(ends[0] < first):
            beyond_ends[1, column] = np.sum(X[:, column] < first[column])
        far = {} if self.ends is None else far_numbers(self.ends, self.names, X, start)
        return Look(
            len(X), beyond_ends, ends, len(X) - missing, X, lots_of(np.arange(start, start + len(X))), far
        ).thinned()

    def _known_ends(self) -> NDArray[np.float64]:
        """Return the smallest and the largest value of each column that is not missing, NaN where all are."""
        known = np.where(np.isinf(self.columns), np.nan, self.columns)
        return np.array([np.fmin.reduce(known, initial=np.nan), np.fmax.reduce(known, initial=np.nan)])

    def judge(self, look: Look) -> str | None:
        """Return what is to be said of the summarised rows; None if nothing is."""
        said = [self._judge_all(look), say_far(look.far, look.rows), say_unknown(look.unknown, look.rows)]
        sentences = [each for each in said if each is not None]
        return Advice.joined([*sentences[:1], *(each.capitalised() for each in sentences[1:])]) or None

    def _judge_all(self, look: Look) -> Advice | None:
        """Return a sentence on how the rows differ from the trial's; None if no check finds a difference."""
        if not look.rows or len(self.columns) < LEAST_ROWS:
            return None
        level = ALARM_LEVEL / (EXACT_CHECKS * len(self.names))
        outside, gaps, shifted = [], [], []
        columns = zip(self.names, self.columns.T, look.beyond.T, _missing_last(look.sample).T, strict=True)
        for column, (name, trial, counts, sample) in enumerate(columns):
            held, known = int(np.isfinite(trial).sum()), int(look.known[column])
            missing = look.rows - known if held == len(trial) else 0
            rare = min(beyond(int(count), known, held) for count in counts) < level
            absurd = _absurd(trial, look.ends[:, column], known, ABSURD_LEVEL / (2 * len(self.names)))
            gap = beyond(missing, look.rows, len(trial)) < level
            if rare or absurd:
                outside.append(f"{name} ({int(counts.sum())} of {look.rows} rows)")
            if gap:
                gaps.append(f"{name} ({missing} of {look.rows} rows)")
            if not (rare or absurd or gap) and _same_distribution(trial, sample) < level:
                shifted.append(name)
        found = [f"outside the {self.whose}'s range: {examples(outside)}"] * bool(outside)
        found += [f"missing, as never in the {self.whose}: {examples(gaps)}"] * bool(gaps)
        found += [f"distributed differently than in the {self.whose}: {examples(shifted)}"] * bool(shifted)
        if not found:
            return None
        other = "with a target" if self.whose == "trial" else "with another target"
        return Advice.of(
            f"new rows look unlike the {self.whose}'s; {'; '.join(found)}. Every promise is for rows from the "
            f"{self.whose}'s population: do not rely on it for these.",
            f"Ask about rows like the {self.whose}'s, fit {other} (target=, --target), or leave out a column that only "
            "goes on in time, such as a date.",
        )


@dataclass(frozen=True)
class Look:
    """A summary of new rows, of bounded size, that suffices for all checks of `Population`.

    Attributes
    ----------
    rows : int
        Number of rows.
    beyond : (2, columns) array
        Number of values above the trial's largest and below its smallest one, missing ones left out, per column.
    ends : (2, columns) array
        Smallest and largest value, missing ones left out, per column.
    known : (columns,) array
        Number of values that are not missing, per column.
    sample : (at most NEW_ROWS, columns) array
        Random sample: the rows with the smallest random numbers.
    lots : array
        The sample's random numbers, one per row. They depend on a row's position only, so the sample does not depend
        on how the rows are cut into batches, nor on a sorting by their values.
    far, unknown : mapping
        Numbers far beyond every row that the model was fitted on, and categories that it does not know, by column.
    """

    rows: int
    beyond: NDArray[np.float64]
    ends: NDArray[np.float64]
    known: NDArray[np.float64]
    sample: NDArray[np.float64]
    lots: NDArray[np.uint64]
    far: Mapping[str, Strange] = field(default_factory=dict)
    unknown: Mapping[str, Strange] = field(default_factory=dict)

    @classmethod
    def at_nothing(cls, population: Population) -> Look:
        """Return the summary of no rows."""
        none = np.zeros((2, len(population.names)))
        return cls(0, none, np.full_like(none, np.nan), none[0], none[:0], lots_of(np.arange(0)))

    def thinned(self) -> Look:
        """Return the summary with its sample reduced to at most NEW_ROWS rows."""
        if len(self.lots) <= NEW_ROWS:
            return self
        chosen = np.sort(np.argpartition(self.lots, NEW_ROWS)[:NEW_ROWS])
        return replace(self, sample=self.sample[chosen], lots=self.lots[chosen])

    def joined(self, other: Look) -> Look:
        """Return the summary of both batches together."""
        ends = np.fmin(self.ends[0], other.ends[0]), np.fmax(self.ends[1], other.ends[1])
        return Look(
            self.rows + other.rows,
            self.beyond + other.beyond,
            np.array(ends),
            self.known + other.known,
            np.concatenate([self.sample, other.sample]),
            np.concatenate([self.lots, other.lots]),
            both(self.far, other.far),
            both(self.unknown, other.unknown),
        ).thinned()


def lots_of(places: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Return one pseudo-random number per row, which depends on its place only (the mixing of SplitMix64)."""
    lots = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    lots = (lots ^ (lots >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    lots = (lots ^ (lots >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = lots ^ (lots >> np.uint64(31))
    return mixed


def beyond(count: int, new: int, trial: int) -> float:
    """Return the probability that at least ``count`` of the new rows are larger than all trial rows.

    All orders of the rows are equally likely, so it is the probability that the ``count`` largest rows are all new.
    """
    both = new + trial
    chance = gammaln(new + 1) - gammaln(new - count + 1) - gammaln(both + 1) + gammaln(both - count + 1)
    return float(np.exp(chance))


def _missing_last(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with +∞ for missing ones."""
    return np.where(np.isnan(X), np.inf, X)


def _absurd(trial: NDArray[np.float64], ends: NDArray[np.float64], known: int, level: float) -> bool:
    """Return whether the smallest or largest of ``known`` new values is absurd: so far out with probability < level."""
    trial = trial[np.isfinite(trial)]
    if not known or not len(trial):
        return False
    lowest, highest = ends
    return min(farther_out(trial, highest, known), farther_out(-trial[::-1], -lowest, known)) < level


def farther_out(trial: NDArray[np.float64], value: float, new: int) -> float:
    """Return an upper bound on the probability that the largest of ``new`` values is at least as extreme as ``value``.

    The trial's m values must be sorted. The k of them above a threshold u, and a new value above u, are k + 1 draws
    from one distribution; a new value is above u with probability (k+1)/(m+1). Let E = log((x - median)/(u - median))
    for each. Under a power law the E are exponential with one unknown scale, and P(E_new ≥ c·ΣE_trial) = (1 + c)^(-k)
    for every scale. If the hazard of E increases, E is a concave function of such a variable, which brings the largest
    E nearer to the others. Then the probability that the new value is the largest and E_new ≥ c·ΣE_trial is smaller. So
    new·(k+1)/(m+1)·(1 + c)^(-k) is a bound. It is 1 where too few distinct values lie above the median.
    """
    if not value > trial[-1]:
        return 1.0
    median = trial[len(trial) // 2]
    outermost = max(TAIL_VALUES, round(len(trial) ** TAIL_POWER))
    different = np.unique(trial[trial > median])
    if len(different) <= TAIL_VALUES or trial[-outermost - 1] <= median:
        return 1.0
    threshold = min(different[-TAIL_VALUES - 1], trial[-outermost - 1])
    tail = trial[trial > threshold]
    # Halves, because differences of the largest numbers overflow.
    excess = np.log(np.append(tail, value) / 2 - median / 2) - np.log(threshold / 2 - median / 2)
    chance = (1 + excess[-1] / excess[:-1].sum()) ** -len(tail)
    return min(float(new * (len(tail) + 1) / (len(trial) + 1) * chance), 1.0)


def _same_distribution(trial: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the Kolmogorov–Smirnov p-value; the trial's values must be sorted. Ties can only make it larger."""
    new = np.sort(new)
    points = np.concatenate([trial, new])
    shares = [np.searchsorted(values, points, side="right") / len(values) for values in (trial, new)]
    distance = np.abs(shares[0] - shares[1]).max()
    return float(kolmogorov(distance * np.sqrt(len(trial) * len(new) / len(points))))


def farthest_apart(target: NDArray[np.float64], trial: NDArray[np.float64], names: Sequence[str]) -> tuple[str, float]:
    """Return the covariate by whose mean a target differs most from the trial, in the trial's standard deviations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
        apart = (np.nanmean(target, axis=0) - np.nanmean(trial, axis=0)) / np.nanstd(trial, axis=0)
    apart = np.where(np.isfinite(apart), apart, 0.0)
    farthest = int(np.abs(apart).argmax())
    return names[farthest], float(apart[farthest])
