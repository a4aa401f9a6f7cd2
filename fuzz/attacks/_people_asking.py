"""What is asked of a model and how: columns, labels, arrays, participants, studies, parameters of whom it is for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from confide import Study, Transfer, average_effect, diagnostics, select, stack
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from fuzz.attacks._people_bench import (
    Cases,
    answers,
    fitted,
    holds,
    new,
    people,
    refused,
    refused_each,
    same,
    study,
    tables,
    unfitted,
    warned,
)

CASES = Cases()


def _arrays() -> tuple[Any, Any, Any, Any]:
    table = people(80, 3)
    return table[["age", "dose"]].to_numpy(), table["y"].to_numpy(), np.arange(80) % 2, np.arange(80) % 4 > 1


@CASES.named("columns in another order, extra ones, other types of the same values")
def _() -> str:
    model, rows = fitted(), new()
    given = {
        "another order": rows[["place", "dose", "age"]],
        "extra columns": rows.assign(t=1, y=np.nan, note=[{"a": 1}] * 7),
        "whole numbers": rows.astype({"age": int}),
        "nullable": rows.astype({"age": "Int64", "dose": "Float64"}),
        "categories": rows.astype({"place": "category"}),
        "text of numbers": rows.astype({"age": str}),
        "an index": rows.set_index(pd.Index(list("gfedcba"))),
    }
    for name, each in given.items():
        same(answers(model, each), answers(model, rows), name)
    return f"{len(given)} ways to write the same rows, one answer."


@CASES.named("columns missing, renamed, of another kind, infinite, twice; an array for a table")
def _() -> str:
    model, rows = fitted(), new()
    refused(lambda: model.predict(rows.drop(columns="dose"), 1), "dose")
    refused(lambda: model.predict(rows.rename(columns={"dose": "Dose"}), 1), "dose", "Dose")
    calls: dict[str, Any] = {
        "booleans": rows.assign(dose=True),
        "dates": rows.assign(age=pd.Timestamp("2024-01-01")),
        "infinite": rows.assign(dose=np.inf),
        "mixed": rows.assign(dose=[1, "a", 2, 3, 4, 5, 6]),
        "complex": rows.assign(dose=1j),
        "twice": pd.concat([rows, rows[["age"]]], axis=1),
        "array": rows.to_numpy(),
        "dict": rows.to_dict("list"),
        "row": rows.iloc[0],
        "path": "new.csv",
        "None": None,
        "study": study(),
    }
    count = refused_each(calls.values(), lambda each: model.predict_interval(each, 1))
    return f"{count + 2} tables are refused, each in a line that names what is wrong."


@CASES.named("pandas, polars, lazy polars and pyarrow, in and out")
def _() -> str:
    model, rows = fitted(), new().set_index(pd.Index(list("gfedcba"), name="who"))
    expected = model.predict_effect_interval(rows)
    kept = expected.to_frame()
    holds(list(kept.index) == list("gfedcba") and kept.index.name == "who", f"the index is {kept.index}")
    frames = pl.from_pandas(new()), pl.from_pandas(new()).lazy(), pa.Table.from_pandas(new())
    for frame, kind in zip(frames, (pl.DataFrame, pl.DataFrame, pa.Table), strict=True):
        found = model.predict_effect_interval(frame)
        holds(found == expected, f"{kind}: {found} is not {expected}")
        holds(isinstance(found.to_frame(), kind), f"{type(found.to_frame())} for {kind}")
    shuffled = rows.iloc[[6, 0, 3]]
    holds(list(model.predict_interval(shuffled, 1).to_frame().index) == ["a", "g", "d"], "rows in another order")
    observational, trial = tables()
    other = unfitted().fit(stack(pl.from_pandas(observational), pl.from_pandas(trial)))
    same(answers(other), answers(model), "fitted on polars, asked by pandas")
    return "One answer, in the caller's kind of frame, rows in their order, the index kept."


@CASES.named("no rows, one row, batches, the same row a thousand times")
def _() -> str:
    for method in ("transfer", "prognostic"):
        model, rows = fitted(method=method), new()
        whole = answers(model, rows)
        holds(answers(model, rows.iloc[:0]).shape == (0, whole.shape[1]), "no rows")
        alone = np.concatenate([answers(model, rows.iloc[[place]]) for place in range(7)])
        holds(np.allclose(alone, whole, rtol=1e-12, atol=1e-12), "one row at a time")
        many = answers(model, pd.concat([rows] * 1000))
        holds(np.allclose(many, np.tile(whole, (1000, 1)), rtol=1e-12, atol=1e-12), "7,000 rows at once")
    return "The answer of a row does not depend on the rows that it is asked with; of none it is none."


@CASES.named("treatment labels of another type: 1.0, True, text, NaN, None, sequences")
def _() -> str:
    model, rows = fitted(), new()
    for label in (1.0, True, np.int8(1), np.float32(1)):
        holds(model.predict_interval(rows, label) == model.predict_interval(rows, 1), f"label {label!r}")
    bad: list[Any] = ["1", 2, None, np.nan, b"1", {"a": 1}, object(), iter([1]), [1] * 6, [[1]] * 7, ["1"] * 7]
    refused_each(bad, lambda each: model.predict(rows, each), "treatment")
    one: list[Any] = [*bad[3:], np.ones(7), pd.Series([1] * 7), pl.Series([1] * 7), pa.array([1])]
    for question in (model.predict_effect, lambda X, label: select(model, X, label, above=3)):
        refused_each(one, lambda each: question(rows, each), "treatment")  # noqa: B023
    return f"Equal numbers are one label; {len(bad) + 2 * len(one)} others are refused in one line."


@CASES.named("one label per row, as list, Series, polars, pyarrow and categories")
def _() -> str:
    model, rows, labels = fitted(), new(), [0, 1, 1, 0, 1, 0, 0]
    expected = np.choose(labels, [model.predict(rows, 0), model.predict(rows, 1)])
    given: list[Any] = [labels, tuple(labels), pd.Series(labels, index=range(7, 0, -1)), pl.Series(labels)]
    for each in [*given, pa.array(labels), pd.Categorical(labels), np.array(labels, dtype=float)]:
        same(model.predict(rows, each), expected, type(each).__name__)
    return "Seven kinds of sequences, each row under its own label."


@CASES.named("effects: an unknown arm, the control against itself, three arms without a name")
def _() -> str:
    model = fitted()
    forward, back = (np.asarray(model.predict_effect_interval(new(), *pair)) for pair in ((1, 0), (0, 1)))
    holds(np.allclose(forward, -back[:, ::-1]), "the effect of 0 against 1 is not minus that of 1 against 0")
    refused(lambda: model.predict_effect(new(), 1, 1), "differ")
    refused(lambda: model.predict_effect(new(), "x"), "unknown")
    several = unfitted(control="b").fit(study(("a", "b", "c")))
    refused(lambda: several.predict_effect(new()), "3 treatments", "treated=")
    holds(np.isfinite(several.predict_effect(new(), "c")).all(), "c against b")
    same(several.predict_effect(new(), "a"), several.predict_effect(new(), "a", "b"), "the usual control")
    refused(lambda: unfitted(control="z").fit(study()), "control", "z")
    return "Signs turn with the pair, the control stands in, and what is unknown or the same is refused."


@CASES.named("masked arrays: what is under a mask is not there")
def _() -> str:
    X, y, treatment, trial = _arrays()
    holed = np.where(X > 70, np.nan, X)
    masked = np.ma.masked_array(X, X > 70)
    expected = answers(unfitted().fit(holed, y, treatment, trial), holed[:9])
    same(answers(unfitted().fit(masked, y, treatment, trial), masked[:9]), expected, "masked covariates")
    hide = np.arange(80) == 5
    refused(lambda: unfitted().fit(X, np.ma.masked_array(y, hide), treatment, trial), "outcome", "5")
    refused(lambda: unfitted().fit(X, y, np.ma.masked_array(treatment, hide), trial), "treatment")
    refused(lambda: unfitted().fit(X, y, treatment, np.ma.masked_array(trial, hide)), "trial")
    return "Masked covariates are missing; masked outcomes, treatments and marks of the trial are refused."


@CASES.named("arrays: one dimension, three, complex numbers, none, text beside numbers")
def _() -> str:
    X, y, treatment, trial = _arrays()
    bad: list[Any] = [X[:, 0], X[:, :, None], X + 0j, X[:, :0], {"a": X[:, 0]}, pd.Series(X[:, 0])]
    refused_each(bad, lambda each: unfitted().fit(each, y, treatment, trial))
    outcomes: list[Any] = [y[:, None], y[:5], y.astype("M8[s]"), np.where(y > 3, np.nan, y), (each for each in y)]
    refused_each(outcomes, lambda each: unfitted().fit(X, each, treatment, trial))
    marks: list[Any] = [trial.astype(str), trial * 2, np.flatnonzero(trial), trial & False, None]
    refused_each(marks, lambda each: unfitted().fit(X, y, treatment, each), "trial")
    return f"{len(bad) + len(outcomes) + len(marks)} arrays are refused in one line, none of them shown whole."


@CASES.named("treatments: text beside numbers, bytes, dates, Decimal, missing, by case")
def _() -> str:
    X, y, _, trial = _arrays()
    bad: list[Any] = [
        ["a", 1],
        [b"a", b"b"],
        [Decimal(1), Decimal(2)],
        [None, 1],
        [np.nan, 1.0],
        ["a", "A"],
        ["a", "a "],
    ]
    refused_each(bad, lambda each: unfitted().fit(X, y, each * 40, trial), "treatment")
    refused(lambda: unfitted().fit(X, y, np.array(["2024-01-01", "2025-01-01"] * 40, dtype="M8[D]"), trial))
    return f"{len(bad) + 1} kinds of labels are refused; none becomes an arm that nobody named."


@CASES.named("fit(study), fit(*study), and a study that carries more")
def _() -> str:
    given = study()
    same(answers(unfitted().fit(*given)), answers(unfitted().fit(given)), "unpacked")
    observational, trial = tables()
    carrying = stack(observational, trial.assign(p=np.where(trial["age"] > 50, 0.4, 0.6)), assignment="p")
    refused(lambda: unfitted().fit(*carrying), "assignment", "fit(study)")
    holds(unfitted().fit(carrying).carries_ == ("assignment",), "fit(study) lost the assignment")
    refused(lambda: unfitted().fit(given, given.y), "y")
    refused(lambda: unfitted().fit(observational), "treatment")
    refused(lambda: unfitted().fit(observational, trial), "treatment")
    return "What a study carries is used or refused, never lost."


@CASES.named("probabilities of treatment for new rows: unknown labels, sums above 1, none asked for")
def _() -> str:
    observational, trial = tables()
    p = np.where(trial["age"] > 50, 0.4, 0.6)
    model = unfitted().fit(stack(observational, trial.assign(p=p), assignment="p"))
    refused(lambda: fitted().predict_interval(new(), 1, assignment=[0.5] * 7), "assignment")
    refused(lambda: model.predict_interval(new(), 1, assignment=[0.0] * 7), "above 0")
    refused(lambda: model.predict_effect_interval(new(), assignment={5: [0.5] * 7}), "5", "no treatment")
    refused(lambda: model.predict_effect_interval(new(), assignment={0: [0.9] * 7, 1: [0.9] * 7}), "1.8")
    one = model.predict_effect_interval(new(), assignment=[0.4] * 7)
    both = model.predict_effect_interval(new(), assignment={1: [0.4] * 7, 0: [0.6] * 7})
    holds(one == both, "one probability and both")
    return "Impossible probabilities are refused; one of two is enough."


@CASES.named("participants: lengths, other labels, one of the two missing")
def _() -> str:
    model, (_, trial) = fitted(), tables()

    def ask(**given: Any) -> Any:
        return model.predict_effect_interval(trial, **given)

    refused(lambda: ask(received=trial["t"]), "outcome")
    refused(lambda: ask(outcome=trial["y"]), "received")
    refused(lambda: ask(received=trial["t"][:3], outcome=trial["y"]), "44", "(3,)")
    refused(lambda: ask(received=trial["t"] + 1, outcome=trial["y"]), "received", "2")
    refused(lambda: ask(received=trial["t"], outcome=trial["y"] * np.nan), "finite")
    known = ask(received=trial["t"], outcome=trial["y"])
    holds((known.width < ask().width).all(), "a known outcome does not make intervals narrower")
    return "Known outcomes make all intervals narrower; five misuses are refused."


@CASES.named("groups: unseen, missing, misspelt, too many, comparisons")
def _() -> str:
    model = unfitted(groups="place").fit(study())
    found = model.predict_interval(new().assign(place="Mars"), 1)
    holds(found.infinite.all(), "a group without trial rows has finite intervals")
    said = warned(lambda: model.predict_interval(new().assign(place=None), 1), InfiniteIntervalWarning)
    holds(len(said) == 1 and "7 of 7" in str(said[0].message), f"warned {len(said)} times")
    bad: list[Any] = ["plaec", "dose", "age >", [], "t", 5]
    refused_each(bad, lambda each: unfitted(groups=each).fit(study()), "groups")
    holds(unfitted(groups=["age > 50"]).fit(study()).groups_ is not None, "a comparison")
    refused(lambda: model.predict_interval(new().drop(columns="place"), 1), "place")
    return f"An unseen group is infinite with one warning; {len(bad)} groups that are none are refused."


@CASES.named("gamma below 1, NaN, text; gamma widens and comes back")
def _() -> str:
    model = fitted()
    bad: list[Any] = [0.5, float("nan"), float("inf"), "2", True, None]
    refused_each(bad, lambda each: fitted(gamma=each), "gamma")
    refused_each(bad, model.with_gamma, "gamma")
    wider = model.with_gamma(2.0)
    holds((wider.predict_interval(new(), 1).width >= model.predict_interval(new(), 1).width).all(), "gamma narrows")
    same(answers(wider), answers(fitted(gamma=2.0)), "with_gamma and a fit")
    same(answers(wider.with_gamma(1)), answers(model), "back at 1")
    return "With gamma intervals are wider, as if fitted so; six values are refused twice."


@CASES.named("sides, with each effect")
def _() -> str:
    for effect in ("bonferroni", "nested-exact", "nested-inexact"):
        both = fitted(effect=effect)
        for side, end in (("lower", "upper"), ("upper", "lower")):
            model = fitted(effect=effect, side=side)
            for one in (model.predict_interval(new(), 1), model.predict_effect_interval(new())):
                holds(np.isinf(getattr(one, end)).all(), f"{effect}, {side}: the {end} end is finite")
            nearer = model.predict_interval(new(), 1).lower - both.predict_interval(new(), 1).lower
            holds(side == "upper" or (nearer >= -1e-9).all(), f"{effect}: one end is farther than that of two")
    refused(lambda: fitted(side="left"), "left")
    refused(lambda: fitted(side=None), "side")
    return "One end is infinite, the other at least as near, for outcomes and all three effects."


@CASES.named("bounds and values of the outcome: violated, swapped, sets, text, floats")
def _() -> str:
    ranges: list[Any] = [(0, 1), (10, 0), (None, 10), (0,), "0,20", 5, (np.nan, 20)]
    refused_each(ranges, lambda each: fitted(method=Transfer(outcome_range=each)), "range")
    values: list[Any] = [{0, 1}, "01", [], [0, np.nan], 5, [0], ["a"]]
    refused_each(values, lambda each: fitted(method=Transfer(outcome_values=each)))
    inside = fitted(method=Transfer(outcome_range=(-2.0, 9.0)), alpha=0.01)
    found = inside.predict_interval(new(), 1)
    holds((found.lower >= -2).all() and (found.upper <= 9).all(), "an interval leaves the range")
    halves = [table.assign(y=np.round(2 * table["y"]) / 2) for table in tables()]
    levels = np.arange(-4, 30) / 2
    model = unfitted(Transfer(outcome_values=levels.tolist())).fit(stack(*halves))
    ends = np.asarray(model.predict_interval(new(), 1))
    holds(np.isin(ends[~np.isnan(ends)], levels).all(), "an end is none of the values")
    return f"{len(ranges) + len(values)} are refused; with the others answers keep within them."


@CASES.named("averages: another study, another table, groups, levels, the pair turned")
def _() -> str:
    model, given = fitted(), study()
    refused(lambda: average_effect(model, study(("a", "b"))), "no rows of treatment", "'a'")
    refused(lambda: average_effect(model, tables()[1]), "Study")
    refused(lambda: average_effect(model, given, by="plac"), "place")
    refused(lambda: average_effect(model, given, alpha=0), "alpha")
    refused(lambda: average_effect(fitted(method="naive"), given), "naive")
    refused(lambda: diagnostics.balance(model), "Study")
    (one,), (other,) = average_effect(model, given, 1, 0), average_effect(model, given, 0, 1)
    holds(np.allclose([one.effect, one.low, one.high], [-other.effect, -other.high, -other.low]), "the pair turned")
    parts = average_effect(model, given, by="place")
    holds(sum(each.n for each in parts[1:]) == parts[0].n == 44, "groups are not everybody")
    return "A study without the model's treatments is refused, not answered with NaN; signs turn with the pair."


@CASES.named("a model of arrays asked about a study of frames, and the reverse")
def _() -> str:
    X, y, treatment, trial = _arrays()
    model = unfitted().fit(X, y, treatment, trial)
    refused(lambda: average_effect(fitted(), Study(X, y, treatment, trial)))
    refused(lambda: model.predict(X[:, :1], 1))
    refused(lambda: model.predict(X[0], 1), "Reshape")
    return "Covariates that are not the model's are refused in one line."


@CASES.named("warnings are raised once each, at the caller's own line")
def _() -> str:
    observational, trial = tables()
    model, odd = fitted(), new().assign(dose=50.0)
    grouped = unfitted(groups="place").fit(study())
    binary = [table.assign(y=(table["y"] > 3) * 1.0) for table in (observational, trial)]
    calls: dict[str, tuple[Any, type[Warning]]] = {
        "predict": (lambda: model.predict(odd, 1), PopulationWarning),
        "predict_interval": (lambda: model.predict_interval(odd, 1), PopulationWarning),
        "predict_set": (lambda: model.predict_set(odd, 1), PopulationWarning),
        "predict_effect": (lambda: model.predict_effect(odd), PopulationWarning),
        "predict_effect_interval": (lambda: model.predict_effect_interval(odd), PopulationWarning),
        "select": (lambda: select(model, odd, 1, above=3), PopulationWarning),
        "groups": (lambda: grouped.predict_interval(new().assign(place="x"), 1), InfiniteIntervalWarning),
        "group effects": (lambda: grouped.predict_effect_interval(new().assign(place="x")), InfiniteIntervalWarning),
        "with_alpha": (lambda: model.with_alpha(0.001), InfiniteIntervalWarning),
        "with_gamma": (lambda: model.with_gamma(100), InfiniteIntervalWarning),
        "fit": (lambda: unfitted(alpha=0.001).fit(study()), InfiniteIntervalWarning),
        "fit of 0 and 1": (lambda: unfitted().fit(stack(*binary)), UserWarning),
        "stack": (lambda: stack(observational.assign(more=1), trial), UserWarning),
    }
    for name, (call, category) in calls.items():
        said = warned(call, category)
        holds(len(said) == 1, f"{name} warned {len(said)} times")
        holds(said[0].filename == __file__, f"{name} warns at {said[0].filename}")
    return f"{len(calls)} calls, one warning each, and it names the line that asked."
