"""The notebook of the docs: what it shows is what its cells give when they are run."""

import importlib
import re

import pytest

from pages import ROOT, shows

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("notebook")


def outputs(notebook):
    """Return what each code cell shows as text; of a picture, that it is one."""
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            data = [each.get("data", {}) for each in cell["outputs"]]
            text = ["".join(each.get("text", [])) for each in cell["outputs"]]
            tables = [re.sub(r"<[^>]+>", "\n", "".join(each.get("text/html", []))) for each in data]
            found.append("\n".join([*text, *tables, *("picture" for each in data if "image/png" in each)]))
    return found


def test_the_notebook_shows_what_its_cells_give(script):
    kept = script.read()
    again = script.executed(kept)
    assert [cell["source"] for cell in again["cells"]] == [cell["source"] for cell in kept["cells"]]
    pairs = list(zip(outputs(kept), outputs(again), strict=True))
    assert len(pairs) > 5
    for shown, given in pairs:
        assert shows(shown, given), f"run `make notebook`: the notebook shows\n{shown}\nand the cell gives\n{given}"
    assert sum("picture" in shown for shown, _ in pairs) == 1


def test_a_notebook_that_is_out_of_date_would_be_seen(script):
    kept = {"cells": [{"cell_type": "code", "source": ["print(1)\n", "2"], "outputs": []}]}
    (given,) = outputs(script.executed(kept))
    assert given.split() == ["1"]
    assert not shows("2", given)


def test_cells_show_their_last_expression(script):
    session = {}
    assert script.run_cell("a = 3", session, 1) == []
    printed, result = script.run_cell("print('x')\na + 1", session, 2)
    assert printed == {"output_type": "stream", "name": "stdout", "text": ["x\n"]}
    assert result["data"] == {"text/plain": ["4"]}


def test_the_page_has_every_cell(script):
    kept = script.read()
    page = script.as_page(kept)
    assert page.startswith("# In a notebook\n")
    for cell in kept["cells"]:
        assert "".join(cell["source"]) in page
    assert page.count("<table>") >= 4
    assert page.count("data:image/png") == 1
