"""The documentation site: it is built without a warning, is complete, and fetches nothing when it is read."""

import importlib
import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
import typer
import yaml

import confide
from confide.cli import main as _commands  # noqa: F401  (it registers the commands)
from confide.cli.app import app
from pages import ROOT

pytestmark = [pytest.mark.docs, pytest.mark.xdist_group("site")]

DOCS = ROOT / "docs"
NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
# Pages that scripts/site_pages.py makes.
MADE = {"command-line.md", "notebook.md", "contributing.md", "changelog.md", "security.md"}
# Modules whose names are the public contract.
CONTRACT = {f"confide{part}" for part in ("", ".conformal", ".datasets", ".diagnostics", ".ratio", ".recommend")}
OUTSIDE = re.compile(r"^\s*(https?:)?//")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+?\$", re.DOTALL)


def pages_of(nav):
    if isinstance(nav, str):
        return [nav]
    return [page for each in (nav.values() if isinstance(nav, dict) else nav) for page in pages_of(each)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture
def formulas(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("site_formulas")


def read(path):
    return path.read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_and_the_other_way_round():
    pages = pages_of(NAV)
    assert len(pages) == len(set(pages))
    written = {page for page in pages if not page.startswith("api/")} - MADE
    assert written == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_every_page_says_its_version(site):
    for page in ("index.html", "theory.html", "api/confide.html"):
        assert f"confide {confide.__version__} · " in read(site / page)


def test_every_page_of_the_navigation_is_built(site):
    for page in pages_of(NAV):
        assert (site / page).with_suffix(".html").is_file(), page


class Fetched(HTMLParser):
    """What a browser fetches to show a page; where a reader may go from it is no part of that."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        names = {"src", "srcset", "data", "poster", "style"} | ({"href"} if tag in {"link", "use", "image"} else set())
        self.found += [value for name, value in attrs if name in names and value]


def fetched(path):
    text = read(path)
    styles = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text)
    return [*(one or other for one, other in styles), *(Fetched(text).found if path.suffix == ".html" else [])]


def test_nothing_is_fetched_from_outside(site):
    looked_at = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert any(path.suffix == ".css" for path in looked_at)
    for path in looked_at:
        assert not [each for each in fetched(path) if OUTSIDE.match(each)], path


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "<style>@import 'https://example.org/a.css'; p { background: url(https://example.org/a.png) }</style>",
    ],
)
def test_what_is_fetched_from_outside_would_be_seen(text, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(text)
    assert [each for each in fetched(page) if OUTSIDE.match(each)]
    page.write_text('<a href="https://example.org">elsewhere</a>')
    assert not fetched(page)


def test_search_needs_no_server(site):
    """The index is a script that a page from disk can load, and so is what stands in for a worker there."""
    index = json.loads(read(site / "search" / "search_index.js").removeprefix("var __index = "))
    assert {"theory.html", "quickstart.html", "api/confide.html"} <= {entry["location"] for entry in index["docs"]}
    assert "assets/iframe-worker.js" in fetched(site / "index.html")
    assert (site / "assets" / "iframe-worker.js").is_file()


# What people search for, and a page that must be among those found.
WORDS = {
    "ATE": "howto-averages",
    "CATE": "howto-averages",
    "ITE": "glossary",
    "subgroup": "howto-subgroups",
    "heteroscedastic": "choosing",
    "adaptive": "glossary",
    "stratified": "howto-stratified",
    "cluster": "howto-clusters",
    "one-sided": "howto-one-sided",
    "transport": "glossary",
    "covariate shift": "glossary",
    "external control": "glossary",
    "prognostic score": "theory",
    "Mondrian": "howto-subgroups",
    "sensitivity": "glossary",
    "tipping point": "howto-tipping-point",
    "Dask": "howto-dask",
}


@pytest.mark.parametrize(("word", "page"), WORDS.items())
def test_search_finds_what_people_search_for(word, page, site):
    """The word itself, as a whole, is in what the site's search looks through, on that page and in the glossary."""
    index = json.loads(read(site / "search" / "search_index.js").removeprefix("var __index = "))
    whole = re.compile(rf"(?<!\w){re.escape(word)}", flags=0 if word.isupper() else re.IGNORECASE)
    found = {
        entry["location"].partition(".html")[0]
        for entry in index["docs"]
        if whole.search(unescape(f"{entry['title']} {entry['text']}"))
    }
    assert {page, "glossary"} <= found


def test_every_word_of_the_glossary_leads_somewhere():
    """In order, with a link, an option, or a reference to another word that has one."""
    entries = re.findall(r"^\*\*(.+?)\.\*\* (.+)$", read(DOCS / "glossary.md"), flags=re.MULTILINE)
    assert len(entries) > 30
    words = [word.lower() for word, _ in entries]
    assert words == sorted(words)
    for _, text in entries:
        for named in re.findall(r"\*([a-z ]+)\*", text):
            assert any(word.startswith(named) for word in words), named


def test_every_formula_is_mathml(site):
    count = 0
    for path in DOCS.glob("*.md"):
        written = len(FORMULA.findall(CODE.sub("", read(path))))
        built = read(site / f"{path.stem}.html")
        assert built.count("<math ") == written, path.name
        assert "arithmatex" not in built
        count += written
    assert count > 100


def test_a_formula_that_cannot_be_shown_is_refused(formulas):
    def page(latex):
        return formulas.FORMULA.sub(formulas._mathml, f'<span class="arithmatex">\\({latex}\\)</span>')

    assert page("a &lt; b").startswith("<math ")
    with pytest.raises(ValueError, match=r"nonsense.*latex2mathml"):
        page("\\nonsense{a}")


MODULES = [page[4:-3] for page in pages_of(NAV) if page.startswith("api/")]


def test_every_public_module_is_in_the_reference():
    assert set(MODULES) >= CONTRACT


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module, site):
    page = read(site / "api" / f"{module}.html")
    names = importlib.import_module(module).__all__
    assert names
    for name in names:
        assert f'id="{module}.{name}"' in page, name


def test_the_reference_shows_methods_also_where_they_are_inherited(site):
    page = read(site / "api" / "confide.html")
    for name in ("fit", "predict", "predict_interval", "predict_set", "with_alpha"):
        assert f'id="confide.CounterfactualIntervals.{name}"' in page
        for arm in (record.estimator.rpartition(":")[2] for record in confide.METHODS.values()):
            assert f'id="confide.{arm}.{name}"' in page, (arm, name)


def test_every_command_and_option_is_on_the_page_of_the_command_line(site):
    page = unescape(read(site / "command-line.html"))
    sections = re.split(r'<h2 id="([a-z-]+)"', page)
    by_name = dict(zip(sections[1::2], sections[2::2], strict=True))
    commands = typer.main.get_command(app).commands
    assert list(by_name) == list(commands)
    for name, command in commands.items():
        assert command.params
        for each in command.params:
            shown = each.name.upper() if each.param_type_name == "argument" else each.opts[0]
            assert f"<code>{shown}</code>" in by_name[name], (name, shown)


def test_pages_of_the_root_are_those_of_the_repository(site):
    for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"):
        headings = re.findall(r"^## (.+)$", re.sub(CODE, "", read(ROOT / f"{name}.md")), flags=re.MULTILINE)
        page = unescape(read(site / f"{name.lower()}.html"))
        assert headings
        for heading in headings:
            assert f">{heading}<" in page


def test_the_benchmarks_page_is_that_of_its_csv_file():
    """No figure was typed by hand; without figures there is no page."""
    done = run_benchmarks_page("--check")
    assert done.returncode == 0, done.stderr


def test_every_benchmark_can_be_imported():
    code = (
        "import sys; sys.path += ['benchmarks', '.']; from importlib import import_module; from run import BENCHMARKS\n"
        "for name in BENCHMARKS: assert callable(import_module(name).main)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told = subprocess.run([sys.executable, ROOT / "benchmarks" / "run.py", "paper"], capture_output=True, check=False)
    assert b"no benchmark paper; there are quantile" in told.stderr


def test_the_benchmarks_page_tells_what_does_not_hold(tmp_path):
    (tmp_path / "benchmarks.csv").write_text(
        "benchmark,what,value,unit,bound,at_least\n"
        "machine,cores,2,,,\n"
        "quantile,a thing,0.5,s,0.4,False\n"
        "quantile,  a peer,1234.5,times that,6,True\n"
    )
    assert run_benchmarks_page("--docs", tmp_path).returncode == 0
    page = read(tmp_path / "benchmarks.md")
    assert "| a thing | 0.5 s | at most 0.4, **does not hold** |" in page
    assert "| · a peer | 1,234 times that | at least 6 |" in page
    assert run_benchmarks_page("--docs", tmp_path, "--check").returncode == 0
    (tmp_path / "benchmarks.md").write_text(page.replace("0.5 s", "0.3 s"))
    assert "make benchmarks-page" in run_benchmarks_page("--docs", tmp_path, "--check").stderr


def run_benchmarks_page(*arguments):
    command = [sys.executable, ROOT / "scripts" / "benchmarks.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
