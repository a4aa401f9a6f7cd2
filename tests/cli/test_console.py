"""What the commands say when they are done."""

import io
import sys
import time
import webbrowser
from contextlib import contextmanager

import numpy as np
import pytest

from confide import Study
from confide.base.progress import part
from confide.cli import console
from confide.cli.console import open_page, print_answered, tell_covariates, time_taken, told_in_lines, waiting
from confide.predict.batches import Answered


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (Answered(1, 0, 0, {}), "\n1 row answered, in a.csv.\n"),
        (Answered(0, 0, 0, {}), "\n0 rows answered, in a.csv.\n"),
        (
            Answered(1200, 0, 1200, {}),
            "\n1,200 rows answered, in a.csv.\n1,200 of them have an infinite interval for an effect.\n",
        ),
        (
            Answered(3, 1, 2, {}),
            (
                "\n3 rows answered, in a.csv.\n1 of them has an infinite interval for an outcome.\n"
                "2 of them have an infinite interval for an effect.\n"
            ),
        ),
    ],
)
def test_rows_are_counted_in_words(answered, told):
    screen = io.StringIO()
    print_answered(answered, "a.csv", screen)
    assert screen.getvalue() == told


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        ((7.4, 0, 1.0), "7 s so far"),
        ((30, 0.25, 1.0), "30 s so far, about 1 min 30 s left"),
        ((61, 3, 14), "3 of 14, 1 min 1 s so far, about 3 min 44 s left"),
        ((5, 65_536, None), "65,536, 5 s so far"),
        ((7300, 0.5, 1.0), "2 h 1 min so far, about 2 h 1 min left"),
    ],
)
def test_time_taken_and_time_left_are_told(taken, told):
    assert time_taken(*taken) == told


def test_long_work_says_off_a_terminal_how_long_it_takes(capsys, monkeypatch):
    monkeypatch.setattr(console, "LONG", 0.01)
    with told_in_lines("methods", 4) as tell:
        tell(1)
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    *during, last = lines
    assert set(during) == {"methods: 1 of 4, 0 s so far, about 0 s left"}
    assert last == "methods: done in 0 s"


def test_short_work_says_nothing(capsys):
    with told_in_lines("methods", 4) as tell:
        tell(1)
    with waiting("reading"):
        pass
    assert capsys.readouterr().err == ""


def test_covariates_are_told_with_the_time_of_reading_if_it_was_long(monkeypatch, capsys):
    monkeypatch.setattr(console, "LONG", 5.0)
    study = Study(np.zeros((1200, 3)), np.zeros(1200), np.zeros(1200, dtype=int), np.ones(1200, dtype=bool))
    tell_covariates(study, 4.9)
    assert capsys.readouterr().err == ""
    tell_covariates(study, 61.0)
    assert capsys.readouterr().err == "Covariates: 3 of 1,200 rows, read in 1 min 1 s\n"


def test_waiting_hears_of_parts_that_are_done(monkeypatch):
    heard = []

    @contextmanager
    def shown(_what, _total):
        yield heard.append

    monkeypatch.setattr(console, "_shown", shown)
    with waiting("fitting"), part(1, 2):
        for number in range(2):
            with part(number, 2):
                pass
    assert heard == [0.75, 1.0, 1.0]


@pytest.mark.parametrize(("display", "opened"), [("", []), (":0", ["file:///a/page.html"])])
def test_a_page_is_opened_only_on_a_screen(display, opened, monkeypatch):
    found = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(address) is None)
    assert open_page("/a/page.html") is bool(opened)
    assert found == opened
