"""Where studies keep what they have drawn, so that they go on where they were stopped."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import confide

if TYPE_CHECKING:
    from collections.abc import Iterable

# Draws by the code that made them.
BUILD = Path(__file__).parents[1] / "build"


def fingerprint(study: Iterable[Path]) -> str:
    """Return a number that changes with the package's code and with these files of a study."""
    code = sha256()
    for path in [*sorted(Path(confide.__file__).parent.rglob("*.py")), *study]:
        code.update(path.read_bytes())
    return code.hexdigest()[:12]
