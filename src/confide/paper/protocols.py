"""The protocol of each table, in the paper and here, and why figures differ: one line each."""

from __future__ import annotations

from dataclasses import dataclass, field

OTHERS = "others"


@dataclass(frozen=True)
class Protocol:
    """The protocol of a table.

    Attributes
    ----------
    paper, ours : str
        One line each.
    reasons : dict
        By cell or by method, why our figure differs from the paper's, if it does; `OTHERS` means all other methods.
    published : bool
        Whether the paper has figures for this table, and not only curves.
    """

    paper: str
    ours: str
    reasons: dict[str, str] = field(default_factory=dict)
    published: bool = True


_OURS = (
    "gradient boosting, absolute residuals, r̂ by a standardised MLP on the fit half of both sources' rows (wtcp-dr: of "
    "the observational and all trial rows), interval ends regressed by confide's automatic model, every method and "
    "every step at α = 0.1, {n_test:,} fresh rows of the trial's population; of sets that are unions the hull"
)
_ITE = "ITE: the difference of both arms' intervals, each at α as in the paper, so that it promises 0.8, not 0.9"
_CANDIDATES = "candidates only between the trial's smallest and largest outcome"
_EVERY_CANDIDATE = (
    "candidates over all outcomes and a tenth beyond; where observational outcomes are missing that the trial has, the "
    "ratio has no bound, estimated or true, and Algorithm 2 cannot rule such outcomes out"
)
_SYNTHETIC = {
    "naive": "published: 10-tree quantile forests, conformalised quantiles, medians over two folds, an interpolated "
    "quantile; here: gradient boosting on half of the trial's rows, which overfits them, and the exact rank",
    "wcp": "published: three quarters of the calibration rows were trained on; with disjoint rows that code covers "
    "0.861 and 0.855",
    "wtcp-dr": f"published: refits at α/2, {_CANDIDATES}; here: one base model at α, {_EVERY_CANDIDATE}",
    "wtcp-dr, refits": f"published: at α/2, {_CANDIDATES}; here: at α, {_EVERY_CANDIDATE}",
    "wscp-dr-inexact": "published: a quantile that ignores the weights and a kernel ratio that is nearly blind to y; "
    "here: a weighted quantile and an MLP on standardised columns",
    "wscp-dr-exact": "published: at α/2, the second stage's offset is computed and not applied; here: applied, α in "
    "both stages, for a promise of 0.8 - Δ",
}
_RATINGS_PAPER = (
    "64-dimensional matrix factorisation, r̂ by densratio on embeddings of the same ratings that train it; "
    "intervals are not kept within 1 to 5; no plain baseline"
)
_RATINGS_OURS = (
    "64-dimensional matrix factorisation, penalties chosen by held-out ratings; r̂ by a kernel ratio on cross-fitted "
    "features; α = 0.1; the width of a set of ratings (wtcp-dr) is from the least to the largest"
)
_RATINGS = {
    "naive": "published: embeddings of 64 dimensions from the trial alone; here their penalty is chosen by held-out "
    "ratings, which turns factors off where they do not help",
    OTHERS: "published: a ratio on embeddings of the same ratings that train it; its code for "
    "ratings was not run again; here: cross-fitted features, shrunk factors, duplicates dropped",
}

PROTOCOLS = {
    "table2": Protocol(
        "200 test rows from the observational sample; naive, WCP and inexact at α, exact and wTCP-DR at α/2; quantile "
        "forests and conformalised quantiles for most methods",
        f"{_OURS}, refits on the first {{n_refit}} of them. {_ITE}",
        _SYNTHETIC,
    ),
    "nested": Protocol(
        "the paper names no level; its inexact widths are near those of Table 2's Y(1), as if it put Y(1)'s intervals "
        "on control rows. wTCP-DR was left out; test rows are among those that were fitted",
        f"{_OURS}. Y(0)'s intervals are put on treated rows, so that inexact widths are those of Y(0), and wtcp-dr's "
        "end where the search ended as often as in Table 2. α in both steps, so that exact promises 0.8 where the "
        "control arm promises 0.9, and inexact nothing",
        {
            OTHERS: "published: one arm's interval is put on the other's observational rows and calibrated without "
            "weights, and test rows were fitted on; here the second step calibrates on trial rows only",
        },
    ),
    "ratio": Protocol(
        "as Table 2; rows of wSCP-DR called MLP use densratio whatever the setting says",
        f"{_OURS}; in the cells called kernel r̂ by least-squares ratio matching on standardised columns. {_ITE}",
        _SYNTHETIC
        | {
            "kernel": "published: densratio on columns that are not scaled, mostly with a kernel so wide that it is "
            "nearly blind to y, and the paper's protocol; here: standardised columns, the kernel chosen by "
            "cross-validation, and our own"
        },
    ),
    "dimension": Protocol(
        "as Table 2 with d covariates; curves without figures",
        f"{_OURS}. {_ITE}",
        published=False,
    ),
    "trial-size": Protocol(
        "as Table 2 with m trial rows over both arms; curves without figures",
        f"{_OURS}. Too few trial rows to calibrate on make an interval infinite: counted, and left out of the mean "
        f"width. {_ITE}",
        published=False,
    ),
    "coat": Protocol(
        f"{_RATINGS_PAPER}. 366 random pairs that are also self-selected seem to be kept: 2,784 test ratings",
        f"{_RATINGS_OURS}. Those pairs are dropped from the random part (drop_duplicates=True): fewer test ratings. "
        "Nobody knows the truth of which an oracle could be made",
        _RATINGS,
    ),
    "coat-splits": Protocol(
        f"{_RATINGS_PAPER}. Curves without figures",
        f"{_RATINGS_OURS}. The pairs that are in both files are dropped; trial ratings are shares of the paper's "
        "4,640. wcp-nb, wtcp-dr and the transfer methods take m_tr and m_cal together, so that equal sums give equal "
        "cells",
        published=False,
    ),
    "yahoo": Protocol(
        _RATINGS_PAPER,
        f"{_RATINGS_OURS}. Of simulated ratings there is an oracle, which knows how likely each rating of a pair is",
        _RATINGS,
    ),
    "theorem": Protocol(
        "states the claim and a proof; no figures",
        "both algorithms as written with the true ratio, and the exact limit",
        published=False,
    ),
}
NOT_YAHOO = (
    "SIMULATED ratings, not Yahoo! R3: the paper's figures stand beside other data. Give --yahoo with the original "
    "files to reproduce it."
)


def reason(table: str, method: str, group: str = "") -> str:
    """Return why our figure may differ from the paper's: the cell's reason, the method's, or that of all others."""
    reasons = PROTOCOLS[table].reasons
    return reasons.get(group) or reasons.get(method) or reasons.get(OTHERS, "")
