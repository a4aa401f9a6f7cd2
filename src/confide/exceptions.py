"""The errors and warnings of confide: catch them by class, not by text."""

__all__ = ["ClusterError", "InfiniteIntervalWarning", "PopulationWarning", "RefusalError", "TrialAloneWarning"]


class RefusalError(ValueError):
    """A method cannot be fitted on these rows: they are valid, and lack what this method needs.

    The message says what is missing, and the remedy. Other methods may accept the same rows.
    """


class NoAttributeError(RefusalError, AttributeError):
    """A fitted model does not have this attribute, for the reason in the message; notebooks pass over it."""


class ClusterError(OSError):
    """A cluster does not answer, has lost its workers or its scheduler, or took longer than it was given."""


class InfiniteIntervalWarning(UserWarning):
    """Intervals are infinite because there are too few calibration rows. The message gives the remedy."""


class TrialAloneWarning(UserWarning):
    """A method that uses both tables found no observational rows of a treatment, and calibrates on the trial alone."""


class PopulationWarning(UserWarning):
    """New rows look unlike the trial's (covariate shift); the promises are for the trial's population.

    The message names the columns. It also tells, as a fact and not as a test, of numbers far beyond every row that the
    model was fitted on, and of categories that it does not know, in columns where every known one is told apart (at
    most 50 of them): of rows of files however few hold one, in Python from a twentieth of the rows on.

    The false alarm rate of the tests, on rows from the trial's population, is at most 6 calls in a
    thousand, for any number of rows and columns. 1 of these 6 is for distribution-free tests. 5 are for single absurd
    rows, under the assumption that a column's tails are those of a power law or lighter, and do not become heavier
    farther out. docs/population.md states it exactly, with the rates measured for many kinds of columns, and shows how
    extreme an absurd row must be to be detected.
    """
