"""The setups of the coverage study: about 300 cells that matter, and the full grid behind them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from sklearn.ensemble import GradientBoostingRegressor

from confide import METHODS
from studies.coverage_setup import LeastSquares, Setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)
SIZES = (1, 2, 5, 9, 10, 19, 20, 50, 99, 200, 500, 1000)
FOUR = ("known ratio", "paper", "clinic", "discrete")
RANGE: dict[str, Any] = {"outcome_range": (-60.0, 60.0)}
# Methods that rank new rows among trial rows alone, whose score is one function of the row, and all of them.
EXACT = ("naive", "transfer", "transfer-centred")
ON_TRIAL = (*EXACT, "prognostic", "wscp-dr-calibrated", "wscp-dr*-calibrated")
# Where each new person takes time: fewer of them.
QUICK: dict[str, Any] = {"new": 50}


def outcomes() -> Iterator[Setup]:
    """Yield outcomes of one arm, by methods that calibrate on the trial."""
    where = "Outcomes, calibrated on the trial"

    def one(method: str, process: str, rows: int, alphas: tuple[float, ...], **more: Any) -> Setup:
        return Setup(where, process, method, rows, alphas, **more)

    sizes = {1: (0.5,), 2: (0.5,), 5: (0.5, 0.2, 0.1), 9: LEVELS[:4], 19: LEVELS, 99: LEVELS, 1000: LEVELS}
    for name in EXACT:
        for rows, alphas in sizes.items():
            if name == "transfer" or rows in (9, 19, 1000):
                yield one(name, "known ratio", rows, alphas, ceiling=True)
        yield one(name, "known ratio", 1, (0.2,))
        yield one(name, "discrete", 9, (0.5, 0.2, 0.1))
        yield one(name, "discrete", 50, (0.2, 0.1, 0.05))
        yield one(name, "paper", 20, (0.2, 0.1), ceiling=True)
        yield one(name, "clinic", 50, (0.2, 0.1, 0.05), ceiling=True)
    for score in ("normalised", "cqr"):
        base = GradientBoostingRegressor(n_estimators=10) if score == "cqr" else LeastSquares()
        params = {"conformity_score": score, "base": base}
        for name in ("transfer", "naive"):
            yield one(name, "known ratio", 19, (0.5, 0.1), told=score, params=params, ceiling=True)
        yield one("transfer", "clinic", 99, (0.2, 0.1, 0.01), told=score, params=params, ceiling=True)
        yield one("transfer", "discrete", 19, (0.2, 0.1), told=score, params=params)
    for base_on in ("grounded", "trial", "weighted"):
        yield one("transfer", "known ratio", 19, (0.2, 0.1), told=base_on, params={"base_on": base_on}, ceiling=True)
    for base in ("constant", "boosting", "auto"):
        some = {"params": {"base": base}, "told": f"base {base}", **QUICK}
        yield one("transfer", "clinic", 30, (0.2, 0.1), ceiling=True, **some)
    yield one("naive", "discrete", 30, (0.2, 0.1), told="base constant", params={"base": "constant"})
    clipped = {"told": "clipped", "params": {"clipped": 0.2}, "ceiling": True}
    yield one("transfer", "known ratio", 5, (0.1, 0.05), **clipped)
    yield one("transfer", "paper", 15, (0.05, 0.01), **clipped)
    yield one("naive", "known ratio", 10, (0.5, 0.1), told="no table", alone=True, ceiling=True)
    yield one("prognostic", "clinic", 19, (0.2, 0.1), told="no table", alone=True)


def prognoses() -> Iterator[Setup]:
    """Yield outcomes by the default method, as it chooses and with one candidate."""
    where = "Outcomes, the default method"

    def one(process: str, rows: int, alphas: tuple[float, ...], **more: Any) -> Setup:
        return Setup(where, process, "prognostic", rows, alphas, **{**QUICK, **more})

    yield one("known ratio", 1, (0.1,))
    yield one("known ratio", 9, (0.1, 0.05))
    yield one("known ratio", 19, (0.1, 0.05))
    yield one("known ratio", 50, (0.1, 0.01))
    yield one("known ratio", 200, (0.5, 0.1))
    yield one("known ratio", 1000, (0.1,))
    yield one("paper", 20, (0.1, 0.05))
    yield one("paper", 100, (0.2, 0.1))
    yield one("discrete", 9, (0.1,))
    yield one("discrete", 30, (0.1, 0.05))
    yield one("clinic", 20, (0.1, 0.05))
    yield one("clinic", 75, (0.1,))
    yield one("clinic", 30, (0.1,), told="base auto", params={"base": "auto"})
    for features, scale in (
        ("slope", "none"),
        ("slope", "observational"),
        ("ridge", "none"),
    ):
        told = f"{features}, {'no scale' if scale == 'none' else scale}"
        params = {"features": features, "scale": scale}
        yield one("known ratio", 19, (0.1, 0.05), told=told, params=params, ceiling=True)
    tails = {"features": "offset", "scale": "observational", "tails": "learnt"}
    yield one("clinic", 30, (0.1,), told="offset, learnt tails", params=tails, ceiling=True)


def by_ratio(method: str, process: str, rows: int, alphas: tuple[float, ...], ratio: str, **more: Any) -> Setup:
    """Return outcomes by a method whose promise rests on a density ratio, or says that it does not."""
    params = {"ratio": ratio, **more.pop("params", {})}
    told = more.pop("told", f"{ratio} ratio")
    return Setup("Outcomes, by a density ratio", process, method, rows, alphas, told, params, **more)


def two_stages() -> Iterator[Setup]:
    """Yield outcomes by methods of two stages."""
    one = by_ratio
    for ratio in ("oracle", "reversed", "classifier"):
        yield one("wscp-dr-calibrated", "known ratio", 19, (0.1, 0.05), ratio, ceiling=True)
    for rows, alphas in {9: (0.1,), 99: (0.1, 0.01)}.items():
        yield one("wscp-dr-calibrated", "known ratio", rows, alphas, "blind", ceiling=True)
    yield one("wscp-dr-calibrated", "discrete", 20, (0.1,), "blind")
    yield one("wscp-dr-calibrated", "paper", 30, (0.1,), "classifier", **QUICK)
    yield one("wscp-dr*-calibrated", "clinic", 30, (0.1,), "classifier", **QUICK)
    yield one("wscp-dr*-calibrated", "known ratio", 19, (0.1,), "classifier", ceiling=True)
    quantile = {"params": {"second_stage": None}}
    yield one("wscp-dr-calibrated", "known ratio", 19, (0.1,), "blind", told="blind ratio, quantile alone", **quantile)
    yield one("wscp-dr*-calibrated", "known ratio", 19, (0.1,), "classifier", told="nothing regressed", **quantile)
    yield one("wscp-dr-exact", "known ratio", 50, (0.1,), "oracle", told="oracle ratio, quantile alone", **quantile)
    for rows in (9, 50, 200):
        yield one("wscp-dr-exact", "known ratio", rows, (0.1, 0.05), "oracle")
    yield one("wscp-dr-exact", "discrete", 50, (0.2, 0.1), "oracle")
    yield one("wscp-dr-exact", "known ratio", 100, (0.1,), "classifier")
    yield one("wscp-dr*-exact", "known ratio", 100, (0.1,), "classifier")
    yield one("wscp-dr-inexact", "known ratio", 50, (0.1,), "oracle")
    yield one("wscp-dr*-inexact", "known ratio", 50, (0.1,), "classifier")


def one_stage() -> Iterator[Setup]:
    """Yield outcomes by methods that weigh observational rows."""
    one = by_ratio
    for rows, alphas in {
        1: (0.5,),
        5: (0.5, 0.2),
        20: (0.5, 0.2, 0.1),
        100: (0.2, 0.1, 0.05),
        500: (0.1, 0.01),
    }.items():
        yield one("wtcp-dr", "known ratio", rows, alphas, "oracle", params=RANGE, ceiling=True)
    yield one("wtcp-dr", "known ratio", 50, (0.2, 0.1), "oracle", told="oracle ratio, no range")
    yield one(
        "wtcp-dr", "known ratio", 20, (0.2, 0.1), "oracle", told="refits", params={"refit": True, **RANGE}, new=20
    )
    yield one("wtcp-dr", "discrete", 20, (0.5, 0.2, 0.1), "oracle")
    yield one("wtcp-dr", "discrete", 50, (0.2,), "oracle", told="refits", params={"refit": True}, new=20)
    for ratio in ("classifier", "kernel", "kliep"):
        yield one("wtcp-dr", "known ratio", 200, (0.1,), ratio, params=RANGE, trial=200, **QUICK)
    yield one("wtcp-dr", "clinic", 100, (0.1,), "classifier", trial=100, **QUICK)
    for process in ("known ratio", "discrete"):
        yield one("wcp-nb", process, 200, (0.1,), "naive-bayes", trial=200, **QUICK)
    yield one("wcp", "known propensity", 50, (0.2, 0.1), "oracle", ceiling=True)
    yield one("wcp", "known propensity", 500, (0.1, 0.01), "oracle", ceiling=True)
    estimated = by_ratio("wcp", "known propensity", 200, (0.2, 0.1), "", told="estimated propensity")
    yield replace(estimated, params={})
    yield replace(estimated, params={}, process="paper", rows=500, alphas=(0.1,))


def pooled() -> Iterator[Setup]:
    """Yield outcomes by both tables' rows together."""
    one = by_ratio
    for rows, alphas in {3: (0.5,), 9: (0.2, 0.1), 50: (0.1, 0.05), 500: (0.1, 0.01)}.items():
        yield one("pooled-dr", "known ratio", rows, alphas, "oracle", ceiling=True)
    yield one("pooled-dr", "discrete", 20, (0.2, 0.1), "oracle")
    sharp = {"solve": "transductive", **RANGE}
    for rows in (3, 20):
        yield one("pooled-dr", "known ratio", rows, (0.2, 0.1), "oracle", told="sharp", params=sharp)
    for ratio in ("blind", "reversed"):
        told = f"{ratio} ratio, floor 0.05"
        yield one("pooled-dr", "known ratio", 20, (0.2, 0.1), ratio, told=told, params={"floor": 0.05})
    yield one("pooled-dr", "known ratio", 200, (0.1,), "classifier", **QUICK)


def whom(method: str, process: str, rows: int, alphas: tuple[float, ...], **more: Any) -> Setup:
    """Return outcomes for other people than the trial's, or of rows that are not alike."""
    levels = alphas if method in EXACT else alphas[-1:]
    return Setup("Outcomes, for whom", process, method, rows, levels, **more)


def by_weights() -> Iterator[Setup]:
    """Yield outcomes where trial rows have weights."""
    one = whom
    for name in ON_TRIAL[:5]:
        params = {"ratio": "blind"} if name.startswith("wscp") else {}
        yield one(name, "known ratio", 50, (0.2, 0.1), told="known probabilities", carries="assignment", params=params)
    for name in ("transfer", "prognostic"):
        stands_in = {"told": "smallest probability stands in", "carries": "assignment", "knows_new": False}
        yield one(name, "known ratio", 20, (0.2, 0.1), **stands_in)
        for process in ("paper", "discrete", "clinic"):
            yield one(name, process, 30, (0.1,), told="known probabilities", carries="assignment")
    for name in (*EXACT, "prognostic"):
        known = {"told": "target, known weights", "carries": "weights", "ceiling": name in EXACT}
        yield one(name, "known ratio", 20, (0.5, 0.2, 0.1), **known)
        yield one(name, "known ratio", 200, (0.1, 0.05), **known)
    yield one("transfer", "discrete", 30, (0.2, 0.1), told="target, known weights", carries="weights")
    yield one("prognostic", "clinic", 50, (0.1,), told="target, known weights", carries="weights")
    for name, process in (("transfer", "known ratio"), ("prognostic", "known ratio"), ("transfer", "clinic")):
        yield one(name, process, 100, (0.1,), told="target, estimated weights", carries="target")
    for name in ("transfer", "transfer-centred", "prognostic", "naive"):
        yield one(name, "known ratio", 10, (0.2, 0.1), told="clusters", carries="cluster")
    yield one("transfer", "paper", 20, (0.1, 0.05), told="clusters", carries="cluster")
    yield one("prognostic", "clinic", 30, (0.1,), told="clusters", carries="cluster")


def by_parts() -> Iterator[Setup]:
    """Yield outcomes of groups, of people selected for reasons unknown, and with one end."""
    one = whom
    for name, process in product(("transfer", "prognostic"), ("known ratio", "clinic")):
        column = {"known ratio": 2, "clinic": 9}[process]
        yield one(name, process, 100, (0.2, 0.1), told="small group", model={"groups": column})
    for name, gamma in (("transfer", 1.5), ("prognostic", 2.0)):
        yield one(name, "known ratio", 50, (0.2, 0.1), told=f"Γ = {gamma:g}", model={"gamma": gamma})
    yield one("naive", "discrete", 50, (0.2, 0.1), told="Γ = 1.5", model={"gamma": 1.5})
    for side, name in (
        ("lower", "transfer"),
        ("upper", "transfer"),
        ("upper", "transfer-centred"),
        ("lower", "prognostic"),
    ):
        yield one(name, "known ratio", 19, (0.2, 0.1), told=f"{side} bound", model={"side": side})
    yield one("naive", "clinic", 19, (0.2, 0.05), told="lower bound", model={"side": "lower"})
    both = {"carries": "assignment", "model": {"groups": 2, "gamma": 1.5, "side": "lower"}}
    yield one("transfer", "known ratio", 100, (0.2,), told="probabilities, group, Γ = 1.5, lower bound", **both)


def effects() -> Iterator[Setup]:
    """Yield effects of new people and of participants."""
    where = "Effects"

    def one(
        method: str, process: str, rows: int, alphas: tuple[float, ...], effect: str = "bonferroni", **more: Any
    ) -> Setup:
        slow = method == "prognostic" or effect != "bonferroni"
        alphas = alphas[:1] if slow else alphas
        more = {**({"draws": 3} if slow else {}), "asks": ("effect",), **more}
        told = f"{effect}{', ' if more.get('told') else ''}{more.pop('told', '')}"
        return Setup(
            where, process, method, rows, alphas, told, model={"effect": effect, **more.pop("model", {})}, **more
        )

    for name in ON_TRIAL[:4]:
        yield one(name, "known ratio", 19, (0.2, 0.1))
        yield one(name, "known ratio", 99, (0.1, 0.05))
    for process in ("paper", "discrete", "clinic"):
        yield one("transfer", process, 39, (0.1,))
        yield one("prognostic", process, 39, (0.1,))
    yield one("wscp-dr-calibrated", "known ratio", 39, (0.1,), params={"ratio": "blind"})
    yield one("transfer", "known ratio", 1000, (0.1, 0.01))
    for name in ("transfer", "naive", "prognostic"):
        yield one(name, "known ratio", 50, (0.2, 0.1), "nested-exact")
    yield one("transfer", "clinic", 50, (0.1,), "nested-exact")
    yield one("transfer", "paper", 50, (0.1,), "nested-exact")
    yield one("transfer", "known ratio", 50, (0.1,), "nested-inexact")
    for rows, alphas in {3: (0.5,), 9: (0.5, 0.1), 50: (0.2, 0.1, 0.05), 500: (0.1,)}.items():
        yield one("transfer", "known ratio", rows, alphas, told="participants", asks=("participants",), ceiling=True)
    yield one("prognostic", "known ratio", 30, (0.2, 0.1), told="participants", asks=("participants",))
    yield one("transfer", "clinic", 30, (0.1,), told="participants", asks=("participants",))
    by_chance: dict[str, Any] = {"carries": "assignment", "asks": ("effect", "participants")}
    yield one("transfer", "known ratio", 50, (0.2, 0.1), told="known probabilities", **by_chance)
    yield one("prognostic", "clinic", 50, (0.1,), told="known probabilities", **by_chance)
    yield one("transfer", "known ratio", 100, (0.2,), "nested-exact", told="known probabilities", carries="assignment")
    yield one("transfer", "known ratio", 50, (0.2, 0.1), told="Γ = 1.5", model={"gamma": 1.5})
    yield one("transfer", "known ratio", 150, (0.2,), told="small group", model={"groups": 2})
    yield one("transfer", "known ratio", 30, (0.2, 0.1), told="clusters", carries="cluster")
    yield one("transfer", "known ratio", 100, (0.1,), told="target, estimated weights", carries="target")
    for side in ("lower", "upper"):
        yield one("transfer", "known ratio", 39, (0.2, 0.1), told=f"{side} bound", model={"side": side})


SETUPS: list[Setup] = [
    *outcomes(),
    *prognoses(),
    *two_stages(),
    *one_stage(),
    *pooled(),
    *by_weights(),
    *by_parts(),
    *effects(),
]


def grid(sizes: Iterable[int] = SIZES) -> Iterator[Setup]:
    """Yield the full grid: every method, process, size, score, weighting and effect that go together."""
    sizes = tuple(sizes)
    some = tuple(rows for rows in sizes if rows >= 5)
    yield from every_method(sizes)
    for score, name, rows, process in product(("normalised", "cqr"), ("naive", "transfer"), sizes, FOUR):
        base = GradientBoostingRegressor(n_estimators=10) if score == "cqr" else LeastSquares()
        params = {"conformity_score": score, "base": base}
        yield Setup("grid", process, name, rows, LEVELS, score, params, ceiling=process != "discrete", **QUICK)
    for name, rows, carries, process in product(ON_TRIAL, some, ("assignment", "cluster", "weights"), FOUR[:3]):
        params = {"ratio": "blind"} if name.startswith("wscp") else {}
        yield Setup("grid", process, name, rows, LEVELS, carries, params, carries, **QUICK)
    for name, rows, effect, process in product(ON_TRIAL[:4], some, ("bonferroni", "nested-exact"), FOUR[:3]):
        model = {"effect": effect}
        yield Setup("grid", process, name, rows, LEVELS, effect, model=model, asks=("effect",), **QUICK)


def every_method(sizes: Iterable[int]) -> Iterator[Setup]:
    """Yield every method on every process; the ratio is given where it is known."""
    for name, rows, process in product(METHODS, sizes, FOUR):
        by_choice = name == "wcp" and process == "known ratio"
        given = by_choice or ("dr" in name and "*" not in name and process in ("known ratio", "discrete"))
        params: dict[str, Any] = {"ratio": "oracle"} if given else {}
        if name in ("wtcp-dr", "wcp-nb") and process != "discrete":
            params |= RANGE
        place = "known propensity" if by_choice else process
        ceiling = name in EXACT and process != "discrete"
        yield Setup("grid", place, name, rows, LEVELS, params=params, ceiling=ceiling, **QUICK)
