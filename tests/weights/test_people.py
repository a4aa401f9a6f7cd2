"""Probabilities of treatments in a table of new rows."""

import numpy as np
import pyarrow as pa
import pytest

from confide import stack
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
