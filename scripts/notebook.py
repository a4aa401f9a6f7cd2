"""Run the notebook of the docs, docs/notebook.ipynb, and write what its cells show into it.

A cell shows what it prints and its last expression, as in Jupyter: by `_repr_png_` or `_repr_html_`, else as text. No
kernel is needed, and so none of the packages that one takes. The site's page is made of the same file (`as_page`).
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
PAGE_BEGINS = "*This page is a notebook, [notebook.ipynb](notebook.ipynb), run by `make notebook`.*"


def read(path: Path = NOTEBOOK) -> dict[str, Any]:
    """Return the notebook."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with its code cells run anew, in order and in one session."""
    session: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = run_cell("".join(cell["source"]), session, number)
            cells.append({**cell, "execution_count": number, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def run_cell(code: str, session: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell in the notebook's format."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), session)  # noqa: S102  (our own notebook)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), session)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown(value)}
        outputs.append(result)
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """Return what a notebook shows of a value, by MIME type."""
    if hasattr(value, "_repr_png_"):
        return {"image/png": base64.b64encode(value._repr_png_()).decode("ascii"), "text/plain": ["A picture."]}
    if hasattr(value, "_repr_html_"):
        return {"text/html": value._repr_html_().splitlines(True), "text/plain": ["A table."]}
    return {"text/plain": repr(value).splitlines(True)}


def as_page(notebook: dict[str, Any]) -> str:
    """Return the notebook as a Markdown page, with its title first."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            parts += [f"```python\n{source}\n```", *map(_output, cell["outputs"])]
        else:
            parts.append(source)
    return "\n\n".join([parts[0], PAGE_BEGINS, *parts[1:], ""])


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="The figure of the cell above." src="data:image/png;base64,{data["image/png"]}">'
    if "text/html" in data:
        return f'<div class="notebook-output">{"".join(data["text/html"])}</div>'
    return f"```text\n{''.join(output.get('text') or data['text/plain'])}\n```"


def main() -> None:
    """Run the notebook, and write it."""
    done = json.dumps(executed(read()), indent=1, ensure_ascii=False)
    NOTEBOOK.write_text(f"{done}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
