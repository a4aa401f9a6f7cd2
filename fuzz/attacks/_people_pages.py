"""Results, plots, the page and commands after one another, and whether they say the same."""

from __future__ import annotations

import base64
import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from confide import Intervals, average_effect, diagnostics, load, plot, select, stack
from confide.exceptions import PopulationWarning
from confide.report import write_report
from fuzz.attacks._people_bench import (
    QUICK,
    STUDY,
    Cases,
    answers,
    command,
    files,
    fitted,
    folder,
    holds,
    new,
    page,
    people,
    refused,
    refused_all,
    refused_each,
    same,
    study,
    tables,
    unfitted,
    warned,
)

CASES = Cases()
MARKUP = "</script><script>alert(1)</script>"


def _column(data: dict[str, Any], place: int) -> Any:
    return np.frombuffer(base64.b64decode(data["pool"][place]), dtype="<f8")


def _table(path: str) -> Any:
    return pd.read_csv(path, float_precision="round_trip")


@CASES.named("Intervals: unpack, index, compare, copy, become an array")
def _() -> str:
    found = fitted().predict_interval(new(), 1)
    lower, upper = found
    same(np.asarray(found), np.column_stack([lower, upper]), "np.asarray")
    holds(found == fitted().predict_interval(new(), 1) and found != found[:3], "== of intervals")
    holds(found[-1] == (lower[-1], upper[-1]) and len(found[[]]) == 0, "indices")
    holds(found[pd.Series(lower > 2)] == found[lower > 2], "a mask of pandas")
    for copied in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301
        holds(copied == found and copied.to_frame().equals(found.to_frame()), "a copy")
    refused_each([(1, 2), ([1], [1, 2])], lambda each: Intervals(*each))
    return "Two vectors in every form, the same numbers; == compares them."


@CASES.named("Intervals: contains NaN, clip with swapped bounds, frames of no kind")
def _() -> str:
    found = fitted().predict_interval(new(), 1)
    holds(not found.contains(np.nan).any() and found.contains(found.lower).all(), "contains")
    refused(lambda: found.contains([1.0] * 6), "7", "(6,)")
    bounds: list[Any] = [(5, 1), (np.nan, 1), (None, 1), ("a", 1)]
    refused_each(bounds, lambda each: found.clip(*each), "clip")
    empty = found.clip(1e6, 2e6)
    holds((empty.width == 0).all() and not empty.contains(1.5e6).any(), "an empty interval contains something")
    refused_each(("numpy", "excel", 5), found.to_frame, "backend")
    return "NaN is in no interval; swapped bounds are refused instead of emptying all."


@CASES.named("results in a notebook: tables in which no name becomes markup")
def _() -> str:
    labels = (MARKUP, "b")
    model, given = unfitted().fit(study(labels)), study(labels)
    rows = new().set_index(pd.Index([MARKUP] * 7))
    shown: list[Any] = [model.predict_interval(rows, "b"), model.predict_set(rows, "b"), average_effect(model, given)]
    for each in [*shown, select(model, rows, MARKUP, above=3), diagnostics.balance(given)]:
        text = each._repr_html_()
        holds(text.startswith("<table") and "<script" not in text, f"{type(each).__name__}: {text[:200]}")
    return "Five results show themselves as tables, with the hostile label as text."


@CASES.named("plots return axes, and refuse what is no result")
def _() -> str:
    model, given, (_, trial) = fitted(), study(), tables()
    drawn = [
        plot.intervals(model.predict_effect_interval(new()), points=model.predict_effect(new()), zero=True),
        plot.intervals(model.with_alpha(0.001).predict_interval(new(), 1)),
        plot.average_effects(average_effect(model, given, by="place")),
        plot.love_plot(diagnostics.balance(given, new())),
        plot.weights(diagnostics.calibration_weights(model)),
        plot.coverage(diagnostics.coverage_report(model, trial, trial["y"], treatment=trial["t"]), 0.2),
        plot.tipping_point(diagnostics.tipping_point(model, new(), above=0)),
        plot.correlation_curve(diagnostics.correlation_curve(model, new())),
    ]
    from matplotlib.axes import Axes  # noqa: PLC0415  (optional)

    holds(all(isinstance(each, Axes) for each in drawn), f"{[type(each).__name__ for each in drawn]}")
    curve: Any = diagnostics.gamma_curve(model, new())
    odd: Any = model
    bad: dict[str, Any] = {
        "a model": lambda: plot.intervals(odd),
        "sets": lambda: plot.intervals(odd.predict_set(new(), 1)),
        "no rows": lambda: plot.intervals(model.predict_interval(new()[:0], 1)),
        "no averages": lambda: plot.average_effects([]),
        "another curve": lambda: plot.tipping_point(curve),
        "no weights": lambda: plot.weights(None),  # type: ignore[arg-type]
    }
    return f"{len(drawn)} plots are axes; {refused_all(bad)} other things are refused."


@CASES.named("the summary is true of the model")
def _() -> str:
    for alpha, effect, gamma in ((0.2, "bonferroni", 1.0), (0.3, "nested-exact", 1.5)):
        model = fitted(alpha=alpha, effect=effect, gamma=gamma, control=1)
        text = model.summary()
        for word in (f"alpha = {alpha}", "transfer", "against 1" if "against 1" in text else "1"):
            holds(word in text, f"the summary does not say {word!r}")
        moved = model.with_alpha(0.4).summary()
        holds("alpha = 0.4" in moved and f"alpha = {alpha}" not in moved, "with_alpha: the summary's level")
        holds(gamma == 1 or "1.5" in text, "the summary does not say gamma")
    return "Method, level and gamma are those in force, also after with_alpha."


@CASES.named("selection: none, one and all rows, sides and rates that are none")
def _() -> str:
    model = fitted()
    holds(len(select(model, new()[:0], 1, above=3).selected) == 0, "no rows")
    holds("this person" in select(model, new()[:1], 1, above=3).found_at_all, "one row in words")
    bad: list[dict[str, Any]] = [
        {},
        {"above": 1, "below": 2},
        {"above": "3"},
        {"above": np.nan},
        {"above": 3, "fdr": 1},
    ]
    refused_each(bad, lambda each: select(model, new(), 1, **each))
    low, high = (select(model, new(), 1, above=3, fdr=rate).selected for rate in (0.05, 0.3))
    holds((low <= high).all(), "a smaller rate chooses others")
    return "Whoever is chosen at 5 % is chosen at 30 %; five questions that are none are refused."


@CASES.named("the page: numbers are Python's, bit for bit")
def _() -> str:
    with folder():
        for given in ({}, {"effect": "nested-exact"}, {"method": "wcp"}):
            model = fitted(**given)
            write_report("page.html", model, new())
            _, data = page("page.html")
            holds(data["alpha"] == model.alpha_ and data["rows"] == 7, "level and rows")
            for label, arm in enumerate(data["arms"]):
                same(_column(data, arm["point"]), model.predict(new(), label), f"{given}: points of {label}")
                if data["effects"]:
                    ends = np.column_stack([_column(data, arm[end]) for end in ("lower", "upper")])
                    same(ends, np.asarray(model.predict_interval(new(), label)), f"{given}: intervals of {label}")
            for effect in data["effects"]:
                ends = np.column_stack([_column(data, effect[end]) for end in ("lower", "upper")])
                same(ends, np.asarray(model.predict_effect_interval(new())), f"{given}: effects")
    return "Points, intervals and effects on the page are the floats that Python gives."


@CASES.named("the page: hostile columns, labels, cells, outcome and unit")
def _() -> str:
    names = {"age": MARKUP, "dose": "<!--", "place": "]]>\u2028'\"`<img src=x onerror=alert(1)>"}
    for labels in ((0, 1), (MARKUP, "\u2028<!--")):
        given = stack(*(table.rename(columns=names) for table in tables(labels)))
        model = unfitted().fit(given)
        rows = new().rename(columns=names).assign(**{f"{MARKUP}id": MARKUP})
        with folder():
            write_report(
                "page.html", model, rows, study=given, methods=[], outcome_label=MARKUP, unit="<b>", by=[names["place"]]
            )
            text, data = page("page.html")
        holds("<script>alert" not in text and "<img src=x" not in text, "a name became markup")
        holds(text.count("<script") == 4, f"{text.count('<script')} scripts, not 4")
        holds({each["name"] for each in data["columns"]} >= {MARKUP, "<!--"}, "a name is lost")
    return "Every name is text, and the page has its own scripts alone."


@CASES.named("the page: no rows, one row, three arms, infinite intervals, columns without a value")
def _() -> str:
    model, given = fitted(), study()
    several = unfitted().fit(study(("a", "b", "c")))
    with folder():
        refused(lambda: write_report("page.html", model, new()[:0]), "no rows")
        holds(not Path("page.html").exists(), "half a page is left")
        for rows, asked in (
            (new()[:1], model),
            (new(), several),
            (new(), model.with_alpha(0.001)),
            (new().assign(dose=np.nan, note=None), model),
        ):
            answered = write_report("page.html", asked, rows)
            _, data = page("page.html")
            holds(data["rows"] == answered.rows == len(rows), f"{data['rows']} rows of {len(rows)}")
            holds(len(data["contrasts"]) == len(asked.arms_) - 1, "contrasts")
        tiny = stack(people(20, 0), people(4, 1))
        write_report("page.html", unfitted().fit(tiny), new(), study=tiny, methods=[])
        same_y = stack(*(table.assign(y=1.0) for table in tables()))
        write_report("page.html", unfitted().fit(same_y), new(), study=same_y, methods=[], above=0.5)
        write_report("page.html", model, new(), study=given, methods="naive")
        holds(len(page("page.html")[1]["coverage"]) > 0, "no coverage")
    return "Seven odd pages are whole; without rows there is none."


@CASES.named("the page: arguments that are none, a model of one arm, another study")
def _() -> str:
    model, given = fitted(), study()
    bad: list[dict[str, Any]] = [
        *({"control": 5}, {"by": "plac"}, {"by": 5}, {"above": 1, "below": 2}, {"above": 1, "fdr": 5}),
        *({"above": 1, "under": 7}, {"treatment_labels": {7: "x"}}, {"treatment_labels": {0: "x", 1: "x"}}),
        *({"treatment_labels": ["a"]}, {"treatment_labels": {0: 5}}, {"outcome_label": 5}, {"unit": None}),
        *({"study": "study"}, {"study": study(("a", "b"))}, {"methods": ["zzz"]}),
    ]
    with folder():
        count = refused_each(bad, lambda each: write_report("p.html", model, new(), **{"study": given, **each}))
        one = unfitted().fit(stack(*(table.assign(t=0) for table in tables())))
        refused(lambda: write_report("p.html", one, new()), "one treatment")
        refused(lambda: write_report("p.html", "model.confide", new()), "confide.load")  # type: ignore[arg-type]
        holds(not Path("p.html").exists(), "a page is left")
    return f"{count + 2} are refused in one line, and no page is left."


@CASES.named("the page: the seed of the fit, and a warning at the caller's line")
def _() -> str:
    generator = np.random.RandomState(0)
    with folder():
        for model in (fitted().set_params(random_state=99), fitted(random_state=generator), fitted(random_state=None)):
            write_report("page.html", model, new())
            text, _ = page("page.html")
            seed = text.split("<dt>Seed</dt><dd>")[1].split("</dd>")[0]
            same(answers(fitted(random_state=int(seed))), answers(model), "a fit with the page's seed")
        said = warned(lambda: write_report("p.html", fitted(), new().assign(dose=50.0)), PopulationWarning)
        holds(len(said) == 1 and said[0].filename == __file__, f"{len(said)}, {[each.filename for each in said]}")
    return "A fit with the seed on the page gives the same answers, also where none was given."


@CASES.named("treatments whose columns would have one name")
def _() -> str:
    labels = ("a", "a_lower")
    model = unfitted().fit(study(labels))
    holds(np.isfinite(model.predict_effect(new())).all(), "Python does not need columns")
    with files(labels):
        refused(lambda: write_report("p.html", model, new()), "y_a_lower")
        _, err = command("run", *STUDY, *QUICK, "--id", "who", "--predict", "new.csv", "--out", "out.csv", status=2)
        holds("y_a_lower" in err and not Path("out.csv").exists(), err)
    return "One line names the column and the treatments; no file is left."


@CASES.named("commands: run --save, then predict, report and select say what Python says")
def _() -> str:
    with files():
        command("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "run.csv", "--save", "m.confide")
        command("predict", "m.confide", "new.csv", "--out", "predict.csv")
        holds(Path("run.csv").read_bytes() == Path("predict.csv").read_bytes(), "predict and run differ")
        command("select", "m.confide", "new.csv", "--treatment", "1", "--above", "3", "--out", "chosen.csv")
        command("predict", "m.confide", "new.csv", "--alpha", "0.5", "--out", "half.csv")
        command("report", "m.confide", "--predict", "new.csv", "--out", "page.html")
        model, rows = load("m.confide"), pd.read_csv("new.csv")
        same(answers(model, rows), answers(unfitted().fit(stack(*tables())), rows), "a command's model and Python's")
        for path, at in (("run.csv", model), ("half.csv", model.with_alpha(0.5))):
            written = _table(path)[["effect_1_vs_0_lower", "effect_1_vs_0_upper", "y_1_lower", "y_1_upper"]]
            found = np.column_stack([*at.predict_effect_interval(rows), *at.predict_interval(rows, 1)])
            same(written.to_numpy(), found, path)
        same(_column(page("page.html")[1], page("page.html")[1]["arms"][1]["point"]), model.predict(rows, 1), "page")
        chosen = select(model, rows, 1, above=3).selected
        holds(int(chosen.sum()) == len(_table("chosen.csv")) or "selected" in _table("chosen.csv"), "select")
    return "Files, page and Python have the same numbers, at two levels."


@CASES.named("commands: a seed given twice gives the same bytes; so does a declared analysis")
def _() -> str:
    words = ["run", *STUDY, *QUICK, "--id", "who", "--seed", "7", "--predict", "new.csv"]
    with files():
        for name in ("a", "b"):
            command(*words, "--out", f"{name}.csv", "--save", f"{name}.confide")
        command(*words, "--out", "c.csv", "--save", "c.confide", "--save-config", "c.toml")
        holds(not Path("c.csv").exists(), "a declaration ran")
        command("run", "--config", "c.toml")
        for kind in ("csv", "confide"):
            found = {Path(f"{name}.{kind}").read_bytes() for name in ("a", "b", "c")}
            holds(len(found) == 1, f"{kind}: {len(found)} different files")
        _, err = command("run", "--config", "c.toml", "--alpha", "0.3", "--out", "d.csv", "--save", "d.confide")
        holds("--alpha is 0.3 instead of 0.2" in err, err)
        holds(load("d.confide").config_hash_ != load("c.confide").config_hash_, "another level, the same hash")
    return "Tables and models are the same bytes three times; a change is said and has another hash."


@CASES.named("commands: outputs over inputs, answers asked again, files of the wrong kind")
def _() -> str:
    with files():
        command("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "m.confide")
        before = {path.name: path.read_bytes() for path in Path().iterdir()}
        for words in (
            ["predict", "m.confide", "new.csv", "--out", "new.csv"],
            ["predict", "m.confide", "new.csv", "--out", "m.confide"],
            ["predict", "m.confide", "out.csv", "--out", "again.csv"],
            ["predict", "new.csv", "m.confide", "--out", "again.csv"],
            ["predict", "m.confide", "new.csv", "--control", "x", "--out", "again.csv"],
            ["select", "m.confide", "new.csv", "--treatment", "x", "--above", "3", "--out", "again.csv"],
            ["report", "m.confide", "--predict", "new.csv", "--out", "new.csv"],
            ["run", "--config", "m.confide"],
        ):
            command(*words, status=2)
        holds(before == {path.name: path.read_bytes() for path in Path().iterdir()}, "a file was changed or left")
    return "Eight commands end in one line each, and every file is as it was."
