"""Every table from end to end at small sizes: all rows, the paper's beside them, and honest about what is missing."""

import csv
import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from confide.base.csv_rows import read_rows
from confide.data.splits import Rows
from confide.paper import TABLES, Reproduction, figures, rating_tables, synthetic_tables
from confide.paper.protocols import NOT_YAHOO, PROTOCOLS
from confide.paper.runs import Part
from confide.plot import canvas
from confide.ratio import OracleRatio
from confide.recommend import MatrixFactorization
from small_reproduction import SMALL, write_coat, write_yahoo

pytestmark = [pytest.mark.paper, pytest.mark.xdist_group("reproduced")]

PNG = b"\x89PNG"


def reproduce(name, out, **options):
    plan = Reproduction.of(name, **{"seeds": 1, "jobs": 1, "out": out, "settings": SMALL, **options})
    told = []
    found = plan.run(told.append)
    assert sum(told) == len(plan)
    return found


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    """All tables but those of ratings, in one folder, so that cells are shared."""
    out = tmp_path_factory.mktemp("all")
    names = ("table2", "nested", "ratio", "dimension", "trial-size", "theorem")
    return {name: reproduce(name, out)[0] for name in names}


def methods(found, **wanted):
    rows = [row for row in found.rows if all(row[key] == value for key, value in wanted.items())]
    return list(dict.fromkeys(row["method"] for row in rows))


def test_table2_has_all_rows(synthetic):
    found = synthetic["table2"]
    for target in ("Y(0)", "Y(1)", "ITE"):
        assert methods(found, target=target) == [*synthetic_tables.ROWS, "oracle", "wtcp-dr, refits"]
    asked = {row["method"]: row["tested"] for row in found.rows}
    assert asked["wtcp-dr, refits"] == SMALL.n_refit
    assert asked["wtcp-dr"] == SMALL.n_test
    assert all(0 <= row["coverage"] <= 1 for row in found.rows if row["method"] != "oracle")


def test_the_effect_is_the_difference_of_the_arms(synthetic):
    """Both at α: its width is the sum of theirs, for methods that have no empty set."""
    widths = {(row["method"], row["target"]): row["width"] for row in synthetic["table2"].rows if not row["infinite"]}
    for name in ("naive", "wcp", "transfer", "transfer-centred", "pooled-dr"):
        assert widths[name, "ITE"] == pytest.approx(widths[name, "Y(0)"] + widths[name, "Y(1)"], abs=1e-5)
    assert "each at α as in the paper" in synthetic["table2"].ours


def test_plain_models_on_the_trial_alone_stand_beside_naive(synthetic):
    for name in ("table2", "nested", "dimension", "trial-size"):
        assert {"constant, trial alone", "ridge, trial alone"} <= set(methods(synthetic[name]))


def test_intervals_that_end_where_the_search_did_are_counted(synthetic):
    """A search that reaches no outcome has all its intervals at its ends; other methods have none."""
    rows = synthetic["table2"].rows
    assert all(row["edge"] == 0 for row in rows if row["method"] in ("naive", "transfer", "wscp-dr-exact"))
    searched = [row["edge"] for row in rows if row["method"] == "wtcp-dr" and row["target"] != "ITE"]
    assert all(0 <= share <= 1 for share in searched)
    task = synthetic_tables.refit_tasks(SMALL, 1)[0]
    rows = [
        {"arm": arm, "seed": 0, "row": place, "lower": middle - reach, "upper": middle + reach, "truth": middle}
        for arm, middle in enumerate([0.3, 0.9])
        for place, reach in enumerate([9.0, 0.01])
    ]
    joined = synthetic_tables.join_refits([Part(task, rows, 0.0)])
    assert [row["edge"] for row in joined] == [0.5, 0.5, 0.0]


def test_nested_has_both_forms_and_the_transductive_method(synthetic):
    for form in ("inexact", "exact"):
        assert methods(synthetic["nested"], form=form) == list(synthetic_tables.ROWS)
    assert {line.method for line in synthetic["nested"].lines if line.target != "ITE"} == set()
    oracle = [line for line in synthetic["nested"].lines if line.method == "oracle"]
    assert [line.group for line in oracle] == ["inexact", "exact"]
    assert "α in both steps" in synthetic["nested"].ours


def test_ratio_has_both_ratios(synthetic):
    for ratio in ("MLP", "kernel"):
        assert set(methods(synthetic["ratio"], ratio=ratio)) == set(synthetic_tables.WEIGHTED)
    assert {"transfer", "transfer-centred", "oracle"} <= set(methods(synthetic["ratio"], ratio=""))


def test_sweeps_have_every_cell_and_say_what_is_infinite(synthetic):
    assert {row["d"] for row in synthetic["dimension"].rows} == set(SMALL.dimensions)
    assert {row["m"] for row in synthetic["trial-size"].rows} - {""} == set(SMALL.trial_sizes)
    few = [line for line in synthetic["trial-size"].lines if line.group == "m = 4" and line.method == "naive"]
    assert all(line.infinite == 1 or line.refused for line in few)
    assert all(line.width is None or math.isinf(line.width.mean) for line in few)
    oracle = [line for line in synthetic["trial-size"].lines if line.method == "oracle" and line.target == "Y(0)"]
    assert [line.group for line in oracle] == ["m = 4", "m = 44"]


def test_tables_share_their_cells(synthetic, tmp_path):
    """Table 2's cell is that of the sweeps, and is worked out once."""
    cell = [row for row in synthetic["table2"].rows if row["method"] == "naive"]
    for name in ("dimension", "trial-size"):
        assert [row for row in synthetic[name].rows if (row["method"], row["d"], row["m"]) == ("naive", 1, 44)] == cell
    plan = Reproduction.of("all", seeds=1, jobs=1, out=tmp_path, settings=SMALL)
    assert len(plan) < sum(len(tasks) for tasks in plan.tasks.values())


def test_figures_where_the_paper_has_figures(synthetic):
    for name, found in synthetic.items():
        pictures = [path for path in found.files if path.endswith(".png")]
        assert len(pictures) == (name in ("dimension", "trial-size"))
    for name in ("dimension", "trial-size"):
        path = next(path for path in map(Path, synthetic[name].files) if path.suffix == ".png")
        before = path.read_bytes()
        assert before.startswith(PNG)
        assert b"tEXt" not in before
        figures.draw(path, name, synthetic[name].rows, synthetic[name].lines)
        assert path.read_bytes() == before


def test_without_matplotlib_there_is_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(canvas, "find_spec", lambda _: None)
    quick = {"settings": type(SMALL)(**{**vars(SMALL), "dimensions": (1,), "n": 80, "n_test": 5})}
    (found,) = reproduce("dimension", tmp_path, **quick)
    assert found.notes[-1] == figures.MISSING
    assert not list(tmp_path.glob("*.png"))


def test_refits_of_an_arm_that_is_refused():
    rows = [{"arm": 1, "seed": 0, "row": 0, "lower": 0.0, "upper": 1.0, "truth": 0.5}]
    task = synthetic_tables.refit_tasks(SMALL, 1)[0]
    joined = synthetic_tables.join_refits([Part(task, rows, 0.0)])
    assert [row["target"] for row in joined] == ["Y(0)", "Y(1)", "ITE"]
    assert all(math.isnan(row["coverage"]) for row in joined)


def test_seeds_and_times(tmp_path):
    found = reproduce("theorem", tmp_path, seeds=3)[0]
    assert found.seeds == 3
    assert [row["repetitions"] for row in found.rows] == [3 * SMALL.draws] * SMALL.cases
    times = read_rows(tmp_path / "times.csv")
    assert len(times) == 3 * SMALL.cases
    assert sum(row["seconds"] for row in times) == pytest.approx(found.seconds)
    assert "seconds" not in (tmp_path / "theorem.csv").read_text(encoding="utf-8")


def test_tables_of_earlier_runs_keep_their_times(tmp_path):
    reproduce("theorem", tmp_path, seeds=1)
    first = read_rows(tmp_path / "times.csv")
    reproduce("ratio", tmp_path, seeds=1)
    both = read_rows(tmp_path / "times.csv")
    assert [row["table"] for row in both] == ["ratio"] * (len(both) - len(first)) + ["theorem"] * len(first)
    assert both[-len(first) :] == first
    reproduce("theorem", tmp_path, seeds=1)
    assert read_rows(tmp_path / "times.csv") == both


def test_files_that_a_table_does_not_need_are_told(tmp_path):
    plan = Reproduction.of("theorem", out=tmp_path, coat="nowhere", yahoo="nowhere", settings=SMALL)
    assert plan.notes == [
        "theorem needs no files of Coat: --coat was not read.",
        "theorem needs no files of Yahoo! R3: --yahoo was not read.",
    ]


def test_jobs_change_nothing(tmp_path):
    for jobs in (1, 2):
        reproduce("theorem", tmp_path / str(jobs), seeds=2, jobs=jobs)
    first, second = (tmp_path / str(jobs) / "theorem.csv" for jobs in (1, 2))
    assert first.read_bytes() == second.read_bytes()


RATED = {"coverage", "width", "infinite", "clipped", "ratings"}


def check_ratings(found, cells=1, oracle=False):
    for row in found.rows:
        assert set(row) >= RATED
        assert 0 <= row["clipped"] <= 4
        assert 0 <= row["ratings"] <= 5
        assert row["infinite"] > 0 or row["clipped"] <= row["width"] + 1e-6
    expected = [*rating_tables.ROWS, *["oracle"] * oracle]
    assert list(dict.fromkeys(row["method"] for row in found.rows)) == expected
    assert len(found.rows) == cells * len(expected)


@pytest.fixture
def coat_folder(tmp_path, monkeypatch):
    folder = tmp_path / "coat"
    folder.mkdir()
    return write_coat(folder, monkeypatch)


def test_coat_and_its_splits(coat_folder, tmp_path):
    (found,) = reproduce("coat", tmp_path / "out", coat=str(coat_folder))
    check_ratings(found)
    assert {(row["fit"], row["calibration"]) for row in found.rows} == {SMALL.coat}
    assert "drop_duplicates=True" in found.ours
    (splits,) = reproduce("coat-splits", tmp_path / "out", coat=str(coat_folder))
    check_ratings(splits, cells=3)
    assert {(row["fit"], row["calibration"]) for row in splits.rows} == {(20, 10), (20, 20), (10, 20)}
    assert len({row["tested"] for row in splits.rows}) == 1
    assert [row for row in splits.rows if (row["fit"], row["calibration"]) == SMALL.coat] == found.rows
    assert any(path.endswith("coat-splits.png") for path in splits.files)


def test_without_yahoos_files_ratings_are_simulated_and_say_so(tmp_path):
    (found,) = reproduce("yahoo", tmp_path)
    check_ratings(found, oracle=True)
    assert {row["data"] for row in found.rows} == {"simulated"}
    assert found.title.endswith("(simulated)")
    assert found.notes == [NOT_YAHOO]


def test_with_yahoos_files_nothing_is_simulated(tmp_path, monkeypatch):
    folder = tmp_path / "files"
    folder.mkdir()
    write_yahoo(folder, monkeypatch)
    (found,) = reproduce("yahoo", tmp_path / "out", yahoo=str(folder))
    check_ratings(found)
    assert {row["data"] for row in found.rows} == {"Yahoo! R3"}
    assert (found.title, found.notes) == ("Yahoo! R3 ratings", [])


def test_other_files_are_other_repetitions(coat_folder, tmp_path, monkeypatch):
    """A part is that of the files' content, wherever they are."""
    plans = [Reproduction.of("coat", out=tmp_path / "out", settings=SMALL, coat=str(coat_folder))]
    moved = coat_folder.rename(tmp_path / "moved")
    plans.append(Reproduction.of("coat", out=tmp_path / "out", settings=SMALL, coat=str(moved)))
    write_coat(moved, monkeypatch, users=25)
    plans.append(Reproduction.of("coat", out=tmp_path / "out", settings=SMALL, coat=str(moved)))
    first, second, third = ({task.digest for task in plan.tasks["coat"]} for plan in plans)
    assert first == second
    assert not first & third


def test_the_sets_of_ratings_are_exact(tmp_path):
    """wtcp-dr on the five values: its hull is within the scale, and at most one less than the number of ratings."""
    (found,) = reproduce("yahoo", tmp_path)
    row = next(row for row in found.rows if row["method"] == "wtcp-dr")
    assert row["width"] == row["clipped"]
    assert row["ratings"] <= row["width"] + 1


class Recording(DummyRegressor):
    """A constant that keeps what it has seen."""

    seen: ClassVar = []

    def fit(self, X, y):
        self.seen.append((X, y))
        return super().fit(X, y)


def test_penalties_are_chosen_by_the_rows_that_fit():
    """`estimators` splits the observational ratings as the methods do: no calibration row chooses a penalty."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(np.argwhere(np.ones((30, 20))))[:200].astype(float)
    observational, trial = Rows(pairs[:150], rng.integers(1, 6, 150).astype(float)), pairs[150:]
    made = rating_tables.estimators(observational, 2, 0.5, seed=3)
    chosen = made["wscp-dr-exact"].second_stage[0].estimator
    arm = made["wtcp-dr"].set_params(base=Recording(), ratio=OracleRatio(lambda rows: np.ones(len(rows))))
    X, y = np.concatenate([observational.X, trial]), np.concatenate([observational.y, rng.integers(1, 6, 50)])
    arm.fit(X, y, trial=np.arange(200) >= 150)
    ((fitted, outcomes),) = Recording.seen
    assert len(fitted) == 120
    again = MatrixFactorization(2, random_state=3).fit(fitted, outcomes)
    np.testing.assert_array_equal(again.predict(trial), chosen.predict(trial))


def test_every_table_has_a_protocol():
    assert list(PROTOCOLS) == list(TABLES)
    for protocol in PROTOCOLS.values():
        assert protocol.paper
        assert protocol.ours
        assert "\n" not in protocol.paper + protocol.ours + "".join(protocol.reasons.values())


def test_the_csv_has_the_columns_of_its_table(synthetic):
    for name, found in synthetic.items():
        with Path(found.files[0]).open(encoding="utf-8", newline="") as file:
            head = next(csv.reader(file))
        assert tuple(head) == (TABLES[name].columns or tuple(found.rows[0]))
        assert "seconds" not in head


def test_all_without_coat_leaves_it_out_and_says_so(tmp_path):
    plan = Reproduction.of("all", out=tmp_path, settings=SMALL)
    assert [table.name for table in plan.tables] == [name for name in TABLES if not name.startswith("coat")]
    assert plan.notes[0].startswith("coat and coat-splits are left out: give --coat")


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("table1", {}, ValueError, "table 'table1' is unknown; did you mean table2"),
        ("figure", {}, ValueError, "there are: table2, nested"),
        ("table2", {"seeds": 0}, ValueError, "seeds must be"),
        ("table2", {"jobs": 0}, ValueError, "jobs must be"),
        ("coat", {}, ValueError, "coat needs Coat's ratings: give --coat"),
        ("coat-splits", {}, ValueError, "coat-splits needs Coat's ratings"),
        ("coat", {"coat": "nowhere"}, FileNotFoundError, "nowhere is not a directory"),
        ("all", {"coat": "nowhere"}, FileNotFoundError, "nowhere is not a directory"),
        ("yahoo", {"yahoo": "nowhere"}, FileNotFoundError, "nowhere is not a directory"),
    ],
)
def test_errors_come_before_any_work(tmp_path, name, options, error, message):
    with pytest.raises(error, match=message):
        Reproduction.of(name, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(ValueError, match=r"cannot be written: .* Give another folder with --out"):
            Reproduction.of("theorem", out=out)
