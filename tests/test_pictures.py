"""README's picture: the script runs, its numbers are those committed, and README says what they say."""

import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from confide.base.csv_rows import read_rows
from confide.datasets.examples import EXAMPLES
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
    """Of one draw of each: all take longer than a test may."""
    draw(tmp_path, "--draws", "1")
    found = read_rows(tmp_path / "demo.csv")
    kept = [row for row in read_rows(PICTURES / "demo.csv") if row["draw"] == 0]
    said = ("data", "way", "treatment")
    assert [[row[name] for name in said] for row in found] == [[row[name] for name in said] for row in kept]
    names = ("n", "coverage", "width", "infinite")
    np.testing.assert_allclose(numbers(found, names), numbers(kept, names), rtol=1e-3)
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("data", EXAMPLES)
def test_the_people_are_those_of_the_coverage(data):
    """The CSV of single people has the coverage and the width that the other CSV says of their draw."""
    coverages, people = (
        [row for row in read_rows(PICTURES / name) if row["data"] == data] for name in ("demo.csv", "demo-people.csv")
    )
    (draw_,) = {row["draw"] for row in people}
    for way in dict.fromkeys(row["way"] for row in people):
        score, lower, upper = numbers([row for row in people if row["way"] == way], ("outcome", "lower", "upper")).T
        (said,) = [row for row in coverages if (row["draw"], row["way"], row["treatment"]) == (draw_, way, 0)]
        assert len(score) == said["n"]
        assert np.mean((lower <= score) & (score <= upper)) == pytest.approx(said["coverage"], abs=1e-4)
        assert np.mean(upper - lower) == pytest.approx(said["width"], abs=1e-3)


def test_the_committed_picture_is_drawn_from_the_committed_numbers(tmp_path):
    for name in ("demo.csv", "demo-people.csv"):
        (tmp_path / name).write_bytes((PICTURES / name).read_bytes())
    draw(tmp_path, "--draw-only")
    old, new = (
        np.asarray(Image.open(folder / "demo.png").convert("L"), dtype=float) for folder in (PICTURES, tmp_path)
    )
    assert old.shape == new.shape
    assert np.mean(np.abs(old - new)) < 2  # of 255: another version of matplotlib may move a letter, not a bar


def test_the_picture_is_small_and_opaque():
    path = PICTURES / "demo.png"
    assert path.stat().st_size < 250_000
    picture = Image.open(path).convert("RGBA")
    assert np.asarray(picture)[..., 3].min() == 255


def test_readme_describes_the_picture_as_it_is():
    alt = re.search(r"!\[(.*?)\]\(docs/pictures/demo\.png\)", README)[1]
    rows, means = read_rows(PICTURES / "demo-people.csv"), {}
    outside = {
        (data, way): sum(not each["lower"] <= each["outcome"] <= each["upper"] for each in mine)
        for data, way in dict.fromkeys((row["data"], row["way"]) for row in rows)
        if (mine := [row for row in rows if (row["data"], row["way"]) == (data, way)])
    }
    for data, people in (("training", "people"), ("star", "pupils")):
        assert f"{sum(row['data'] == data for row in rows) // 2} {people}" in alt
    assert f"By ridge on the trial alone {outside['training', 'trial alone, ridge']} scores lie outside" in alt
    assert f"with both tables {outside['training', 'confide, with both']} do" in alt
    assert f"From observational data alone {outside['star', 'observational alone']} scores lie outside" in alt
    assert f"with both {outside['star', 'confide, with both']} do" in alt
    for row in read_rows(PICTURES / "demo.csv"):
        means.setdefault((row["data"], row["way"]), {}).setdefault(row["treatment"], []).append(
            (row["coverage"], row["width"])
        )
    means = {key: np.mean([np.mean(each, axis=0) for each in arms.values()], axis=0) for key, arms in means.items()}
    narrower = 1 - means["training", "confide, with both"][1] / means["training", "trial alone, ridge"][1]
    assert f"{100 * narrower:.0f} % narrower" in alt
    share = means["star", "observational alone"][0]
    assert f"alone cover {100 * share:.0f} %" in alt
    for way in ("observational alone", "trial alone, ridge", "trial alone, half fits", "confide, with both"):
        assert f"{100 * means['training', way][0]:.0f} % at {means['training', way][1]:.1f} points" in README
    others = [mean[0] for (data, way), mean in means.items() if data == "star" and way != "observational alone"]
    assert all(round(100 * mean) in (90, 91) for mean in others)
