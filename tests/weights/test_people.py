"""Probabilities of treatments in a table of new rows."""

import numpy as np
import pyarrow as pa
import pytest

from confide import stack
from confide.weights.people import told_of_probabilities
from weighted_studies import model, study, tables

pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")


class TestProbabilitiesInATable:
    def found(self, fitted, **columns):
        return fitted.assignment_in(pa.table({"age": [0.1, 0.2], **columns}))

    def test_one_of_two_is_enough(self):
        fitted = model("transfer").fit(study())
        both = self.found(fitted, p_1=["0.3", "0.4"], p_0=[0.7, 0.6])
        assert set(both) == {0, 1}
        for given in ({"p_1": [0.3, 0.4]}, {"p_0": [0.7, 0.6]}):
            found = self.found(fitted, **given)
            for label in (0, 1):
                np.testing.assert_allclose(found[label], both[label])

    def test_none(self):
        assert self.found(model("transfer").fit(study())) == {}
        assert self.found(model("transfer").fit(study(())), p_1=[0.3, 0.4]) == {}

    def test_some_of_three(self):
        observational, trial, _ = tables()
        thirds = [table.assign(t=np.arange(len(table)) % 3) for table in (observational, trial)]
        fitted = model("transfer").fit(stack(*thirds, covariates=["age", "sex"], assignment="p"))
        with pytest.raises(ValueError, match="have p_1 and no column p_0, p_2: give the probabilities of all 3"):
            self.found(fitted, p_1=[0.3, 0.4])
        with pytest.raises(ValueError, match=r"no column p_2 \(beside p_two\): give the probabilities of all 3"):
            self.found(fitted, p_0=[0.3, 0.4], p_1=[0.3, 0.4], p_two=[0.4, 0.2])


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["age"], ""),
        (["age", "page", "pressure", "p_age"], ""),  # other words, and a covariate
        (["p_0", "p_1", "p_more"], "probabilities of treatments are read from p_0, p_1 of the new rows."),
        (["p_1"], "probabilities of treatments are read from p_1 of the new rows."),
        (
            ["p_1", "p_zero"],
            (
                "probabilities of treatments are read from p_1 of the new rows. p_zero of the new rows is not read: "
                "probabilities of treatments would be in p_0, p_1; rename it if it is one."
            ),
        ),
        (
            ["p", "P_1"],
            (
                "p, P_1 of the new rows are not read: probabilities of treatments would be in p_0, p_1; rename them if "
                "they are such. Without them the trial's smallest probabilities stand in, and intervals are wider than "
                "needed."
            ),
        ),
    ],
)
def test_what_is_said_of_columns_of_probabilities(names, told):
    assert told_of_probabilities(names, "p", [0, 1], ["age", "p_age"]) == told
    assert told_of_probabilities(names, None, [0, 1], ["age", "p_age"]) == ""
