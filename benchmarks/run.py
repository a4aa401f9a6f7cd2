"""Run the benchmarks named on the command line, or all of them: `make bench`. Status 1 if a bound does not hold."""

from __future__ import annotations

import sys

import kernel_ratio
import paper_methods
import permutation
import persistence
import quantile
import recommend
import refits
import split_wtcp
import stream
from timing import failures

BENCHMARKS = {
    "quantile": quantile.main,
    "split_wtcp": split_wtcp.main,
    "refits": refits.main,
    "permutation": permutation.main,
    "persistence": persistence.main,
    "stream": stream.main,
    "kernel_ratio": kernel_ratio.main,
    "recommend": recommend.main,
    "paper_methods": paper_methods.main,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n# {name}", flush=True)
        BENCHMARKS[name]()
    sys.exit(f"\nbounds that do not hold: {'; '.join(failures)}" if failures else 0)
