"""Sentences of advice: what is so, for every reader, and what could be done about it, for who fits the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class Advice(str):
    """Advice as text, which keeps its parts: what is so, and the remedy, which may name parameters and options."""

    __slots__ = ("remedy", "says")

    says: str
    remedy: str

    @classmethod
    def of(cls, says: str, remedy: str = "", text: str | None = None) -> Self:
        """Return the advice that says this, and has this remedy; ``text`` is both in words of their own."""
        return cls._made(f"{says} {remedy}".rstrip() if text is None else text, says, remedy)

    @classmethod
    def joined(cls, texts: Iterable[str]) -> Self:
        """Return sentences of advice as one; text that is no advice has no remedy."""
        parts = list(texts)
        remedies = filter(None, map(remedy_of, parts))
        return cls._made(" ".join(parts), " ".join(map(says_of, parts)), " ".join(remedies))

    def after(self, opening: str) -> Self:
        """Return the advice with an opening before it."""
        return self._made(f"{opening}{self}", f"{opening}{self.says}", self.remedy)

    def capitalised(self) -> Self:
        """Return the advice with a capital at its start."""
        text, says = (f"{each[:1].upper()}{each[1:]}" for each in (self, self.says))
        return self._made(text, says, self.remedy)

    @classmethod
    def _made(cls, text: str, says: str, remedy: str) -> Self:
        made = cls(text)
        made.says, made.remedy = says, remedy
        return made


def says_of(text: str) -> str:
    """Return what advice says, without its remedy; all of any other text."""
    return text.says if isinstance(text, Advice) else text


def remedy_of(text: str) -> str:
    """Return the remedy of advice; empty for any other text."""
    return text.remedy if isinstance(text, Advice) else ""
