"""Rows of the reproduction's tables, made up: figures that are known, with a little spread over the seeds."""

TARGETS = ("Y(0)", "Y(1)", "ITE")


def rows(method, coverage, width, *, seeds=3, infinite=0.0, d=1, m=250, ratio="", targets=TARGETS):
    """Rows of the synthetic CSV, with a little spread over the seeds."""
    return [
        {"d": d, "m": m, "ratio": ratio, "method": method, "target": target, "seed": seed, "tested": 10**7}
        | {"coverage": coverage + 0.001 * (seed - 1), "width": width, "infinite": infinite, "edge": 0.0}
        for seed in range(seeds)
        for target in targets
    ]


def rated(method, coverage, width, ratings, data="simulated"):
    return [
        {"data": data, "fit": 10**7, "calibration": 10**7, "method": method, "target": "rating", "seed": seed}
        | {"tested": 9 * 10**6}
        | {"coverage": coverage, "width": width, "infinite": 0.0, "clipped": 3.0, "ratings": ratings}
        for seed in range(2)
    ]


ORACLE = [
    {"d": 1, "m": "", "ratio": "", "method": "oracle", "target": target, "seed": "", "tested": ""} for target in TARGETS
]
ORACLE = [{**row, "coverage": "", "width": 0.4, "infinite": "", "edge": ""} for row in ORACLE]
TABLE2 = [
    *rows("wscp-dr-inexact", 0.85, 0.4, ratio="MLP"),
    *rows("wscp-dr-exact", 0.93, 0.5, ratio="MLP"),
    *rows("wtcp-dr", 0.95, 0.8, ratio="MLP"),
    *rows("wcp", 0.82, 0.3),
    *rows("naive", 0.91, 0.6),
    *rows("transfer-centred", 0.9, 0.45),
    *rows("constant, trial alone", 0.9, 0.45),
    *ORACLE,
    *rows("wtcp-dr, refits", 0.92, 0.7, ratio="MLP"),
]
