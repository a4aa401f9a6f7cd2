"""MatrixFactorization against scikit-surprise's SVD: the same ratings, 64 factors each.

The peer is run with its defaults, and with the best of twelve settings (four penalties, three numbers of passes) by the
very ratings that are held out here.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from surprise import SVD, Dataset, Reader

from confide.datasets import simulate_ratings
from confide.recommend import MatrixFactorization
from timing import require, seconds, tell

ROWS, HELD_OUT = 130_000, 15_000
STARS = (1, 5)
PEERS = {"scikit-surprise": {}, "scikit-surprise, tuned": {"reg_all": 0.15, "n_epochs": 80}}


def split(table):
    return np.column_stack([table["user"], table["item"]]), table["rating"].to_numpy().astype(float)


def main():
    data = simulate_ratings(n_observational=ROWS + HELD_OUT)
    X, y = split(data.observational)
    held_out, fit = np.split(np.random.default_rng(0).permutation(len(y)), [HELD_OUT])
    new = {"held-out self-selected": (X[held_out], y[held_out]), "random": split(data.test)}
    X, y = X[fit], y[fit]

    def errors(predict):
        """Return the root mean squared error on each part; all predictions are cut to the scale, as surprise does."""
        return {
            name: np.sqrt(np.mean((np.clip(predict(pairs), *STARS) - truth) ** 2))
            for name, (pairs, truth) in new.items()
        }

    frame = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
    trainset = Dataset.load_from_df(frame, Reader(rating_scale=STARS)).build_full_trainset()
    peers = {name: SVD(n_factors=64, random_state=0, **params) for name, params in PEERS.items()}
    theirs = {name: seconds(lambda peer=peer: peer.fit(trainset)) for name, peer in peers.items()}

    chosen = MatrixFactorization(random_state=0)
    choosing = seconds(lambda: chosen.fit(X, y), runs=1)
    given = MatrixFactorization(
        regularisation=chosen.regularisation_, bias_regularisation=chosen.bias_regularisation_, random_state=0
    )
    ours = seconds(lambda: given.fit(X, y))
    biases = MatrixFactorization(regularisation=np.inf, random_state=0).fit(X, y)

    require(f"{ROWS:,} ratings, 64 dimensions, a given penalty", ours, 20, "s")
    tell("  penalty chosen by held-out ratings", choosing / ours, "times that")
    for name, took in theirs.items():
        tell(f"  {name}", took / ours, "times that")
    found = {
        "matrix factorisation": errors(chosen.predict),
        **{
            name: errors(lambda pairs, peer=peer: [each.est for each in peer.test([(*pair, 0.0) for pair in pairs])])
            for name, peer in peers.items()
        },
        "biases alone": errors(biases.predict),
        "the mean": errors(lambda pairs: np.full(len(pairs), y.mean())),
    }
    for part in new:
        for name, each in found.items():
            tell(f"{part} ratings, {name}", each[part], "root mean squared error")
        ratio = found["matrix factorisation"][part] / min(found[name][part] for name in peers)
        require("  matrix factorisation to the better of scikit-surprise's", ratio, 1, "")
