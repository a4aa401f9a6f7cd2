"""README's picture: the script runs, its numbers are those committed, and README says what they say."""

import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from confide.base.csv_rows import read_rows
from pages import ROOT

pytestmark = pytest.mark.docs

PICTURES = ROOT / "docs" / "pictures"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def draw(folder, *options):
    subprocess.run(
        [sys.executable, "-W", "error", ROOT / "scripts" / "pictures.py", "--folder", folder, *options], check=True
    )


def numbers(rows, names):
    return np.array([[row[name] for name in names] for row in rows])


def test_the_committed_numbers_are_what_the_script_gives(tmp_path):
    """Of one draw: all six take longer than a test may."""
    draw(tmp_path, "--draws", "1")
    found = read_rows(tmp_path / "star.csv")
    kept = [row for row in read_rows(PICTURES / "star.csv") if row["draw"] == 0]
    assert [(row["way"], row["treatment"]) for row in found] == [(row["way"], row["treatment"]) for row in kept]
    names = ("n", "coverage", "width", "infinite")
    np.testing.assert_allclose(numbers(found, names), numbers(kept, names), rtol=1e-3)
    assert (tmp_path / "star.png").read_bytes().startswith(b"\x89PNG")


def test_the_pupils_are_those_of_the_coverage():
    """The CSV of single pupils has the coverage and the width that the other CSV says of their draw."""
    coverages, pupils = (read_rows(PICTURES / name) for name in ("star.csv", "star-pupils.csv"))
    (draw_,) = {row["draw"] for row in pupils}
    for way in dict.fromkeys(row["way"] for row in pupils):
        score, lower, upper = numbers([row for row in pupils if row["way"] == way], ("score", "lower", "upper")).T
        (said,) = [row for row in coverages if (row["draw"], row["way"], row["treatment"]) == (draw_, way, 0)]
        assert len(score) == said["n"]
        assert np.mean((lower <= score) & (score <= upper)) == pytest.approx(said["coverage"], abs=1e-4)
        assert np.mean(upper - lower) == pytest.approx(said["width"], abs=1e-3)


def test_the_committed_picture_is_drawn_from_the_committed_numbers(tmp_path):
    for name in ("star.csv", "star-pupils.csv"):
        (tmp_path / name).write_bytes((PICTURES / name).read_bytes())
    draw(tmp_path, "--draw-only")
    old, new = (
        np.asarray(Image.open(folder / "star.png").convert("L"), dtype=float) for folder in (PICTURES, tmp_path)
    )
    assert old.shape == new.shape
    assert np.mean(np.abs(old - new)) < 2  # of 255: another version of matplotlib may move a letter, not a bar


def test_the_picture_is_small_and_opaque():
    path = PICTURES / "star.png"
    assert path.stat().st_size < 150_000
    picture = Image.open(path).convert("RGBA")
    assert np.asarray(picture)[..., 3].min() == 255


def test_readme_describes_the_picture_as_it_is():
    alt = re.search(r"!\[(.*?)\]\(docs/pictures/star\.png\)", README)[1]
    pupils = read_rows(PICTURES / "star-pupils.csv")
    outside = {
        way: sum(not row["lower"] <= row["score"] <= row["upper"] for row in pupils if row["way"] == way)
        for way in ("observational alone", "confide, with both")
    }
    assert f"{len(pupils) // 2} pupils" in alt
    assert f"alone {outside['observational alone']} scores lie outside" in alt
    assert f"together {outside['confide, with both']} do" in alt
    means = {}
    for row in read_rows(PICTURES / "star.csv"):
        means.setdefault((row["way"], row["treatment"]), []).append(row["coverage"])
    means = {key: np.mean(values) for key, values in means.items()}
    blind = [round(100 * means["observational alone", arm]) for arm in (0, 1)]
    assert f"alone cover {blind[0]} and {blind[1]} %" in alt
    others = [mean for (way, _), mean in means.items() if way != "observational alone"]
    assert all(round(100 * mean) in (90, 91) for mean in others)
