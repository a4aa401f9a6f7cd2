"""What the page says about the trial's lot."""

import pytest

from confide.diagnostics import balance
from confide.diagnostics.randomisation import Randomisation
from confide.report.findings import most_unbalanced
from report_pages import fitted, study_of


@pytest.mark.parametrize("labels", [("placebo", "drug"), ("placebo", "drug", "surgery")])
def test_what_differs_most_is_told_as_the_table_of_balance_has_it(labels):
    study = study_of(400, 210, labels)
    model = fitted(study=study, alpha=0.3, control="placebo")
    found = model.randomisation_
    records = balance(study, control="placebo")
    assert found.treatment in labels
    mine = [each for each in records if each.comparison.startswith("trial: ") and each.covariate == found.covariate]
    assert len(mine) == len(labels) - 1
    most = max(mine, key=lambda each: abs(each.smd))
    number = f"{most.smd:.3g}".replace("-", "−")
    told = most_unbalanced(found, records)
    assert told == f"{found.covariate} ({most.comparison}, {number} standard deviations)"
    if len(labels) == 2:
        assert most.comparison == "trial: drug against placebo"


def test_without_a_record_the_tests_own_difference_is_told():
    told = most_unbalanced(Randomisation(0.5, "age", -0.25, 100, "drug"), [])
    assert told == "age (trial: drug against the rest, −0.25 standard deviations)"
