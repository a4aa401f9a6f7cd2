import hashlib
import os

import numpy as np
import pytest

from confide.datasets import coat, load_coat

SHAPE = (6, 8)


def counts(table):
    return len(table), len({*zip(table["user"].to_pylist(), table["item"].to_pylist(), strict=True)})


def lines(matrix):
    return [" ".join(f"{value:8d}" for value in row) for row in matrix]


def write(directory, monkeypatch, **files):
    """Write both files, and let these be the originals."""
    for name, text in files.items():
        (directory / f"{name}.ascii").write_bytes("".join(f"{line}\r\n" for line in text).encode())
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}
    monkeypatch.setattr(coat, "FILES", {name: sums[name] for name in ("train.ascii", "test.ascii")})


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Files of the original's form: 6 people, 8 coats, 2 of 12 random pairs also self-selected."""
    train, test = np.zeros(SHAPE, dtype=int), np.zeros(SHAPE, dtype=int)
    for user in range(6):
        train[user, [user, (user + 1) % 8, (user + 2) % 8]] = [1, 5, user % 5 + 1]
        test[user, [(user + 4) % 8, (user + 5) % 8]] = [2, 3]
    test[0, 4], test[3, 7] = 0, 0
    test[0, 0], test[3, 4] = train[0, 0], train[3, 4]
    monkeypatch.setattr(coat, "USERS", SHAPE[0])
    monkeypatch.setattr(coat, "ITEMS", SHAPE[1])
    write(tmp_path, monkeypatch, train=lines(train), test=lines(test))
    return tmp_path


def test_parts_columns_and_the_pairs_that_stand_in_both_files(small):
    data = load_coat(small, trial_size=4)
    assert (data.treatment, data.outcome) == (None, "rating")
    for part, size in ((data.observational, 18), (data.trial, 4), (data.test, 6)):
        assert part.column_names == ["user", "item", "rating"]
        assert counts(part) == (size, size)
    assert data.notes == (
        "2 of 12 randomly assigned (user, item) pairs are also self-selected: they were dropped from the random part.",
    )
    assert data.observational.slice(0, 3).to_pylist() == [
        {"user": 0, "item": 0, "rating": 1},
        {"user": 0, "item": 1, "rating": 5},
        {"user": 0, "item": 2, "rating": 1},
    ]
    kept = load_coat(str(small), drop_duplicates=False, trial_size=4)
    assert len(kept.test) == 8
    assert kept.notes[0].endswith("they stand in both parts.")


def test_the_seed_decides_the_split(small):
    one, again = (load_coat(small, trial_size=4) for _ in range(2))
    assert one.trial.equals(again.trial)
    others = [load_coat(small, trial_size=4, random_state=seed).trial for seed in range(1, 4)]
    assert not all(one.trial.equals(other) for other in others)


@pytest.mark.parametrize("size", [0, 10, 2.5, True])
def test_bad_sizes_are_named(small, size):
    with pytest.raises(ValueError, match=f"trial_size must be a whole number from 1 to 9, got {size!r}"):
        load_coat(small, trial_size=size)


def test_files_that_are_not_there(small):
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a directory. Give the one that holds train.ascii and"):
        load_coat(small / "nowhere")
    with pytest.raises(FileNotFoundError, match="is not a directory"):
        load_coat(small / "test.ascii")
    (small / "test.ascii").unlink()
    with pytest.raises(FileNotFoundError, match=r"test.ascii is not there. Give the directory"):
        load_coat(small)


def altered(path, change):
    text = path.read_text(encoding="ascii").splitlines()
    change(text)
    path.write_text("".join(f"{line}\n" for line in text), encoding="ascii")


def replace(line, old, new):
    return lambda text: text.__setitem__(line, text[line].replace(old, new, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.pop(), r"test.ascii: expected 6 lines, one per person, got 5. The file is damaged"),
        (lambda text: text.clear(), "expected 6 lines, one per person, got 0"),
        (lambda text: text.__setitem__(5, text[5][:40]), r"test.ascii, line 6: expected 8 numbers, got 4"),
        (replace(2, "3", "9"), r"test.ascii, line 3: the rating must be 0 to 5, got 9. The file is damaged"),
        (replace(2, "3", "-1"), r"test.ascii, line 3: the rating must be 0 to 5, got -1"),
        (replace(3, "0", "x"), r"test.ascii, line 4: expected a whole number, got 'x'"),
        (replace(3, "0", "2.5"), r"line 4: expected a whole number, got '2.5'"),
        (replace(3, "0", "9" * 30), r"line 4: expected a whole number, got '9+'"),
        (lambda text: text.reverse(), r"test.ascii: the sha256 checksum must be [0-9a-f]{64}, got [0-9a-f]{64}. The f"),
    ],
)
def test_damaged_files_are_named_with_line_value_and_remedy(small, change, message):
    altered(small / "test.ascii", change)
    with pytest.raises(ValueError, match=message):
        load_coat(small)


def test_swapped_files(small):
    train, test = small / "train.ascii", small / "test.ascii"
    texts = train.read_bytes(), test.read_bytes()
    train.write_bytes(texts[1])
    test.write_bytes(texts[0])
    with pytest.raises(ValueError, match=r"train.ascii: .* It is the original test.ascii: the files are swapped"):
        load_coat(small)


@pytest.mark.skipif("CONFIDE_COAT" not in os.environ, reason="CONFIDE_COAT names no directory with the original files")
def test_the_original_files():
    data = load_coat(os.environ["CONFIDE_COAT"])
    assert (len(data.observational), len(data.trial), len(data.test)) == (6960, 1856, 2418)
    assert data.notes[0].startswith("366 of 4,640 randomly assigned")
    assert set(np.bincount(data.observational["user"].to_numpy()).tolist()) == {24}
    assert set(data.trial["rating"].to_pylist()) == {1, 2, 3, 4, 5}
    assert len(load_coat(os.environ["CONFIDE_COAT"], drop_duplicates=False).test) == 2784
