"""The types that a saved model may contain.

A model file is a tree of nodes. Each names a type and how its instance is made, and skops makes no instance before
every name is on a list: its own (numbers, text, containers, arrays, ufuncs, scikit-learn's estimators) or the one
below. To be on a list means that the type's ``__setstate__``, and its methods later, may get data that an attacker
chose. So this list has only classes that store data and compute: none opens a file, imports a module by name,
evaluates text or calls a function that it is given, except parts that are on the list themselves.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from confide.models.lightgbm_model import LightGBMRegressor, Trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"

# Made without calling their constructor: `__new__`, then the state.
OBJECTS = {
    "confide.conformal.centred.CentredCalibration",
    "confide.conformal.marks.Marks",
    "confide.conformal.quantile.Calibration",
    "confide.conformal.stacked.Stack",
    "confide.data.encoding.CategoryColumn",
    "confide.data.encoding.NumberColumn",
    "confide.data.encoding.TableEncoder",
    "confide.data.splits.Rows",
    "confide.diagnostics.covariate_shift.Population",
    "confide.diagnostics.records.ArmSample",
    "confide.effects.bonferroni.Bonferroni",
    "confide.effects.nested.Nested",
    "confide.effects.nested.NestedPair",
    "confide.methods.candidates.Candidate",
    "confide.methods.naive.Naive",
    "confide.methods.pooled_dr.PooledDR",
    "confide.methods.prognostic.Prognostic",
    "confide.methods.transfer.Transfer",
    "confide.methods.trial_outcomes.TrialOutcomes",
    "confide.methods.wcp.WCP",
    "confide.methods.wscp_dr.WSCPDR",
    "confide.methods.wtcp_dr.WTCPDR",
    "confide.model.CounterfactualIntervals",
    "confide.models.auto.AutoClassifier",
    "confide.models.auto.AutoRegressor",
    "confide.models.interval_ends.IntervalEnds",
    "confide.models.interval_ends.MovedEnds",
    "confide.models.interval_ends.QuantileAt",
    "confide.models.lightgbm_model.LightGBMRegressor",  # its trees are arrays, which `check_trees` checks
    "confide.models.preprocessing.Learner",
    "confide.models.preprocessing.SeenColumns",
    "confide.models.preprocessing.Splines",  # makes its splines by scipy's constructor, which checks them
    "confide.models.preprocessing.SplinesOfContinuous",
    "confide.models.prognosis.Prognosis",
    "confide.models.refits.Refits",
    "confide.models.ridge.BlockRidge",
    "confide.models.scores.AbsoluteResidual",
    "confide.models.scores.Columns",
    "confide.models.scores.ConformalisedQuantiles",
    "confide.models.scores.Grounded",
    "confide.models.scores.NormalisedResidual",
    "confide.models.scores.Shifted",
    "confide.models.smoothers.LinearSmoother",
    # Not OracleRatio, which calls a function that it is given.
    "confide.ratio.classifier.ClassifierRatio",
    "confide.ratio.kernel.KLIEP",
    "confide.ratio.kernel.KernelMeanMatching",
    "confide.ratio.kernel.KernelRatio",
    "confide.ratio.naive_bayes.NaiveBayesRatio",
    "confide.ratio.propensity.PropensityRatio",
    "confide.recommend.cross_fitted.CrossFittedRatio",
    "confide.recommend.factorization.MatrixFactorization",
    "confide.weights.arm_weights.ArmWeights",
    "confide.weights.groups.Groups",
    "confide.weights.people.People",
    "confide.weights.target.TargetRatio",
    # The perceptron's moments, which nothing reads after the fit.
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    # A tree of gradient boosting: scikit-learn follows its indices unchecked, so `check_trees` checks them.
    TREE,
}
# Made by calling their constructor: exact levels from digits ("1e999999999" would never end), and range(1, 6).
FRACTION = "fractions.Fraction"
CALLED = {FRACTION, "builtins.range"}
DIGITS = re.compile(r'"?-?\d{1,999}(/\d{1,999})?"?')

# The one way in which a file may use each name.
REVIEWED = {
    **dict.fromkeys(OBJECTS, "ObjectNode"),
    **dict.fromkeys(CALLED, "ConstructorFromReduceNode"),
}

# The version of skops's trees that was reviewed; a file may ask for an older reader.
LEAST_PROTOCOL = 2
# Types of keys that a file preserves as text.
KEYS = {"str", "int", "float", "str_", "int64", "int32", "float64", "float32"}


def names(trusted: Any) -> list[str]:
    """Return full names of types, given by name or as types."""
    if isinstance(trusted, str | type):
        trusted = [trusted]
    if isinstance(trusted, bool) or not all(isinstance(each, str | type) for each in trusted):
        raise ValueError(f"trusted must list types or their full names, got {trusted!r}.")
    return [each if isinstance(each, str) else f"{each.__module__}.{each.__name__}" for each in trusted]


def check_tree(schema: Any, own: Iterable[str] = ()) -> None:
    """Raise a ValueError if a reviewed name is used in another way, before anything is made from the tree.

    skops checks names only. Otherwise a trusted name could be called with an attacker's arguments although it was
    reviewed only as a container of data. The caller is responsible for the names in ``own``.
    """
    protocol = schema.get("protocol")
    if isinstance(protocol, bool) or not isinstance(protocol, int) or protocol < LEAST_PROTOCOL:
        raise ValueError(f"it was written in a form that is not read, skops protocol {protocol!r}")
    users: dict[str, Any] = {}
    for node in _nodes(schema):
        name, loader = f"{node.get('__module__')}.{node.get('__class__')}", node["__loader__"]
        if loader != REVIEWED.get(name, loader) and name not in own:
            raise ValueError(f"it asks for {name} as a {loader}, and not as an instance with data")
        if name == FRACTION and not _is_plain_fraction(node):
            raise ValueError("it holds a fraction that is not made of digits")
        if users.setdefault(str(node.get("file")), node.get("__id__")) != node.get("__id__") and "file" in node:
            raise ValueError("two objects in it share one array's bytes")


def check_saved_tree(schema: Any) -> None:
    """Raise a ValueError if a tree that was just made could not be read again unchanged."""
    known = set()
    for node in _nodes(schema):
        known.add((node["__module__"], node["__class__"]))
        if node["__loader__"] == "DictNode":
            kinds = {kind["__class__"] for kind in node["key_types"]["content"]} - KEYS
            if kinds:
                raise ValueError(f"a dict has keys of type {', '.join(sorted(kinds))}; a file keeps text and numbers")
    for module, name in sorted(known):
        if not hasattr(sys.modules.get(module), name):
            raise ValueError(f"{module}.{name} cannot be found by its name when it is read again")


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a tree as skops writes it."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("__loader__"), str):
                yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _is_plain_fraction(node: dict[str, Any]) -> bool:
    parts = node["content"]["content"]
    return all(part["__loader__"] == "JsonNode" and DIGITS.fullmatch(part["content"]) for part in parts)


def parts(model: Any) -> list[Any]:
    """Return the model and all objects it consists of, except those inside arrays of numbers."""
    found: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if id(value) in found or isinstance(value, str | bytes | int | float | type | None):
            continue
        found[id(value)] = value
        if isinstance(value, dict):
            waiting.extend([*value.keys(), *value.values()])
        elif isinstance(value, list | tuple | set) or (isinstance(value, np.ndarray) and value.dtype == object):
            waiting.extend(value)
        waiting.extend(getattr(value, "__dict__", {}).values())
    return list(found.values())


def check_caches(found: Iterable[Any]) -> None:
    """Raise a ValueError if a part would cache pickles in a directory, and read those it finds there."""
    for part in found:
        if isinstance(part, BaseEstimator) and getattr(part, "memory", None) is not None:
            raise ValueError(f"{type(part).__name__} keeps a cache in {part.memory!r}, and a saved model must not")


def check_trees(found: Iterable[Any], own: Iterable[str] = ()) -> None:
    """Raise a ValueError if predicting with the trees of boosting would read outside of their arrays.

    scikit-learn's compiled code does not check their indices, which is why skops does not trust them.
    """
    if TREE in own:
        return
    found = list(found)
    for part in found:
        if isinstance(part, LightGBMRegressor) and hasattr(part, "nodes_"):
            if type(part.n_features_in_) is not int:
                raise ValueError("trees without a number of columns")
            Trees(part.nodes_, part.ends_).check(part.n_features_in_)
    kinds = HistGradientBoostingClassifier | HistGradientBoostingRegressor
    boosting = [part for part in found if isinstance(part, kinds)]
    checked = {id(tree) for model in boosting for tree in _checked_trees(model)}
    for part in found:
        if f"{type(part).__module__}.{type(part).__name__}" == TREE and id(part) not in checked:
            raise ValueError("a tree of gradient boosting stands outside of its model")


def _checked_trees(model: Any) -> list[Any]:
    """Return the trees of a boosting model; raise unless nodes point to later nodes of their tree and to columns."""
    trees = [tree for step in vars(model).get("_predictors", []) for tree in step]
    if not trees:
        return []
    columns, categorical = model.n_features_in_, model._bin_mapper.is_categorical_
    if model._preprocessor is not None or categorical.dtype.kind not in "bu" or categorical.any():
        raise ValueError(
            f"boosting on categorical columns is read only if you vouch for the file: pass trusted=[{TREE!r}]"
        )
    for tree in trees:
        nodes = tree.nodes
        place = np.flatnonzero(nodes["is_leaf"] == 0)
        inner = nodes[place]
        inside = [(inner[side] > place) & (inner[side] < len(nodes)) for side in ("left", "right")]
        inside += [inner["feature_idx"] >= 0, inner["feature_idx"] < columns, inner["is_categorical"] == 0]
        if type(columns) is not int or nodes.ndim != 1 or not len(nodes) or not np.all(inside):
            raise ValueError("a tree of gradient boosting leads outside of its nodes or columns")
    return trees
