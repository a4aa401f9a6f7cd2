import numpy as np
import pyarrow.compute as pc
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from confide import CounterfactualIntervals, stack
from confide.datasets import load_within_study
from confide.datasets.dataset import bundled
from confide.diagnostics import hidden_confounding_test

PARTS = ("observational", "trial", "test")
DRIVERS = {"mathLike", "AMAS", "MCS", "calc"}
PEOPLE = bundled("within_study")


def numbers(table):
    return np.column_stack([column.to_numpy() for column in table.columns])


def identities(table):
    """Position of each row among all people, who differ in their other columns than the choice."""
    everybody = numbers(PEOPLE.select(table.column_names)).tolist()
    where = {tuple(person): position for position, person in enumerate(everybody)}
    assert len(where) == len(everybody)
    return np.array([where[tuple(person)] for person in numbers(table).tolist()])


def covariates(table):
    return numbers(table.drop_columns(["mathGrp", "mathPost"]))


def test_the_table_is_the_one_of_the_source():
    assert (PEOPLE.num_rows, PEOPLE.num_columns) == (2200, 28)
    assert sum(column.null_count for column in PEOPLE.columns) == 0
    lot, choice, outcome = (PEOPLE[name].to_numpy() for name in ("mathGrp", "mathSel", "mathPost"))
    assert [[int(((lot == t) & (choice == c)).sum()) for c in (0, 1)] for t in (0, 1)] == [[817, 319], [776, 288]]
    # The means of the arms that the authors print: 8.5695, and 0.7603 more with the mathematics training.
    assert outcome[lot == 0].mean() == pytest.approx(8.5695, abs=5e-5)
    assert outcome[lot == 1].mean() - outcome[lot == 0].mean() == pytest.approx(0.7603, abs=5e-5)
    assert (outcome.min(), outcome.max()) == (0, 15)


def test_sizes_and_columns():
    data, open_data = load_within_study(), load_within_study(hidden=False)
    assert (data.treatment, data.outcome) == ("mathGrp", "mathPost")
    assert (len(data.trial), len(data.test), len(data.observational)) == (60, 500, 815)
    for part in PARTS:
        names = set(getattr(data, part).column_names)
        assert names == set(PEOPLE.column_names) - DRIVERS - {"mathSel"}
        assert set(getattr(open_data, part).column_names) == names | DRIVERS
        assert getattr(open_data, part).select(getattr(data, part).column_names).equals(getattr(data, part))


@pytest.mark.parametrize("size", [10, 60, 61, 1000])
def test_the_trial_has_as_many_people_of_each_training(size):
    for seed in range(3):
        lot = load_within_study(size, seed).trial["mathGrp"].to_numpy()
        assert (len(lot), int((lot == 0).sum())) == (size, (size + 1) // 2)


@pytest.mark.parametrize("size", [10, 60, 1000])
def test_no_person_is_in_two_parts_and_only_those_who_got_their_choice_are_observational(size):
    lot, choice = PEOPLE["mathGrp"].to_numpy(), PEOPLE["mathSel"].to_numpy()
    for seed in range(3):
        data = load_within_study(size, seed, hidden=False)
        found = {part: identities(getattr(data, part)) for part in PARTS}
        together = np.concatenate(list(found.values()))
        assert len(np.unique(together)) == len(together)
        assert (lot[found["observational"]] == choice[found["observational"]]).all()
        # Nobody who could be observational is left out.
        left_out = np.setdiff1d(np.arange(2200), together)
        assert (lot[left_out] != choice[left_out]).all()


def test_the_seed_decides_and_the_arguments_change_no_more_than_they_must():
    data, again, other = load_within_study(), load_within_study(60, 0), load_within_study(random_state=1)
    for part in PARTS:
        assert getattr(data, part).equals(getattr(again, part))
        assert not getattr(data, part).equals(getattr(other, part))
    large = load_within_study(1000)
    assert large.test.equals(data.test)
    assert large.trial.slice(0, 60).equals(data.trial)


def test_in_trial_and_test_part_the_lot_depends_neither_on_the_choice_nor_on_covariates():
    # Over draws every person is as often in the trial as the others of the same lot, whatever the choice: a share of
    # people who got their choice in the trial and in the test part as among everybody. 4 tests at 1 % together.
    lot, choice = PEOPLE["mathGrp"].to_numpy(), PEOPLE["mathSel"].to_numpy()
    draws = [load_within_study(200, seed, hidden=False) for seed in range(20)]
    for part in ("trial", "test"):
        drawn = [identities(getattr(data, part)) for data in draws]
        for label in (0, 1):
            agree = [(choice[rows[lot[rows] == label]] == label).mean() for rows in drawn]
            assert stats.ttest_1samp(agree, (choice[lot == label] == label).mean()).pvalue > 0.01 / 4
    # The lot itself: no covariate is related to it among all people, 25 tests at 1 % together.
    names = [name for name in PEOPLE.column_names if name not in ("mathGrp", "mathSel", "mathPost")]
    values = [PEOPLE[name].to_numpy() for name in names]
    assert min(stats.ttest_ind(each[lot == 0], each[lot == 1]).pvalue for each in values) > 0.01 / 25


@pytest.mark.parametrize(("label", "difference"), [(1, 0.8), (0, -1.0)])
def test_who_got_the_choice_differs_at_equal_covariates_as_documented(label, difference):
    arm = PEOPLE.filter(pc.field("mathGrp") == label)
    got = (arm["mathSel"].to_numpy() == label).astype(float)
    outcome = arm["mathPost"].to_numpy()
    kept = [name for name in arm.column_names if name not in DRIVERS | {"mathGrp", "mathSel", "mathPost"}]
    for names, expected in ((kept, difference), (kept + sorted(DRIVERS), 0.4 if label else -0.3)):
        model = LinearRegression().fit(np.column_stack([got, numbers(arm.select(names))]), outcome)
        assert round(model.coef_[0], 1) == expected


def test_covariates_explain_about_60_percent():
    data = load_within_study()
    shown = PEOPLE.select(data.trial.column_names)
    for label in (0, 1):
        arm = shown.filter(pc.field("mathGrp") == label)
        model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 20)))
        outcome = arm["mathPost"].to_numpy()
        predicted = cross_val_predict(model, covariates(arm), outcome, cv=10)
        assert 1 - np.mean((outcome - predicted) ** 2) / outcome.var() == pytest.approx(0.6, abs=0.02)


@pytest.mark.slow
def test_the_observational_table_is_confounded_given_the_covariates():
    # All people: those who got their choice against those who did not, as many as there are. In one draw the test
    # sees less, since a trial also holds people who got their choice, and a trial of 60 sees nothing.
    shown = PEOPLE.drop_columns(["mathSel", "mathGrp", "mathPost", *DRIVERS])
    lot, choice, outcome = (PEOPLE[name].to_numpy() for name in ("mathGrp", "mathSel", "mathPost"))
    found = {record.treatment: record for record in hidden_confounding_test(shown, outcome, lot, lot != choice)}
    assert max(found[0].p_value, found[1].p_value) <= 0.001  # as small as 1,999 draws allow
    assert found[0].bias < 0 < found[1].bias


@pytest.mark.slow
def test_a_model_fits_and_covers():
    data = load_within_study()
    study = stack(data.observational, data.trial, treatment=data.treatment, outcome=data.outcome)
    model = CounterfactualIntervals("transfer-centred", random_state=0).fit(*study)
    new = data.test.drop_columns([data.treatment, data.outcome])
    intervals = model.predict_interval(new, treatment=data.test[data.treatment].to_numpy())
    # Coverage given 30 trial rows an arm is about Beta(28, 3); 0.7 is far below it.
    assert intervals.contains(data.test[data.outcome].to_numpy()).mean() > 0.7


@pytest.mark.parametrize(("size", "shown"), [(9, "9"), (1001, "1001"), (60.0, r"60\.0"), (True, "True")])
def test_bad_sizes_are_named(size, shown):
    with pytest.raises(ValueError, match=rf"whole number from 10 to 1000, got {shown}.*2200 people"):
        load_within_study(size)


def test_the_choice_is_shown_on_request_only_and_nothing_else_changes():
    plain, shown = load_within_study(), load_within_study(choice=True)
    assert "mathSel" not in plain.trial.column_names
    assert shown.test.drop_columns(["mathSel"]).equals(plain.test)
    table = shown.observational
    assert table["mathSel"].equals(table["mathGrp"])
    assert set(shown.test["mathSel"].to_pylist()) == {0, 1}
