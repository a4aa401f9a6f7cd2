"""The entry of the command line: a Ctrl-C while its parts are imported is one line too."""

from __future__ import annotations

import os
import signal
import warnings
from typing import Any

INTERRUPTED = 130
# Where no semaphore can be made, for lack of room, importing joblib warns that it works without other processes.
SERIAL = ".*joblib will operate in serial mode"


def main() -> None:
    """Import the commands and run the one that is asked for."""
    signal.signal(signal.SIGINT, leave)
    warnings.filterwarnings("ignore", SERIAL, UserWarning)
    from confide.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def leave(*_: Any) -> None:
    """On Ctrl-C, say so, and end at once: nothing has been read or written yet."""
    os.write(2, b"confide: interrupted.\n")
    os._exit(INTERRUPTED)
