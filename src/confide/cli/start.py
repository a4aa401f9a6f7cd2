"""The entry of the command line: a Ctrl-C while its parts are imported is one line too."""

from __future__ import annotations

import os
import signal
from typing import Any

INTERRUPTED = 130


def main() -> None:
    """Import the commands and run the one that is asked for."""
    signal.signal(signal.SIGINT, leave)
    from confide.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def leave(*_: Any) -> None:
    """On Ctrl-C, say so, and end at once: nothing has been read or written yet."""
    os.write(2, b"confide: interrupted.\n")
    os._exit(INTERRUPTED)
