"""matplotlib, which is imported only to draw, and the picture, which is the same bytes each time."""

import subprocess
import sys

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from confide import plot
from confide.plot import canvas
from drawings import FOUR


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(canvas, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"not installed: pip install 'confide\[plot\]'"):
        plot.intervals(FOUR)


@pytest.mark.parametrize("code", ["import confide", "import confide.plot"])
@pytest.mark.slow
def test_matplotlib_is_only_imported_to_draw(code):
    command = f"{code}; import sys; print('matplotlib' in sys.modules, 'confide.plot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", str("plot" in code)]


def test_a_picture_is_the_same_bytes_each_time(tmp_path):
    for name in ("one", "two"):
        canvas.write_png(plot.intervals(FOUR).figure, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes().startswith(b"\x89PNG")
    assert b"Software" not in (tmp_path / "one").read_bytes()


def test_new_axes_show_their_figure_in_a_notebook_and_given_ones_are_left_alone():
    ax = plot.intervals(FOUR)
    assert isinstance(ax, Axes)
    assert ax._repr_png_().startswith(b"\x89PNG")
    assert ax._repr_png_() == ax._repr_png_()
    given = Figure().add_subplot()
    assert plot.intervals(FOUR, ax=given) is given
    assert type(given) is Axes
