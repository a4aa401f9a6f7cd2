"""README's picture: the script runs, its numbers are those committed, and README says what they say."""

import importlib
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from confide.base.csv_rows import read_rows
from pages import ROOT

pytestmark = pytest.mark.docs

DOCS = ROOT / "docs"
ROWS = read_rows(DOCS / "pictures" / "demo.csv")
PAGES = [(ROOT / "README.md").read_text(encoding="utf-8"), (DOCS / "index.md").read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("pictures")


def draw(docs, *options):
    command = [sys.executable, "-W", "error", ROOT / "scripts" / "pictures.py", "--docs", docs, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_the_committed_numbers_are_what_the_script_gives(script):
    """Of one draw of one seed: all take longer than a test may."""
    found = script.measure("training", 1, 1)
    kept = [row for row in ROWS if (row["data"], row["seed"], row["draw"]) == ("training", 1, 0)]
    said = ("way", "treatment")
    assert [[row[name] for name in said] for row in found] == [[row[name] for name in said] for row in kept]
    for name in script.NUMBERS:
        np.testing.assert_allclose([row[name] for row in found], [row[name] for row in kept], rtol=1e-3)


def test_the_picture_and_the_page_are_made_of_the_committed_numbers(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "demo.csv").write_bytes((DOCS / "pictures" / "demo.csv").read_bytes())
    draw(tmp_path, "--draw-only")
    assert (tmp_path / "picture.md").read_text(encoding="utf-8") == (DOCS / "picture.md").read_text(encoding="utf-8")
    old, new = (
        np.asarray(Image.open(folder / "pictures" / "demo.png").convert("L"), dtype=float)
        for folder in (DOCS, tmp_path)
    )
    assert old.shape == new.shape
    assert np.mean(np.abs(old - new)) < 2  # of 255: another version of matplotlib may move a letter, not a bar


def test_the_gain_of_other_seeds_is_within_the_stated_noise(script):
    assert script.seeds_of(ROWS) == list(script.SEEDS)
    assert script.too_far(ROWS) == []
    wider = [
        {**row, "width": 3 * row["width"]} if (row["seed"], row["way"]) == (2, script.BOTH) else row for row in ROWS
    ]
    assert script.too_far(wider) == [2]


def test_the_picture_is_small_and_opaque():
    path = DOCS / "pictures" / "demo.png"
    assert path.stat().st_size < 250_000
    picture = Image.open(path).convert("RGBA")
    assert np.asarray(picture)[..., 3].min() == 255


@pytest.mark.parametrize("page", PAGES, ids=["README", "index"])
def test_the_caption_says_what_the_numbers_say(page, script):
    mine = [row for row in ROWS if row["seed"] == 0]

    def mean(number, data, way):
        return script.mean_of(mine, number, data=data, way=way)

    gain, noise = script.gain_of(ROWS, seed=0), script.noise_of(ROWS)
    assert f"{100 * gain:.0f} % narrower (± {100 * noise:.0f}, two standard errors)" in page
    widths = [f"{mean('width', 'training', way):.1f}" for way in (script.BOTH, script.ALONE)]
    assert f"{widths[0]} points wide instead of {widths[1]}" in page
    assert f"holds for {100 * mean('coverage', 'training', script.BOTH):.1f} % of people" in page
    assert f"and for {100 * mean('coverage', 'star', script.BOTH):.1f} % of pupils" in page
    assert f"that table alone covers {100 * mean('coverage', 'star', script.BLIND):.1f} %" in page
    others = [script.gain_of(ROWS, seed=seed) for seed in script.SEEDS[1:]]
    assert f"{100 * min(others):.0f} % to {100 * max(others):.0f} %" in page
    alt = re.search(r"!\[(.*?)\]\((?:docs/)?pictures/demo\.png\)", page)[1]
    assert f"{100 * gain:.0f} % narrower" in alt
