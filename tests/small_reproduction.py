"""Sizes at which every table takes seconds, and files of ratings that take none."""

import hashlib

import numpy as np

from confide.datasets import coat, yahoo_r3
from confide.paper import Settings

SMALL = Settings(
    n=160,
    m=44,
    n_test=30,
    n_refit=2,
    refits_per_part=1,
    dimensions=(1, 2),
    trial_sizes=(4, 44),
    oracle_rows=16,
    factors=2,
    coat=(20, 20),
    coat_random=100,
    coat_shares=(0.1, 0.2),
    yahoo=(40, 40),
    users=20,
    items=30,
    draws=2,
    cases=2,
)


def write_coat(folder, monkeypatch, users=24, items=30):
    """Write ratings in Coat's form, and let these files be the originals; one pair stands in both."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (users, items))
    chosen = rng.uniform(size=(users, items)) < np.where(ratings > 3, 0.5, 0.2)
    random = (rng.uniform(size=(users, items)) < 0.3) & ~chosen
    random[0, 0] = chosen[0, 0] = True
    sums = {}
    for name, mask in (("train.ascii", chosen), ("test.ascii", random)):
        lines = [" ".join(map(str, line)) for line in np.where(mask, ratings, 0)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="ascii")
        sums[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    monkeypatch.setattr(coat, "FILES", sums)
    monkeypatch.setattr(coat, "USERS", users)
    monkeypatch.setattr(coat, "ITEMS", items)
    return folder


def write_yahoo(folder, monkeypatch, users=20, items=30):
    """Write ratings in Yahoo's form, and let their numbers be the original's."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (users, items))
    kinds = rng.choice(3, (users, items), p=[0.4, 0.4, 0.2])
    for name, kind in zip(yahoo_r3.FILES, (1, 2), strict=True):
        lines = [f"{user + 1}\t{item + 1}\t{ratings[user, item]}" for user, item in np.argwhere(kinds == kind)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    sizes = {"USERS": users, "SURVEYED": users, "ITEMS": items}
    for name, size in {**sizes, "SELECTED": (kinds == 1).sum(), "RANDOM": (kinds == 2).sum()}.items():
        monkeypatch.setattr(yahoo_r3, name, size)
    return folder
