import numpy as np
import pytest

from confide.datasets import load_yahoo_r3, yahoo_r3

TRAIN, TEST = yahoo_r3.FILES


def write(path, ratings):
    path.write_text("".join(f"{user}\t{song}\t{rating}\n" for user, song, rating in ratings), encoding="ascii")


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Files of the original's form: 9 users, 4 of them surveyed; one random pair is also self-selected."""
    selected = [(user, song, (user + song) % 5 + 1) for user in range(1, 10) for song in (user, user + 1, 20)]
    random = [(user, song, (user * song) % 5 + 1) for user in range(1, 5) for song in (10 + user, 16, 17)]
    random[0] = (1, 20, 2)
    for name, value in {"USERS": 9, "SURVEYED": 4, "ITEMS": 20, "SELECTED": 12, "RANDOM": 12}.items():
        monkeypatch.setattr(yahoo_r3, name, value)
    write(tmp_path / TRAIN, selected)
    write(tmp_path / TEST, random)
    return tmp_path


def test_the_defaults_are_the_published_numbers():
    assert (yahoo_r3.SELECTED, yahoo_r3.RANDOM, yahoo_r3.SURVEYED) == (129_179, 54_000, 5_400)


def test_surveyed_users_are_kept_and_the_random_part_is_split(small):
    data = load_yahoo_r3(small, trial_size=5)
    assert (data.treatment, data.outcome) == (None, "rating")
    assert [len(part) for part in (data.observational, data.trial, data.test)] == [12, 5, 6]
    for part in (data.observational, data.trial, data.test):
        assert part.column_names == ["user", "item", "rating"]
        assert set(part["user"].to_pylist()) <= {1, 2, 3, 4}
    assert data.observational.slice(0, 1).to_pylist() == [{"user": 1, "item": 1, "rating": 3}]
    assert data.notes[0].startswith("1 of 12 randomly assigned (user, item) pairs are also self-selected: they were d")
    assert len(load_yahoo_r3(small, drop_duplicates=False, trial_size=5).test) == 7
    again, other = load_yahoo_r3(small, trial_size=5), load_yahoo_r3(small, trial_size=5, random_state=1)
    assert data.trial.equals(again.trial)
    assert not data.trial.equals(other.trial)


def test_files_that_are_not_there(small):
    with pytest.raises(FileNotFoundError, match="is not a directory"):
        load_yahoo_r3(small / "nowhere")
    (small / TRAIN).unlink()
    with pytest.raises(FileNotFoundError, match=r"train.txt is not there"):
        load_yahoo_r3(small)


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (3, "2\t12\t6", r"test.txt, line 4: the rating must be 1 to 5, got 6. The file is damaged"),
        (3, "2\t12\t0", "line 4: the rating must be 1 to 5, got 0"),
        (3, "2\t21\t3", "line 4: the song must be 1 to 20, got 21"),
        (3, "2\t0\t3", "line 4: the song must be 1 to 20, got 0"),
        (3, "7\t12\t3", r"test.txt, line 4: the user must be 1 to 4, got 7. Are the two files swapped\?"),
        (3, "2\t12", "line 4: expected 3 numbers, got 2"),
        (3, "2 12 3", "line 4: expected 3 numbers, got 1"),
        (3, "", "line 4: expected 3 numbers, got 1"),
        (3, "2\tx\t3", "line 4: expected a whole number, got 'x'"),
        (3, "2\t12\t3.5", r"line 4: expected a whole number, got '3.5'"),
        (3, "1\t16\t3", "line 4: user 1 rated song 16 in line 2 already"),
    ],
)
def test_damaged_files_are_named_with_line_value_and_remedy(small, line, text, message):
    lines = (small / TEST).read_text(encoding="ascii").splitlines()
    lines[line] = text
    (small / TEST).write_text("\n".join(lines), encoding="ascii")
    with pytest.raises(ValueError, match=message):
        load_yahoo_r3(small)


@pytest.mark.parametrize("name", [TRAIN, TEST])
def test_truncated_files(small, name):
    lines = (small / name).read_text(encoding="ascii").splitlines()
    (small / name).write_text("\n".join(lines[:7]), encoding="ascii")
    with pytest.raises(ValueError, match=rf"{name}: expected 12 ratings by users 1 to 4, got 7. Are the two"):
        load_yahoo_r3(small)


def test_the_order_of_lines_changes_nothing(small):
    before = load_yahoo_r3(small, trial_size=2, random_state=0)
    for name in (TRAIN, TEST):
        lines = (small / name).read_text(encoding="ascii").splitlines()
        (small / name).write_text("\n".join(lines[::-1]) + "\n", encoding="ascii")
    after = load_yahoo_r3(small, trial_size=2, random_state=0)
    assert (after.observational, after.trial, after.test) == (before.observational, before.trial, before.test)


def test_swapped_files(small, monkeypatch):
    monkeypatch.setattr(yahoo_r3, "SELECTED", 13)
    train, test = (small / name for name in (TRAIN, TEST))
    texts = train.read_text(encoding="ascii"), test.read_text(encoding="ascii")
    train.write_text(texts[1], encoding="ascii")
    test.write_text(texts[0], encoding="ascii")
    with pytest.raises(
        ValueError, match=r"train.txt: expected 13 ratings by users 1 to 4, got 12. Are the two files s"
    ):
        load_yahoo_r3(small)


@pytest.mark.slow
def test_a_file_of_the_original_size_is_read(tmp_path):
    """All 311,704 and 54,000 lines: numbers of rows as published, contents made up."""
    rng = np.random.default_rng(0)

    def ratings(users, count):
        pairs = rng.permutation(len(users) * 1000)[:count]
        return np.column_stack([users[pairs // 1000], pairs % 1000 + 1, rng.integers(1, 6, count)])

    selected = np.concatenate(
        [ratings(np.arange(1, 5_401), 129_179), ratings(np.arange(5_401, 15_401), 311_704 - 129_179)]
    )
    np.savetxt(tmp_path / TRAIN, rng.permutation(selected), fmt="%d", delimiter="\t")
    np.savetxt(tmp_path / TEST, ratings(np.arange(1, 5_401), 54_000), fmt="%d", delimiter="\t")
    data = load_yahoo_r3(tmp_path, drop_duplicates=False)
    assert [len(part) for part in (data.observational, data.trial, data.test)] == [129_179, 21_600, 32_400]
