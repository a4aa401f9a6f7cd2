"""Pages of the site that have no file of Markdown in docs/: the reference, the notebook, and files of the root.

Their names are in the navigation of mkdocs.yml. A module gets a page by a line there: `api/confide.ratio.md` shows
every name in `confide.ratio.__all__`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import notebook
from site_commands import commands_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
# Page of the site, and the file at the root of the repository that it shows.
FROM_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}


def on_config(config: MkDocsConfig, **_: Any) -> MkDocsConfig:
    """Say in the foot of every page which version it is of (called by mkdocs)."""
    config.copyright = f"confide {version('confide')} · {config.copyright}"
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages of the navigation that are made here (called by mkdocs)."""
    makers: dict[str, Callable[[], str]] = {
        "command-line.md": commands_page,
        "notebook.md": lambda: notebook.as_page(notebook.read()),
        **{page: (ROOT / name).read_text for page, name in FROM_ROOT.items()},
    }
    for page in _pages(config.nav):
        if page.startswith("api/"):
            files.append(File.generated(config, page, content=module_page(page[4:-3])))
        elif page in makers:
            files.append(File.generated(config, page, content=makers[page]()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page with links to the notebook and to the root of the repository as they are in the site."""
    if page.file.src_uri != "notebook.md":
        markdown = markdown.replace("](notebook.ipynb", "](notebook.md")
    for name, source in FROM_ROOT.items():
        markdown = markdown.replace(f"](../{source}", f"]({name}")
    return markdown.replace("](docs/", "](") if page.file.src_uri in FROM_ROOT else markdown


def module_page(name: str) -> str:
    """Return the reference of a module: what it is for, and every public name."""
    module = import_module(name)
    if not hasattr(module, "__all__"):
        raise PluginError(f"api/{name}.md shows the names in {name}.__all__, which is not there: add it.")
    names = sorted(module.__all__, key=str.lower)
    return "\n\n".join([f"# {name}", getdoc(module) or "", *(f"::: {name}.{each}" for each in names)])


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(each)
