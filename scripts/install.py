"""Install pinned requirements into an environment, and say how far it is: pip alone is silent or very long.

It needs nothing but the standard library, since it runs before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

# Seconds between two lines where the output is no terminal.
EVERY = 10


def main() -> None:
    """Install the requirements (second argument) for an interpreter (first argument)."""
    python, requirements = sys.argv[1:]
    lines = Path(requirements).read_text(encoding="utf-8").splitlines()
    total = sum("==" in line for line in lines)
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    command = [*pip, "install", "--progress-bar", "off", "--requirement", requirements]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        said = told(process, total)
    if process.returncode:
        sys.exit("".join(said))


def told(process: subprocess.Popen[str], total: int) -> list[str]:
    """Return what pip says, while telling how many packages it has come to."""
    said: list[str] = []
    found, last, copying = 0, time.monotonic(), ""
    live = sys.stdout.isatty()
    for line in process.stdout or ():
        said.append(line)
        found += line.startswith(("Collecting ", "Processing "))
        if line.startswith("Installing collected packages"):
            copying, last = "; copying them into place, the longest step", 0.0
        text = f"  packages: {total if copying else min(found, total)} of {total}{copying}"
        if live:
            print(f"\r{text:<75}", end="", flush=True)
        elif time.monotonic() - last > EVERY:
            last = time.monotonic()
            print(text, flush=True)
    if live:
        print()
    return said


if __name__ == "__main__":
    main()
