"""KernelRatio against densratio: the same kernels, centres, bandwidths and penalties to choose from."""

from __future__ import annotations

import numpy as np
from densratio import densratio

from confide.ratio import KernelRatio
from timing import require, seconds, tell

GRID = 10.0 ** np.linspace(-3, 1, 9)


def main():
    for (m, n, columns), factor in (((928, 5568, 65), 10), ((125, 5000, 2), None)):
        rng = np.random.default_rng(0)
        trial = rng.standard_normal((m, columns))
        observational = rng.standard_normal((n, columns)) + 0.2
        for method, beta in (("uLSIF", 0.0), ("RuLSIF", 0.1)):

            def peer(method=method, beta=beta, trial=trial, observational=observational):
                np.random.seed(0)  # noqa: NPY002  densratio draws its centres from the global state
                return densratio(
                    trial, observational, method=method, alpha=beta, sigma_range=GRID, lambda_range=GRID, verbose=False
                )

            theirs = peer()
            centers = np.asarray(theirs.kernel_info.centers)

            def ours(beta=beta, trial=trial, observational=observational, centers=centers):
                ratio = KernelRatio(beta, sigma=GRID, penalty=GRID, centers=centers, raw=True)
                return ratio.fit(trial, observational)

            mine = ours()
            fixed = KernelRatio(beta, sigma=theirs.kernel_info.sigma, penalty=theirs.lambda_, centers=centers, raw=True)
            difference = np.abs(
                fixed.fit(trial, observational).predict(observational)
                - np.asarray(theirs.compute_density_ratio(observational)).ravel()
            ).max()
            print(
                f"chosen σ, λ = {mine.sigma_:.3g}, {mine.penalty_:.3g}; densratio {theirs.kernel_info.sigma:.3g}, "
                f"{theirs.lambda_:.3g}"
            )
            fast, slow = seconds(ours), seconds(peer)
            tell(f"{method}, {trial.shape} against {observational.shape}", fast, "s")
            if factor is None:
                tell("  densratio", slow / fast, "times that")
            else:
                require("  densratio", slow / fast, factor, "times that", at_least=True)
            tell("  at densratio's σ and λ the ratios differ by at most", difference, "")
