"""What came of one case: an answer, a refusal, or a defect; and when a refusal is a good one."""

from __future__ import annotations

from dataclasses import dataclass

ANSWERED, REFUSED, DEFECT = "answered", "refused", "defect"
# A message longer than this is no longer read.
LONGEST_MESSAGE = 2000
# What only an error of ours, or of a library that was not asked first, says.
INTERNAL = ("Traceback", "<class ", "object at 0x", "pyarrow.lib.", "NoneType", "array([")


@dataclass(frozen=True)
class Verdict:
    """What came of one case.

    Attributes
    ----------
    family : str
        What kind of case it was.
    outcome : str
        "answered", "refused" or "defect".
    said : str
        What is wrong, or the message of the refusal.
    """

    family: str
    outcome: str
    said: str = ""


def fault_of_message(text: str) -> str | None:
    """Return what is wrong with the message of a refusal; None if it is one clear line."""
    if not text.strip():
        return "a refusal that says nothing"
    if "\n" in text:
        return f"a refusal of several lines: {text[:200]!r}"
    if len(text) > LONGEST_MESSAGE:
        return f"a refusal of {len(text)} characters: {text[:200]!r}"
    found = [mark for mark in INTERNAL if mark in text]
    if found:
        return f"a refusal that speaks of our insides ({found[0]}): {text[:300]!r}"
    return None


def fault_of_error(error: BaseException) -> str | None:
    """Return what is wrong with an error that refuses input; None if it is a ValueError in one clear line."""
    kind = type(error)
    ours = isinstance(error, ValueError) and (kind.__module__ == "builtins" or kind.__module__.startswith("confide"))
    if not ours or isinstance(error, UnicodeError):
        return f"{kind.__module__}.{kind.__qualname__}: {str(error)[:300]}"
    fault = fault_of_message(str(error))
    if fault is None and not str(error).rstrip().endswith((".", "?", ")")):
        return f"a refusal without an end: {str(error)[-200:]!r}"
    return fault
