"""Promises are objects: levels, losses and sentences come from them, and nothing reads a sentence back."""

import ast
from dataclasses import replace
from pathlib import Path

import jinja2
import numpy as np
import pytest
from jinja2 import nodes

import confide
from confide import METHODS, WSCPDR, WTCPDR, PooledDR, Transfer, method
from confide.effects.registry import EFFECTS
from confide.methods.promise import KEPT, NONE, NOT_STATED, Promise, Whom, two_stage_promise

SOURCE = Path(confide.__file__).parent


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_promise_and_the_name_that_are_listed(name):
    arm = method(name)
    assert (arm.method_name, arm.promise) == (name, METHODS[name].promise)
    assert str(arm.promise).startswith("≥ 1-" if arm.promise.exists else "none")


@pytest.mark.parametrize(
    ("promise", "alpha", "level"),
    [
        (KEPT, 0.1, 0.9),
        (METHODS["wscp-dr-exact"].promise, 0.1, 0.8),
        (METHODS["wscp-dr-exact"].promise, 0.5, None),
        (two_stage_promise("exact", levels=(0.05, 0.2)), 0.4, 0.75),
        (two_stage_promise("calibrated", levels=(0.05, 0.2)), 0.4, 0.8),
        (NONE, 0.1, None),
        (NOT_STATED, 0.1, None),
    ],
)
def test_the_level_is_a_function_of_alpha(promise, alpha, level):
    assert promise.level(alpha) == (None if level is None else pytest.approx(level))


def test_what_is_lost_follows_the_parameters():
    assert method("wtcp-dr").promise.searched
    assert not WTCPDR(outcome_range=(0, 1)).promise.searched
    assert WTCPDR(outcome_range=(0, np.inf)).promise.searched  # above, candidates end where none was declared
    assert PooledDR(solve="transductive", outcome_range=(-np.inf, 1)).promise.searched
    assert not PooledDR(solve="transductive", outcome_range=(0, 1)).promise.searched
    assert not WTCPDR(outcome_values=[0, 1]).promise.searched
    assert not PooledDR().promise.searched
    assert PooledDR(solve="transductive").promise.searched
    assert "also ≥ 1-α-0.05, whatever the ratio" in str(PooledDR(floor=0.05).promise)
    assert str(WSCPDR(refit=True).promise) == "none proved with refit=True"
    assert WSCPDR(refit=True, target="outcome").promise.keeps_level
    assert Transfer(base_on="trial").promise == KEPT


def test_only_a_promise_without_a_loss_keeps_its_level():
    kept = {name for name, record in METHODS.items() if record.promise.keeps_level}
    assert kept == {"naive", "transfer", "transfer-centred", "prognostic", "wscp-dr-calibrated", "wscp-dr*-calibrated"}


@pytest.mark.parametrize(
    ("effect", "arm", "arm_alpha", "sentence"),
    [
        ("bonferroni", KEPT, 0.05, "≥ 1-0.05-0.05"),
        ("nested-exact", KEPT, 0.05, "≥ 1-0.05-0.05"),
        ("nested-inexact", KEPT, 0.05, "none"),
        ("bonferroni", METHODS["pooled-dr"].promise, 0.05, "none in numbers: it would need arms that keep their level"),
        ("bonferroni", KEPT, 0.6, "none in numbers: each of its two steps is taken at 0.6"),
    ],
)
def test_an_effect_promises_what_its_arms_allow(effect, arm, arm_alpha, sentence):
    assert str(EFFECTS[effect]().promise(arm, arm_alpha)).startswith(sentence)


def test_a_class_of_ones_own_does_not_inherit_a_promise():
    class Mine(Transfer):
        pass

    class Stated(Transfer):
        def _promise(self):
            return replace(KEPT, holds="by its author's proof")

    assert Mine().promise == NOT_STATED
    assert Mine().method_name == "Mine"
    assert str(Stated().promise) == "≥ 1-α, by its author's proof"


PROPERTIES = {name for name, value in vars(Promise).items() if isinstance(value, property)} | {"loss", "searched"}
READERS = {"startswith", "endswith", "find", "index", "split", "partition", "replace", "removeprefix", "count", "strip"}


def reads_of_promises(tree):
    """Return the places where text is searched in, or cut out of, something that is called a promise."""
    for node in ast.walk(tree):
        asked = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            asked = [node.func.value]
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            asked = node.comparators
        if any("promise" in ast.unparse(each).lower() for each in asked):
            yield node


def reads_in_template(text):
    """Return what a template does with a promise other than show it, or ask for one of its properties."""
    tree = jinja2.Environment(autoescape=True).parse(text)
    shown = {id(each) for output in tree.find_all(nodes.Output) for each in output.nodes}
    asked = {id(each.node) for each in tree.find_all(nodes.Getattr) if each.attr in PROPERTIES}
    for each in tree.find_all((nodes.Name, nodes.Getattr)):
        called = each.name if isinstance(each, nodes.Name) else each.attr
        if called.endswith("promise") and id(each) not in shown | asked:
            yield each


def test_no_sentence_of_a_promise_is_read_back():
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in reads_of_promises(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
    assert len(list(reads_of_promises(ast.parse("x = 'Δ' in record.promise; record.promise.split(',')")))) == 2


def test_the_page_does_not_search_promises_either():
    templates = sorted((SOURCE / "report" / "templates").iterdir())
    assert templates
    for path in templates:
        assert list(reads_in_template(path.read_text(encoding="utf-8"))) == []
    for reads in (
        "{% if 'Δ' in arms[0].promise %}",
        "{% if (promise|string)[:4] == 'none' %}",
        "{{ each.promise|replace('Δ', 'd') }}",
        "{{ effect_promise.split(',')[0] }}",
        "{% if promise|string is in known %}",
    ):
        assert len(list(reads_in_template(reads + "{% endif %}" * reads.startswith("{%")))) == 1


def test_a_promise_without_misses_has_none_to_show():
    assert NONE.shown_at(0.1) == "none"
    assert KEPT.shown_at(0.1) == "≥ 90 %"
    assert METHODS["wtcp-dr"].promise.shown_at(0.1) == "≥ 90 % - Δ"
    assert Promise().whom == "new people from the trial's population"


def test_weights_to_a_target_lose_within_the_group():
    told = str(Whom(("target",), ("sex",)).promised(Promise()))
    assert "-½E|w-ŵ/Eŵ|" in told
    assert "ŵ estimated, both within their group" in told
    assert "group" not in str(Whom(("target",)).promised(Promise()))
