"""Formulas of the site: `$…$` and `$$…$$` become MathML when it is built, so that no script is needed to read them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# What pymdownx.arithmatex makes of a formula.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Return the page with its formulas as MathML (called by mkdocs)."""
    try:
        return FORMULA.sub(_mathml, content)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error


def _mathml(found: re.Match[str]) -> str:
    latex = html.unescape(found[3]).strip()
    inline = found[2] == "("
    mathml = convert(latex, display="inline" if inline else "block")
    # A command that the converter does not know is left as it is.
    if "\\" in mathml:
        raise ValueError(f"the formula {latex!r} cannot be turned into MathML: use commands that latex2mathml knows.")
    return mathml if inline else f'<div class="formula">{mathml}</div>'
