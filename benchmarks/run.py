"""Run the benchmarks named on the command line, or all of them: `make bench`."""

from __future__ import annotations

import sys

import quantile
import split_wtcp

BENCHMARKS = {"quantile": quantile.main, "split_wtcp": split_wtcp.main}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n# {name}")
        BENCHMARKS[name]()
