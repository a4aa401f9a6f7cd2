"""The study of the default: its cells, its measures, and that it goes on where it stopped."""

import numpy as np
import pytest
from scipy import special, stats

from studies import default_cells, default_page, default_study
from studies.default_study import ARMS, BOTH, RIVALS

pytestmark = pytest.mark.paper
NAMES = [*RIVALS, "transfer", "transfer-centred", "prognostic"]


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Few rows and configurations, to keep the test short."""
    every = default_study.configurations()
    monkeypatch.setattr(default_study, "configurations", lambda: {name: every[name] for name in NAMES})
    monkeypatch.setattr(default_study, "KEPT", tmp_path)
    monkeypatch.setattr(default_cells, "OBSERVATIONAL", 800)
    monkeypatch.setattr(default_cells, "PAPER_OBSERVATIONAL", 800)
    monkeypatch.setattr(default_cells, "FRESH", 300)


@pytest.mark.usefixtures("quick")
def test_one_row_per_configuration_and_arm():
    found = default_study.compare_cell("paper, d = 5, m = 250", 0)
    assert [(row["configuration"], row["arm"]) for row in found] == [(name, arm) for arm in ARMS for name in NAMES]
    for row in found:
        assert 0.7 < row["coverage"] <= 1
        assert row["infinite"] == 0
        assert (row["coverage at 0.1"], row["width at 0.1"]) == (row["coverage"], row["width"])
        widths = [row[f"width at {level}"] for level in default_study.LEVELS]
        assert widths == sorted(widths)
        assert np.isnan(row["tenth_1"])


@pytest.mark.usefixtures("quick")
def test_coverage_by_tenths_is_that_of_all():
    for row in default_study.compare_cell("clinic, 75 per arm", 0):
        tenths = [row[f"tenth_{place}"] for place in range(1, 11)]
        # Exact given x on one side, counted on the other.
        assert np.mean(tenths) == pytest.approx(row["coverage"], abs=0.06)
        if row["configuration"] == RIVALS[0]:
            assert tenths[0] > tenths[-1] + 0.1


@pytest.mark.usefixtures("quick")
def test_an_arm_without_observational_rows_takes_the_others_or_is_refused():
    found = {(row["configuration"], row["arm"]): row for row in default_study.compare_cell("NSW", 0)}
    assert np.isnan(found["transfer", "Y(1)"]["coverage"])
    for name in ("transfer-centred", "prognostic"):
        assert np.isfinite(found[name, "Y(1)"]["width"])


def repetitions(factors, infinite=(), seeds=200, own=0.0, rng=0):
    """Return a cell whose widths at a level are z(level)·factor·(1 + a draw's luck), with some luck of its own each."""
    rows, rng = [], np.random.default_rng(rng)
    for seed in range(seeds):
        for arm in ARMS:
            luck = rng.normal() / 10
            for name, factor in zip((*RIVALS, "mine"), factors, strict=True):
                row = {"cell": "c", "configuration": name, "arm": arm, "seed": seed}
                lucky = 1 + luck + own * rng.normal()
                for level in default_study.LEVELS:
                    reach = -special.ndtri(level / 2) * lucky
                    endless = (name, seed, level) in infinite or (name, level) in infinite
                    row[f"coverage at {level}"] = 1 - 2 * special.ndtr(-reach)
                    row[f"width at {level}"] = np.inf if endless else factor * reach
                rows.append(row)
    return default_study.Cell(rows)


def test_widths_at_equal_coverage_leave_out_luck():
    """Methods that differ by a factor and share their luck have just that ratio; one alone, nearly its true width."""
    cell = repetitions((3.0, 2.0, 1.5))
    assert cell.rival == RIVALS[1]
    ratio, error, common = cell.ratio("mine")
    assert (ratio, error, common) == (pytest.approx(0.75), pytest.approx(0, abs=1e-12), 200)
    (widths,) = cell.equal_widths(["mine"])
    # Coverage is concave in the reach, so a random one must reach a little farther on average.
    assert widths.mean() == pytest.approx(1.5 * stats.norm.isf(0.05), rel=0.02)
    assert widths.std() < 0.2 * 1.5 * stats.norm.isf(0.05) / 10


def test_only_repetitions_that_are_infinite_at_the_levels_used_are_left_out():
    some = [("mine", 3, 0.1), ("mine", 4, 0.04), ("mine", 0.06)]
    assert repetitions((3.0, 2.0, 1.5), infinite=some).ratio("mine")[2] == 199
    refusing = repetitions((3.0, 2.0, np.nan))
    assert np.isnan(refusing.ratio("mine")[0])
    with pytest.raises(ValueError, match="no width at equal coverage"):
        repetitions((np.nan, 2.0, 1.5))


def test_the_error_of_a_ratio_is_its_spread_over_studies():
    found = np.array([repetitions((3.0, 2.0, 1.5), seeds=40, own=0.1, rng=rng).ratio("mine")[:2] for rng in range(60)])
    ratios, errors = found.T
    assert ratios.mean() == pytest.approx(0.75, abs=4 * ratios.std() / 60**0.5)
    assert 0.7 < errors.mean() / ratios.std(ddof=1) < 1.4


@pytest.mark.usefixtures("quick")
def test_repetitions_are_kept_and_a_page_is_made(monkeypatch):
    cell = "clinic, 75 per arm"
    rows = default_study.run(2, 1, [cell])
    monkeypatch.setattr(default_study, "compare_cell", None)
    np.testing.assert_equal(default_study.run(2, 1, [cell]), rows)
    table = {(row["configuration"], row["arm"]): row for row in rows}
    mine, rival = (table[name, BOTH] for name in ("prognostic", table["prognostic", BOTH]["rival"]))
    assert rival["ratio"] == 1
    assert (mine["repetitions"], mine["ratio_error"] > 0) == (2, True)
    page = default_page.page(rows)
    assert f"| {cell} | " in page
    assert "### Clinic, 75 per arm" in page
    with pytest.raises(ValueError, match="'clinc, 75 per arm' is no cell; did you mean"):
        default_study.run(1, 1, ["clinc, 75 per arm"])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("cell", default_cells.CELLS)
def test_every_cell_has_two_arms_with_a_trial(cell):
    settings = default_cells.CELLS[cell](0)
    assert [each.arm for each in settings] == list(ARMS)
    assert all(each.trial.any() and len(each.test) for each in settings)


def test_a_useless_table_keeps_the_outcomes_but_not_whose_they_are():
    plain = default_cells.clinic(20, 3)
    for one, other in zip(plain, default_cells.shuffled(plain, 3), strict=True):
        np.testing.assert_array_equal(one.y[one.trial], other.y[other.trial])
        np.testing.assert_array_equal(np.sort(one.y), np.sort(other.y))
        assert (one.y != other.y).sum() > 1000
