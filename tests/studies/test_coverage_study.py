"""The coverage study: its processes, promises and bounds are right, it can fail, and it goes on where it stopped."""

import numpy as np
import pytest

from confide import METHODS
from confide.effects.registry import EFFECTS
from confide.methods.promise import DELTA, KEPT, NONE, Promise, pooled_promise
from studies import coverage_draws, coverage_page, coverage_study
from studies.coverage_cells import LEVELS, SETUPS, grid
from studies.coverage_draws import Found, batch, promised_at
from studies.coverage_processes import PROCESSES
from studies.coverage_setup import Setup
from studies.coverage_study import cells_of, is_certain, settled, verdicts

SMALL = Setup("here", "known ratio", "transfer", 4, (0.5, 0.2, 0.1), ceiling=True, draws=2, new=10)


@pytest.mark.parametrize(("name", "arm"), [(name, arm) for name in PROCESSES for arm in (0, 1)])
def test_a_known_ratio_turns_the_table_into_the_trial(name, arm):
    process, rng = PROCESSES[name], np.random.default_rng(0)
    ratio, table = process.ratio(arm), process.table(rng, 40_000, arm)
    assert len(table) == 40_000
    if ratio is None:
        assert name in {"paper", "clinic"}
        return
    people = process.people(rng, 40_000)
    weight = ratio(np.column_stack([table.X, table.y]))
    for mine, theirs in (
        (table.y, people.under(arm)),
        (table.X[:, 0], people.X[:, 0]),
        (table.y**2, people.under(arm) ** 2),
    ):
        products = weight * mine
        error = np.hypot(products.std(), theirs.std()) / 200
        assert abs(products.mean() - theirs.mean()) < 5 * error
    assert abs(weight.mean() - 1) < 5 * weight.std() / 200


def test_outcomes_of_the_discrete_process_are_its_values():
    process = PROCESSES["discrete"]
    assert set(process.people(np.random.default_rng(0), 500).y1) == set(process.values)


@pytest.mark.parametrize("name", PROCESSES)
def test_weights_and_probabilities_vary_with_the_standing(name):
    process = PROCESSES[name]
    X = process.people(np.random.default_rng(1), 5000).X
    standing, chance = process.standing(X), coverage_draws.probability(process, X)
    assert abs(standing.mean()) < 0.1
    assert standing.std() == pytest.approx(1, abs=0.1)
    assert chance.min() >= 0.1 - 1e-12
    assert chance.max() <= 0.9 + 1e-12


@pytest.mark.parametrize(
    ("promise", "lost", "promised"),
    [
        (KEPT, 0.3, 0.9),  # it loses nothing, whatever a ratio's error is
        (Promise(loss=DELTA), 0.05, 0.85),
        (Promise(searched=True), 0.02, 0.88),
        (Promise(misses=(None, None), loss=DELTA), 0.0, 0.8),
        (pooled_promise(guard=0.05), 0.3, 0.85),
        (pooled_promise(guard=0.05), 0.01, 0.89),
        (pooled_promise(guard=0.05), np.nan, 0.85),
        (Promise(loss=DELTA), np.nan, np.nan),
        (NONE, 0.0, np.nan),
    ],
)
def test_what_is_promised_is_the_level_less_what_is_lost(promise, lost, promised):
    assert promised_at(promise, 0.1, lost) == pytest.approx(promised, nan_ok=True)


def test_a_batch_is_seeded_and_knows_its_bounds():
    one, again, other = (batch(SMALL, number) for number in (3, 3, 4))
    assert one == again
    assert one != other
    # ⌈(1-α)·5⌉/5; at 0.1 four rows are too few.
    assert [(each.promised, each.ceiling) for each in one] == [(0.5, 0.6), (0.8, 0.8), (0.9, 1.0)]
    assert (one[2].coverage, one[2].infinite) == (1.0, 1.0)
    assert all(0 < each.coverage < 1 and each.infinite == 0 for each in other[:1])


@pytest.mark.parametrize("name", ["naive", "transfer", "wtcp-dr", "wscp-dr-calibrated"])
def test_so_many_rows_calibrate_as_the_cell_says(name, monkeypatch):
    seen = []
    params = {"ratio": "blind"} if "dr" in name else {}
    setup = Setup("here", "known ratio", name, 7, (0.2,), params=params, draws=1, new=3)
    monkeypatch.setattr(coverage_draws, "loss_of", lambda _s, _p, arm, *_: seen.append(arm) or 0.0)
    batch(setup, 0)
    assert len(seen[0].calibration_.scores) == 7


def test_other_people_are_asked_of_the_whole_study():
    asked = {"carries": "assignment", "asks": ("outcome", "effect", "participants"), "draws": 2, "new": 20}
    found = batch(Setup("here", "known ratio", "transfer", 20, (0.2,), **asked), 0)
    assert [(each.asks, each.promised) for each in found] == [
        ("outcome", 0.8),
        ("effect", pytest.approx(0.8)),
        ("participants", 0.8),
    ]


def test_gamma_counts_the_people_first_who_are_not_covered():
    setups = [
        Setup("here", "known ratio", "transfer", 9, (0.2,), told=told, model=model, asks=("outcome",), draws=1)
        for told, model in (("", {"gamma": 2.0}),)
    ]
    (found,) = batch(setups[0], 1)
    assert found.coverage == pytest.approx(1 - 2 * round((1 - found.coverage) / 2, 6))
    assert found.promised == pytest.approx(0.8)


def row(coverage, error, promised=0.9, ceiling=np.nan, **more):
    errors = {"error": error, "promised_error": error, "ceiling_error": error}
    words = {"case": "here", "method": "naive", "told": "", "process": "paper", "asks": "outcome", "rows": 9}
    numbers = {"alpha": 0.1, "coverage": coverage, "infinite": 0.0, "promised": promised, "ceiling": ceiling}
    return {**words, **numbers, "draws": 40, **errors, **more}


@pytest.mark.parametrize(
    ("cell", "certain"),
    [
        (row(0.9, 0.003), True),
        (row(0.9, 0.005), False),
        (row(0.97, 0.01), True),  # far above its promise
        (row(0.97, 0.01, ceiling=1.0), False),  # and near its bound
        (row(0.6, 0.02), True),  # it fails, whatever comes
        (row(0.85, 0.01), False),
        (row(0.9, 0.009, promised=np.nan), True),  # only shown
        (row(1.0, 0.0), True),
    ],
)
def test_draws_go_on_until_a_verdict_is_certain(cell, certain):
    assert is_certain(cell) == certain


def test_what_is_below_or_above_is_found_and_what_chance_explains_is_not():
    rows = [
        row(0.9, 0.004),
        row(0.893, 0.004),
        row(0.85, 0.004),
        row(0.95, 0.004, ceiling=0.92),
        row(0.5, 0.01, np.nan),
    ]
    assert verdicts(rows) == ["holds", "holds", "below", "above", ""]
    page = coverage_page.page(rows)
    assert page.count("**below** |") == page.count("**above** |") == 1
    assert "5 cells, 5 tests of 4 promises and 1 upper bounds: 1 below the promise, 1 above the bound" in page


@pytest.mark.slow
def test_a_promise_that_is_not_kept_is_found(monkeypatch, tmp_path):
    """A ratio that knows nothing, called the true one."""
    setup = Setup("here", "known ratio", "wtcp-dr", 50, (0.1,), params={"ratio": "blind", "outcome_range": (-60, 60)})
    monkeypatch.setattr(coverage_draws, "loss_of", lambda *_: 0.0)
    assert verdicts(settled(setup, tmp_path)) == ["below"]


def test_a_study_goes_on_where_it_stopped(monkeypatch, tmp_path):
    made = []

    def drawn(_, number):
        made.append(number)
        return [Found("outcome", 0.1, 0.9 + 0.1 * (-1) ** number, 0.0, 0.9, np.nan)]

    monkeypatch.setattr(coverage_study, "batch", drawn)
    first = settled(SMALL, tmp_path, most=20)
    assert made == list(range(20))
    again = settled(SMALL, tmp_path, most=28)
    assert made == list(range(28))
    assert (first[0]["draws"], again[0]["draws"]) == (20, 28)
    assert again[0]["coverage"] == pytest.approx(0.9)
    assert settled(SMALL, tmp_path, most=28)[0]["error"] == again[0]["error"]
    assert made == list(range(28))
    assert coverage_study.done(SMALL, tmp_path) == []  # not certain yet


def test_cells_are_means_of_batches():
    found = [
        {"batch": number, **vars(Found("outcome", 0.1, c, 0.5, 0.9, np.nan))} for number, c in enumerate((0.8, 1.0))
    ]
    (cell,) = cells_of(SMALL, found)
    assert (cell["coverage"], cell["error"], cell["infinite"], cell["people"]) == (0.9, 0.1, 0.5, 2 * 2 * 10)
    assert np.isnan(cell["ceiling"])


def test_every_method_effect_weighting_score_and_level_is_somewhere():
    assert {setup.method for setup in SETUPS} == set(METHODS)
    assert {setup.process for setup in SETUPS} == set(PROCESSES)
    assert {setup.model.get("effect", "bonferroni") for setup in SETUPS} == set(EFFECTS)
    assert {setup.carries for setup in SETUPS} == {"", "assignment", "cluster", "target", "weights"}
    assert {name for setup in SETUPS for name in setup.model} == {"effect", "side", "gamma", "groups"}
    assert {setup.params.get("conformity_score", "absolute") for setup in SETUPS} == {"absolute", "normalised", "cqr"}
    assert {alpha for setup in SETUPS for alpha in setup.alphas} == set(LEVELS)
    assert {1, 1000} <= {setup.rows for setup in SETUPS}
    assert len({repr(setup) for setup in SETUPS}) == len(SETUPS)
    assert 280 <= sum(len(setup.alphas) * len(setup.asks) for setup in SETUPS) <= 400
    assert len({repr(setup) for setup in grid()}) == len(list(grid())) > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "setups", [SETUPS, list(grid((5,))), list(grid((20,)))], ids=["page", "grid of 5", "grid of 20"]
)
def test_every_setup_can_be_drawn(setups):
    for setup in setups:
        few = coverage_draws.replace(setup, draws=1, new=min(setup.new, 100), alphas=setup.alphas[:2])
        assert all(0 <= each.coverage <= 1 for each in batch(few, 0)), setup.name


@pytest.mark.long
def test_the_full_grid_keeps_every_promise():
    """Days of one core; it goes on where it stopped."""
    rows = coverage_study.settle(list(grid()), jobs=2)
    wrong = [(row, said) for row, said in zip(rows, verdicts(rows), strict=True) if said in ("below", "above")]
    assert not wrong
