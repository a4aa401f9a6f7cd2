"""Reports on small studies, and how the tests look at them."""

import csv
import io
import json
import warnings

import numpy as np
import pyarrow as pa

from confide import CounterfactualIntervals, Transfer, stack
from confide.exceptions import InfiniteIntervalWarning
from confide.models.preprocessing import ridge_on_splines
from confide.predict.answer import answer
from tables import covariates, people

PHONE = {"viewport": {"width": 360, "height": 780}, "device_scale_factor": 2, "has_touch": True}


def patients(n, seed, labels=("placebo", "drug")):
    """Return people whom the later treatments help the more the older they are, and harm while they are young."""
    table = people(n, seed, labels)
    age = table["age"].fill_null(50.0).to_numpy()
    arm = np.array([labels.index(label) for label in table["t"].to_pylist()])
    outcome = table["y"].to_numpy() - arm + arm * (age - 50) / 4
    return table.set_column(table.column_names.index("y"), "y", pa.array(outcome))


def study_of(n=300, m=120, labels=("placebo", "drug")):
    """Return a study of patients."""
    return stack(*(patients(rows, seed, labels).drop_columns(["who"]) for rows, seed in ((n, 0), (m, 1))))


def fitted(method=None, study=None, **parameters):
    """Return a model of such patients that is fitted in no time."""
    arm = Transfer(base=ridge_on_splines(), base_on="centred") if method is None else method
    model = CounterfactualIntervals(arm, **({"random_state": 0} | parameters))
    return model.fit(*(study_of() if study is None else study))


def new_patients(n=200, seed=2):
    """Return patients to answer for."""
    return covariates(patients(n, seed))


def expected(model, X, alpha, control=None):
    """Return what Python says of the rows at a level, by column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        moved = model.with_alpha(alpha)
    found = answer(moved, moved.read(X), control).table
    return {name: found[name].to_numpy() for name in found.column_names}


class Opened:
    """A page in a browser, and what it did."""

    def __init__(self, context, path):
        self.context, self.requests, self.faults = context, [], []
        context.on("request", lambda request: self.requests.append(request.url))
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append(dialog.message), dialog.dismiss()))
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")
        data = json.loads(self.page.text_content("#data"))
        self.levels = data["levels"]

    def close(self):
        """Leave, and say what should not have been."""
        self.context.close()
        assert self.faults == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))] == []

    def slide_to(self, alpha):
        """Move the slider to a level."""
        self.page.fill("#alpha", str(self.levels.index(alpha)))
        told = f"{100 * (1 - alpha):.10g} % intervals"
        self.page.wait_for_function("told => document.getElementById('status').textContent.includes(told)", arg=told)

    def choose(self, group):
        """Choose who is shown: press the words, as a reader does, once they stand still."""
        self.page.click(f"label:has([name=group][value={group}])")
        self.page.wait_for_selector(f"[name=group][value={group}]:checked", state="attached")

    def search(self, text):
        """Search, and wait for the answer."""
        self.page.fill("#search", text)
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def filter(self, text):
        """Filter by columns, and wait for the answer."""
        self.page.fill("#filter", text)
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def lines(self, table):
        """Return the texts of a table's body, row by row."""
        cells = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        return self.page.eval_on_selector_all(f"{table} tbody tr", cells)

    def show_columns(self, *names):
        """Pick columns beside the person."""
        self.page.evaluate("document.getElementById('columns').open = true")
        for name in names:
            self.page.eval_on_selector_all(
                "#columns label", "(all, name) => all.find(each => each.textContent === name).click()", name
            )

    def shown(self):
        """Return how many rows the page says are chosen."""
        return int(self.page.text_content("#status").split(" of ")[0].replace(",", ""))

    def cells(self, heading):
        """Return the cells of the table under a heading."""
        names = self.page.eval_on_selector_all(
            "#rows thead th", "cells => cells.map(c => c.querySelector('button')?.title ?? c.textContent)"
        )
        place = names.index(heading) + 1
        return self.page.eval_on_selector_all(
            f"#rows tbody tr > :nth-child({place})", "cells => cells.map(cell => cell.textContent)"
        )

    def downloaded(self, button="#download"):
        """Return the columns of the download, as text, and its name."""
        with self.page.expect_download() as started:
            self.page.click(button)
        with open(started.value.path(), encoding="utf-8", newline="") as file:  # noqa: PTH123
            names, *rows = csv.reader(io.StringIO(file.read()))
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        return columns, started.value.suggested_filename


def widths_of(seen):
    """Return the widths of an opened page and of its window."""
    return seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")


def numbers(texts):
    """Return a column of a download as floats; empty is missing."""
    return np.array([np.nan if text == "" else float(text) for text in texts])
