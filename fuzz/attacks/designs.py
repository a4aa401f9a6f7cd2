"""An attack on the statistical promises, by somebody who did not write the code: designs that nobody tested together.

Most cases exchange each row that calibrates with the new one (`fuzz.designs.exchange`). Others hold two formulations of
one question against each other, or count in rational numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.designs import averages, effects, ranks, sides, spoiled, whom

if TYPE_CHECKING:
    from collections.abc import Callable

CASES: dict[str, Callable[[], str]] = {
    name: check for part in (spoiled, sides, whom, effects, averages, ranks) for name, check in part.CASES.items()
}
