"""A browser for the pages, and the pages that several tests look at."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from confide.report import write_report
from report_pages import Opened, fitted, new_patients, study_of

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Rows of strangers are nobody's business: the browser asks no network of its own either.
QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]
SCREENSHOTS = Path(__file__).parents[2] / "test-screenshots"
# What the page with everything on it is asked.
ASKED = {"by": ["town", "age > 50"], "above": 4.0, "under": "drug", "fdr": 0.2}


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium of the system. Without one these tests are skipped, or fail if CONFIDE_BROWSER=required."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = f"no browser: none of {', '.join(NAMES)} is installed (see scripts/chromium.sh)"
        if os.environ.get("CONFIDE_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def look(browser):
    """Open a page from disk; at the end nothing may have gone wrong in it, and nothing may have been asked for."""
    opened = []

    def see(path, **context):
        opened.append(Opened(browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | context)), path))
        return opened[-1]

    yield see
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def screenshots():
    """The folder in which a test run keeps its pictures."""
    SCREENSHOTS.mkdir(exist_ok=True)
    return SCREENSHOTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def new():
    return new_patients()


@pytest.fixture(scope="session")
def model():
    return fitted(alpha=0.2)


@pytest.fixture(scope="session")
def whole(tmp_path_factory, model, new):
    """The page with everything on it."""
    path = tmp_path_factory.mktemp("whole") / "whole.html"
    write_report(path, model, new, study=study_of(), methods=["naive", "wcp", "pooled-dr"], **ASKED)
    return path


@pytest.fixture(scope="session")
def many(tmp_path_factory, model):
    """The page of 10,000 individuals."""
    path = tmp_path_factory.mktemp("many") / "many.html"
    write_report(path, model, new_patients(10_000, 3))
    return path
