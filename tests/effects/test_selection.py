"""Whom to choose: the rate of false picks, exactly where it can be counted, and what is refused."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals, PopulationWarning, RefusalError, load, method, select
from confide.conformal.selection import chosen, numerators
from confide.effects.selection import Selection
from confide.methods.trial_outcomes import TrialOutcomes

ROWS, NEW = 700, 60
RNG = np.random.default_rng(7)
X = RNG.normal(size=(ROWS, 2))
TRIAL = np.arange(ROWS) >= 500
HIDDEN = RNG.normal(size=ROWS)
TREATMENT = np.where(TRIAL, RNG.integers(2, size=ROWS), HIDDEN + RNG.normal(size=ROWS) > 0).astype(int)
Y = 2 * X[:, 0] + TREATMENT + HIDDEN + 0.3 * RNG.normal(size=ROWS)
PEOPLE = RNG.normal(size=(NEW, 2))


def fitted(name="transfer", y=Y, treatment=TREATMENT, study=None, **more):
    model = CounterfactualIntervals(method(name, base=LinearRegression(), random_state=0), **more)
    return model.fit(X, y, treatment, TRIAL, **(study or {}))


@pytest.fixture(scope="module")
def model():
    return fitted()


def false_share(score, y, new, c, rate):
    """The share of those chosen among the new rows whose outcome is not above c, if the others calibrate."""
    trial = ~new
    numerator = numerators(score[trial & (y <= c)], score[new])
    picked = chosen(numerator, int(trial.sum()), rate)
    return Fraction(int((y[new][picked] <= c).sum()), max(int(picked.sum()), 1))


def tables():
    """Small tables of scores and outcomes, with ties and without, with good scores and with reversed ones."""
    rng = np.random.default_rng(0)
    for kind in range(24):
        y = rng.integers(0, 3 + kind % 3, size=8).astype(float)
        noise = rng.integers(0, 3, size=8) if kind % 2 else rng.normal(size=8)
        yield (1 - 2 * (kind % 3 == 2)) * y + noise, y


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(1, 2)])
def test_the_rate_over_all_ways_in_which_rows_may_be_new_is_at_most_q(rate):
    """The rows are one bag. Which of them are new is chance: all ways are counted, in exact numbers."""
    picked_any = 0
    for score, y in tables():
        found = []
        for places in combinations(range(8), 3):
            new = np.isin(np.arange(8), places)
            found.append(false_share(score, y, new, 1, rate))
        assert sum(found) <= rate * len(found)
        picked_any += any(found)
    assert picked_any


def test_p_values_of_people_who_fall_short_are_small_no_more_often_than_they_say():
    for score, y in tables():
        for k in range(1, 9):
            small = 0
            for place in range(8):
                new = np.arange(8) == place
                small += y[place] <= 1 and numerators(score[~new & (y <= 1)], score[new])[0] <= k
            assert small <= k


def test_with_gamma_the_rate_holds_for_people_so_much_more_frequent():
    """Half of the trial falls short, and all who are asked about: twice as many. All draws of 7 people, exactly."""
    y, score, rate = np.array([0.0, 2.0]), np.zeros(2), Fraction(2, 3)
    found = {1: Fraction(0), 2: Fraction(0)}
    for kinds in product(range(2), repeat=5):
        people = np.array([*kinds, 0, 0])
        for gamma in found:
            share = false_share(score[people], y[people], np.arange(7) >= 5, 1, rate / gamma)
            found[gamma] += share / 2**5
    assert found[1] > rate
    assert 0 < found[2] <= rate


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_is_that_of_benjamini_and_hochberg(seed):
    rng = np.random.default_rng(seed)
    rows, people = int(rng.integers(1, 60)), int(rng.integers(1, 80))
    numerator = 1 + rng.integers(0, rows + 1, size=people) // rng.integers(1, 9, size=people)
    for rate in (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2)):
        adjusted = stats.false_discovery_control(numerator / (rows + 1))
        np.testing.assert_array_equal(chosen(numerator, rows, rate), adjusted <= float(rate) * (1 + 1e-12))


def test_a_rate_that_is_met_exactly_is_met():
    """0.3 is 3/10: three of ten people, 99 rows; in floats 0.3·3/10 falls short of 9/100."""
    numerator = np.array([9, 9, 9, *[100] * 7])
    assert chosen(numerator, 99, Fraction("0.3")).sum() == 3
    assert chosen(numerator, 99, Fraction("0.29")).sum() == 0


def test_p_values_by_hand(model):
    arm, c = model.arms_[1], 2.0
    mine = TRIAL & (TREATMENT == 1)
    predicted, people = arm._prognosis(X[mine]), arm._prognosis(PEOPLE)
    found = select(model, PEOPLE, 1, above=c, fdr=0.2)
    expected = [(1 + np.sum((Y[mine] <= c) & (predicted >= each))) / (mine.sum() + 1) for each in people]
    np.testing.assert_allclose(found.p_values, expected)
    np.testing.assert_array_equal(found.selected, stats.false_discovery_control(expected) <= 0.2)
    assert (found.rows, found.reached) == (mine.sum(), (Y[mine] > c).sum())
    assert 0 < found.selected.sum() < NEW
    assert people[found.selected].min() > people[~found.selected].max()


def test_naive_learns_from_one_half_and_calibrates_on_the_other():
    model, c = fitted("naive"), 2.0
    arm, mine = model.arms_[1], np.flatnonzero(TRIAL & (TREATMENT == 1))
    learns = arm._learning_rows(TRIAL[TREATMENT == 1])[TRIAL[TREATMENT == 1]]
    fit, calibration = mine[learns], mine[~learns]
    line = LinearRegression().fit(X[fit], Y[fit])
    score, people = line.predict(X[calibration]), line.predict(PEOPLE)
    found = select(model, PEOPLE, 1, above=c, fdr=0.2)
    expected = [(1 + np.sum((Y[calibration] <= c) & (score >= each))) / (len(calibration) + 1) for each in people]
    np.testing.assert_allclose(found.p_values, expected)
    assert found.selected.any()


def test_below_mirrors_above(model):
    turned = fitted(y=-Y)
    below = select(model, PEOPLE, 0, below=-1.5, fdr=0.2)
    above = select(turned, PEOPLE, 0, above=1.5, fdr=0.2)
    assert below.selected.any()
    np.testing.assert_array_equal(below.selected, above.selected)
    np.testing.assert_array_equal(below.p_values, above.p_values)
    assert below.reached == (Y[TRIAL & (TREATMENT == 0)] < -1.5).sum()


def test_rows_on_the_value_fall_short_and_ties_count_in_full():
    ones = (Y > 1).astype(float)
    with pytest.warns(UserWarning, match="the outcome is 0 or 1"):
        model = fitted(y=ones)
    found = select(model, PEOPLE, 1, above=0)
    assert found.reached == ones[TRIAL & (TREATMENT == 1)].sum()
    assert found.selected.any()
    assert not select(model, PEOPLE, 1, above=1, fdr=0.9).reached
    np.testing.assert_array_equal(numerators(np.array([1.0, 2.0, 2.0]), np.array([0.0, 1.0, 2.0, 3.0])), [4, 4, 3, 1])


def test_scores_that_differ_by_rounding_are_tied():
    np.testing.assert_array_equal(numerators(np.array([1.0]), np.array([1 + 1e-12, 1 + 1e-6]), 1e-9), [2, 1])
    coarse = np.repeat(np.array([[0.1, 0.7], [0.3, 0.9]]), 350, axis=0)[np.arange(ROWS) * 37 % ROWS]
    model = CounterfactualIntervals("transfer", base="ridge", random_state=0).fit(coarse, Y, TREATMENT, TRIAL)
    together = select(model, coarse[:40], 1, above=2).p_values
    alone = [select(model, coarse[place : place + 1], 1, above=2).p_values[0] for place in range(40)]
    np.testing.assert_array_equal(together, alone)
    assert len(set(together)) == 2


@pytest.mark.parametrize("name", ["transfer", "transfer-centred", "prognostic", "naive"])
def test_a_saved_model_chooses_the_same(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model.confide")
    first, second = (select(each, PEOPLE, 1, above=1) for each in (model, load(tmp_path / "model.confide")))
    np.testing.assert_array_equal(first.p_values, second.p_values)
    np.testing.assert_array_equal(first.selected, second.selected)
    assert first.found_at_all == second.found_at_all


def test_the_level_side_and_groups_have_no_part_in_it(model):
    found = select(model, PEOPLE, 1, above=2, fdr=0.2)
    for other in (model.with_alpha(0.3), fitted(side="lower")):
        again = select(other, PEOPLE, 1, above=2, fdr=0.2)
        np.testing.assert_array_equal(again.selected, found.selected)
        np.testing.assert_array_equal(again.p_values, found.p_values)
    table, people = (pd.DataFrame(rows, columns=["a", "b"]).assign(old=rows[:, 1] > 1) for rows in (X, PEOPLE))
    plain, grouped = (
        CounterfactualIntervals("transfer", base="ridge", alpha=0.3, groups=groups, random_state=0).fit(
            table, Y, TREATMENT, TRIAL
        )
        for groups in (None, "old")
    )
    assert len(grouped.groups_.names) == 2
    first, second = (select(each, people, 1, above=2, fdr=0.2).p_values for each in (plain, grouped))
    np.testing.assert_array_equal(first, second)


def test_gamma_divides_the_rate(model):
    half = select(model, PEOPLE, 1, above=2, fdr=0.1)
    found = select(model.with_gamma(2), PEOPLE, 1, above=2, fdr=0.2)
    np.testing.assert_array_equal(found.selected, half.selected)
    np.testing.assert_array_equal(found.p_values, half.p_values)
    assert (found.fewest, found.gamma, found.fdr) == (half.fewest, 2.0, 0.2)


def test_thinned_rows_are_as_frequent_as_in_the_trial():
    """A row of probability π is kept with the chance π_min/π, and those of the smallest always."""
    assignment = np.where(TRIAL, np.where(X[:, 1] > 0, 0.8, 0.2), 1.0)
    received = np.where(RNG.random(ROWS) < assignment, 1, 0)
    stated = np.where(received == 1, assignment, 1 - assignment)
    model = fitted(treatment=np.where(TRIAL, received, TREATMENT), study={"assignment": stated})
    mine = TRIAL & (received == 1)
    trial = model.arms_[1].trial_outcomes_
    assert set(Y[mine & (stated == 0.2)]) <= set(trial.y) <= set(Y[mine])
    assert len(trial) < mine.sum() / 2
    assert select(model, PEOPLE, 1, above=2).rows == len(trial)
    assert select(fitted(), PEOPLE, 1, above=2).rows == np.sum(TRIAL & (TREATMENT == 1))


def test_thinning_keeps_each_row_with_its_chance():
    chance = np.array([1.0, 0.5, 0.1])
    rows = np.arange(3.0)
    kept = np.mean(
        [np.isin(rows, TrialOutcomes.thinned(rows, rows, 0.0, chance, seed).y) for seed in range(2000)], axis=0
    )
    assert kept[0] == 1
    np.testing.assert_allclose(kept, chance, atol=0.04)


@pytest.mark.parametrize("name", ["transfer", "naive"])
def test_chances_are_those_of_the_rows_that_calibrate(name):
    """The rows that were kept, and no others, are found again by their outcomes."""
    stated = np.where(X[:, 1] > 0, 0.75, 0.25)
    arm = fitted(name, study={"assignment": stated}).arms_[0]
    trial, mine = arm.trial_outcomes_, np.flatnonzero(TRIAL & (TREATMENT == 0))
    learns = arm._learning_rows(TRIAL[TREATMENT == 0])[TRIAL[TREATMENT == 0]]
    calibrate = mine[~learns]
    likely = np.isin(Y[calibrate], trial.y)
    assert likely[stated[calibrate] == 0.25].all()
    assert 0.1 < likely[stated[calibrate] == 0.75].mean() < 0.6
    assert likely.sum() == len(trial)


def test_what_the_trial_could_find_at_all():
    def found(people, rows, fdr=0.1, gamma=1.0):
        return Selection(np.zeros(people, dtype=bool), np.ones(people), 1, "above", 600.0, fdr, gamma, rows, 12)

    some = found(1000, 99)
    assert (some.smallest, some.fewest) == (0.01, 100)
    assert some.found_at_all == (
        "99 trial rows under treatment 1 count, 12 of them above 600. The smallest p-value that so many rows can give "
        "is 0.01, so of these 1,000 people either at least 100 are chosen or nobody."
    )
    assert found(1000, 99, gamma=2.0).fewest == 200
    assert found(5, 99).found_at_all.endswith("so even one of these 5 people could be chosen alone.")
    assert found(1000, 8).found_at_all.endswith("so nobody can be chosen at this rate: it takes 9 rows.")
    assert found(1000, 9).fewest == 1000
    assert found(0, 99).found_at_all.endswith("can give is 0.01.")
    # Nobody is chosen one short of it, and all are at it, even if all have the smallest p-value.
    for count in (99, 100):
        numerator = np.where(np.arange(1000) < count, 1, 100)
        assert chosen(numerator, 99, Fraction(1, 10)).sum() == (count if count == 100 else 0)


@pytest.mark.parametrize(("rows", "reached", "told"), [(60, 59, True), (60, 54, True), (60, 53, False), (0, 0, False)])
def test_a_value_that_nearly_everybody_reaches(rows, reached, told):
    found = Selection(np.zeros(5, dtype=bool), np.ones(5), "B", "below", 30.0, 0.1, 1.0, rows, reached)
    said = (
        f"The list tells little: {reached} of {rows} trial people under B are below 30, and nearly everybody like them "
        "will be."
    )
    assert found.tells_little == (said if told else "")


def test_an_empty_list_says_what_helps_another_time():
    def found(people, rows, chosen=0):
        return Selection(np.arange(people) < chosen, np.ones(people), 1, "above", 600.0, 0.1, 1.0, rows, 12)

    told = found(1000, 99).next_time
    assert told == (
        "The list is empty. Another time, state a larger rate before you look, or plan more trial rows under treatment "
        "1: if 199 count, the smallest p-value is half as large, and 50 people at once are enough. Another rate or "
        "value for this list voids the promise."
    )
    assert (found(1000, 199).smallest, found(1000, 199).fewest) == (found(1000, 99).smallest / 2, 50)
    assert "look, or plan that many trial rows. Another rate" in found(1000, 8).next_time
    assert "state a larger rate before you look. Another rate" in found(5, 99).next_time
    assert found(1000, 99, chosen=100).next_time == found(0, 99).next_time == ""


def test_the_promise_is_two_sentences(model):
    told = select(model, PEOPLE, 1, below=3, fdr=0.05).promise
    assert told.startswith("On average over trials and lists like these, at most 5 % of the people on a list do not")
    assert "an outcome below 3 under treatment 1" in told
    assert told.count(". ") == 1
    asked = select(model.with_gamma(1.5), PEOPLE, 1, below=3, fdr=0.05).promise
    assert "under treatment 1, if people are at most 1.5 times as frequent as in the trial; an empty list" in asked


def test_nobody_asked_is_nobody_chosen(model):
    found = select(model, PEOPLE[:0], 1, above=2)
    assert len(found) == len(found.p_values) == 0


def test_people_unlike_the_trial_are_pointed_out(model):
    with pytest.warns(PopulationWarning) as caught:
        select(model, PEOPLE + 9, 1, above=2)
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_what_is_refused(model):
    with pytest.raises(ValueError, match="give above or below, and one of them, got above=None and below=None"):
        select(model, PEOPLE, 1)
    with pytest.raises(ValueError, match="got above=1 and below=2"):
        select(model, PEOPLE, 1, above=1, below=2)
    with pytest.raises(ValueError, match="above must be a finite number, got nan"):
        select(model, PEOPLE, 1, above=float("nan"))
    with pytest.raises(ValueError, match="fdr must lie strictly between 0 and 1, got 1"):
        select(model, PEOPLE, 1, above=1, fdr=1)
    with pytest.raises(ValueError, match="treatment 7 is unknown"):
        select(model, PEOPLE, 7, above=1)
    with pytest.raises(RefusalError, match=r"wscp-dr-calibrated learns from trial rows .* Use prognostic, transfer"):
        select(fitted("wscp-dr-calibrated"), PEOPLE, 1, above=1)


@pytest.mark.parametrize(
    ("part", "why"), [("cluster", "people of one cluster depend on each other"), ("target", "is estimated")]
)
def test_studies_for_which_no_rate_is_proved_are_refused(part, why):
    study = {"cluster": np.arange(ROWS) // 2} if part == "cluster" else {"target": PEOPLE}
    model = fitted(study=study)
    with pytest.raises(
        RefusalError, match=f"the study has a {part}, and no false discovery rate is proved.*{why}"
    ) as told:
        select(model, PEOPLE, 1, above=1)
    assert str(told.value).endswith(
        "whose promise is for all people together, not for those picked by their intervals."
    )


def test_three_arms_with_unequal_probabilities_are_refused():
    rng = np.random.default_rng(0)
    X, trial, treatment = rng.normal(size=(300, 1)), np.arange(300) >= 150, rng.integers(3, size=300)
    assignment = np.where(X[:, 0] > 0, 0.3, 0.35)
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, random_state=0)
    model.fit(X, X[:, 0], treatment, trial, assignment=assignment)
    with pytest.raises(RefusalError, match="two treatments"):
        select(model, X[:5], 1, above=0.0)


def test_other_treatments_under_one_label_make_two_arms_that_choose():
    """The arm keeps its rows, its predictions and its probability, and thinning follows the smallest of all rows."""
    rng = np.random.default_rng(0)
    X, trial = rng.normal(size=(900, 1)), np.arange(900) >= 400
    mine = np.where(X[:, 0] > 0, 0.6, 0.3)
    others = np.where(rng.random(900) < 0.5, 0, 2)
    treatment = np.where(rng.random(900) < mine, 1, others)
    stated = np.where(treatment == 1, mine, (1 - mine) / 2)
    y = X[:, 0] + rng.normal(size=900)
    model = CounterfactualIntervals("transfer", base="ridge", random_state=0)
    three = clone(model).fit(X, y, treatment, trial, assignment=stated)
    with pytest.raises(RefusalError, match="one label"):
        select(three, X[:5], 1, above=0.0)
    two = clone(model).fit(
        X, y, np.where(treatment == 1, 1, 9), trial, assignment=np.where(treatment == 1, mine, 1 - mine)
    )
    np.testing.assert_array_equal(two.arms_[1].predict(two.encode(X)), three.arms_[1].predict(three.encode(X)))
    kept, own = two.arms_[1].trial_outcomes_.y, trial & (treatment == 1)
    assert set(y[own & (mine == 0.3)]) <= set(kept) <= set(y[own])
    assert 0.35 < np.isin(y[own & (mine == 0.6)], kept).mean() < 0.65
    assert select(two, X[:5], 1, above=0.0).rows == len(kept)
