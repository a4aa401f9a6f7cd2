"""The public names, and that asking for them late keeps the start quick."""

import subprocess
import sys

import pytest

import confide

HEAVY = ("numpy", "sklearn", "scipy", "pyarrow", "narwhals", "joblib")


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("code", ["import confide", "import confide.cli.main"])
def test_nothing_heavy_is_imported_at_the_start(code):
    loaded = run(f"{code}; import sys; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_every_public_name_is_there():
    for name in confide.__all__:
        assert getattr(confide, name) is not None
    assert set(confide.__all__) <= set(dir(confide))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        confide.nonsense  # noqa: B018


def test_methods_have_a_record_and_an_estimator():
    for name, record in confide.METHODS.items():
        assert record.name == name
        assert record.uses
        assert record.promise
        assert record.summary
        assert confide.method(name, alpha=0.2).alpha == 0.2
    with pytest.raises(TypeError):
        confide.METHODS["mine"] = None
