"""Density ratios as sums of Gaussian kernels: least-squares matching, KLIEP and kernel mean matching."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist

from confide.base.validation import check_positive
from confide.data.splits import spawn_seeds
from confide.models.preprocessing import standardised
from confide.ratio.base import DensityRatio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from confide.typing import RandomState

# Default bandwidths, as multiples of the median distance between rows, and default ridge penalties.
BANDWIDTHS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0)
PENALTIES = tuple(10.0 ** np.linspace(-3, 1, 9))
# densratio's bandwidths, for unscaled columns.
RAW_BANDWIDTHS = PENALTIES
# A relative ratio is clipped this far below its bound 1/β, where the ratio itself would be infinite.
CEILING = 1 - 1e-3
MEDIAN_ROWS = 1000
UNDERFLOW = -150 * np.log(10)
# KLIEP compares bandwidths on at most this many numerator rows.
COMPARISON_ROWS = 500
FOLDS = 5


class _Gaussian(DensityRatio):
    """Base class of the kernel families: scaled columns, centres sampled from the numerator, a bandwidth."""

    centers: int | Any
    sigma: float | Sequence[float] | None
    random_state: RandomState
    raw = False

    def _prepare(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> tuple[Any, Any]:
        """Scale both samples as one, choose the centres, and return the scaled samples."""
        self.scaler_ = None if self.raw else standardised().fit(np.concatenate([numerator, denominator]))
        rng = np.random.default_rng(spawn_seeds(self.random_state, 1)[0])
        numerator, denominator = self._scaled(numerator), self._scaled(denominator)
        if not self.raw:  # pairs, folds and centres are taken from the front: the order must not matter
            numerator, denominator = rng.permutation(numerator), rng.permutation(denominator)
        if isinstance(self.centers, Integral):
            check_positive("centers", self.centers)
            self.centers_ = numerator[: int(self.centers)]
        else:
            self.centers_ = self._scaled(np.atleast_2d(np.asarray(self.centers, dtype=np.float64)))
        if self.sigma is None and not self.raw:
            some = rng.permutation(np.concatenate([numerator, denominator]))[:MEDIAN_ROWS]
            self.median_ = (float(np.median(pdist(some))) if len(some) > 1 else 0.0) or 1.0
        return numerator, denominator

    def _scaled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return rows if self.scaler_ is None else np.asarray(self.scaler_.transform(rows))

    def _bandwidths(self) -> NDArray[np.float64]:
        """Return the bandwidths to try."""
        if self.sigma is not None:
            return check_positive("sigma", self.sigma)
        if self.raw:
            return np.asarray(RAW_BANDWIDTHS)
        return np.asarray(BANDWIDTHS) * self.median_

    def _distances(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return squared distances to the centres."""
        return np.asarray(cdist(rows, self.centers_, "sqeuclidean"))

    def _kernel(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return _gaussian(self._distances(rows), self.sigma_)


def _gaussian(squared_distances: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    exponent = squared_distances * (-0.5 / sigma**2)
    # Values below 10⁻¹⁵⁰ become 0: their products would be subnormal, which makes arithmetic ten times slower.
    exponent[exponent < UNDERFLOW] = -np.inf
    return np.exp(exponent, out=exponent)


class KernelRatio(_Gaussian):
    """Least-squares ratio matching: uLSIF, and with ``beta > 0`` relative RuLSIF.

    RuLSIF estimates r_β = r/(βr + 1-β), which is bounded by 1/β, and not r; unless ``raw``, it is converted by
    r = (1-β)·r_β/(1-β·r_β). Bandwidth and penalty minimise the exact leave-one-out error, which has a closed
    form: one eigendecomposition per bandwidth, one matrix product per penalty.

    Parameters
    ----------
    beta : float
        Share of the numerator in the relative ratio's denominator, 0 ≤ beta < 1; 0 is uLSIF.
    sigma : float or sequence of floats, default None
        Kernel bandwidth, or those to choose from. None: multiples of the median distance.
    penalty : float or sequence of floats, default None
        Ridge penalty λ, or those to choose from. None: nine values from 10⁻³ to 10.
    centers : int or (k, columns) array
        Number of numerator rows that become kernel centres, or the centres themselves.
    on : {"xy", "x", "y"}
        Which columns the ratio uses.
    raw : bool
        Use unscaled columns and return r_β itself, as the package densratio does.
    random_state : int, RandomState instance or None
        Chooses the centres.
    """

    def __init__(
        self,
        beta: Any = 0.0,
        sigma: Any = None,
        penalty: Any = None,
        centers: Any = 100,
        on: str = "xy",
        *,
        raw: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.beta = beta
        self.sigma = sigma
        self.penalty = penalty
        self.centers = centers
        self.on = on
        self.raw = raw
        self.random_state = random_state

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        beta = _check_beta(self.beta)
        numerator, denominator = self._prepare(numerator, denominator)
        sigmas = self._bandwidths()
        penalties = check_positive("penalty", PENALTIES if self.penalty is None else self.penalty)
        distances = self._distances(numerator), self._distances(denominator)
        self.errors_ = np.full((len(sigmas), len(penalties)), np.nan)
        if self.errors_.size == 1:
            self.sigma_, self.penalty_ = float(sigmas[0]), float(penalties[0])
        else:
            for row, sigma in enumerate(sigmas):
                top, bottom = (_gaussian(squared, sigma) for squared in distances)
                self.errors_[row] = leave_one_out_errors(top, bottom, beta, penalties)
            best_sigma, best_penalty = np.unravel_index(np.argmin(self.errors_), self.errors_.shape)
            self.sigma_, self.penalty_ = float(sigmas[best_sigma]), float(penalties[best_penalty])
        top, bottom = (_gaussian(squared, self.sigma_) for squared in distances)
        H = beta * top.T @ top / len(top) + (1 - beta) * bottom.T @ bottom / len(bottom)
        H[np.diag_indices_from(H)] += self.penalty_
        self.coefficients_ = np.maximum(np.linalg.solve(H, top.mean(axis=0)), 0)
        if beta and not self.raw:
            self.limits_ = (0.0, (1 - beta) * CEILING / (beta * (1 - CEILING)))

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        relative: NDArray[np.float64] = self._kernel(self._scaled(rows)) @ self.coefficients_
        if self.raw or not self.beta:
            return relative
        bounded = np.minimum(relative, CEILING / self.beta)
        converted = (1 - self.beta) * bounded / (1 - self.beta * bounded)
        return np.asarray(np.minimum(converted, self.limits_[1]))


def _check_beta(beta: Any) -> float:
    if not (isinstance(beta, Real) and 0 <= float(beta) < 1):
        raise ValueError(f"beta must be at least 0 and below 1, got {beta!r}.")
    return float(beta)


def leave_one_out_errors(
    top: NDArray[np.float64], bottom: NDArray[np.float64], beta: float, penalties: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the leave-one-out error of least-squares ratio matching, one value per penalty.

    Pair i leaves out the i-th numerator row φ (a row of ``top``) and the i-th denominator row ψ (of ``bottom``)
    at once. With A = λI + the second-moment matrices of all rows, rescaled to one row fewer, leaving out is

        θ₋ᵢ = (A - uuᵀ - vvᵀ)⁻¹ h₋ᵢ,   u = φ√(β/(n-1)),  v = ψ√((1-β)/(m-1)),

    two rank-one downdates, so that one eigendecomposition of A serves every pair and every penalty. Negative
    coefficients become 0, as in the fit. The error is the mean of ½β·r̂(φ)² + ½(1-β)·r̂(ψ)² - r̂(φ).
    """
    n, m = len(top), len(bottom)
    pairs = min(n, m)
    if pairs < 2:
        raise ValueError("leave-one-out needs at least 2 rows on each side; give one sigma and one penalty.")
    moments = beta / (n - 1) * top.T @ top + (1 - beta) / (m - 1) * bottom.T @ bottom
    values, vectors = np.linalg.eigh(moments)
    values = np.maximum(values, 0)[:, None]
    phi, psi = top[:pairs].T, bottom[:pairs].T
    u = np.sqrt(beta / (n - 1)) * (vectors.T @ phi)
    v = np.sqrt((1 - beta) / (m - 1)) * (vectors.T @ psi)
    h = (vectors.T @ top.sum(axis=0))[:, None] / (n - 1) - vectors.T @ phi / (n - 1)
    scales = 1 / (values.T + penalties[:, None])
    # Woodbury for two columns; with β = 0 the first of them vanishes.
    vv, vh = 1 - scales @ v**2, scales @ (v * h)
    uu, uh, uv = 1 - scales @ u**2, scales @ (u * h), -(scales @ (u * v))
    determinant = uu * vv - uv**2
    along_u, along_v = (vv * uh - uv * vh) / determinant, (uu * vh - uv * uh) / determinant
    errors = []
    for scale, one, other in zip(scales, along_u, along_v, strict=True):
        solution = v * other
        solution += h
        if beta:
            solution += u * one
        coefficients = (vectors * scale) @ solution
        np.maximum(coefficients, 0, out=coefficients)
        at_phi, at_psi = (np.einsum("ij,ij->j", rows, coefficients) for rows in (phi, psi))
        errors.append(np.mean(beta / 2 * at_phi**2 + (1 - beta) / 2 * at_psi**2 - at_phi))
    return np.array(errors)


class KLIEP(_Gaussian):
    """Kullback-Leibler importance estimation: kernels weighted to maximise the numerator's likelihood.

    The ratio is kept at mean 1 over the denominator rows. Scaled to that, the kernels are the components of a
    mixture, whose weights are found by expectation and maximisation. The bandwidth is chosen by
    cross-validated likelihood.

    Parameters
    ----------
    sigma, centers, on, random_state
        As in `KernelRatio`.
    steps : int
        Largest number of steps; the fit stops earlier when it has converged.
    """

    def __init__(
        self,
        sigma: Any = None,
        centers: Any = 100,
        on: str = "xy",
        *,
        steps: int = 500,
        random_state: RandomState = None,
    ) -> None:
        self.sigma = sigma
        self.centers = centers
        self.on = on
        self.steps = steps
        self.random_state = random_state

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        numerator, denominator = self._prepare(numerator, denominator)
        sigmas = self._bandwidths()
        distances = self._distances(numerator), self._distances(denominator)
        self.sigma_ = float(sigmas[0])
        if len(sigmas) > 1:
            some = distances[0][:COMPARISON_ROWS]
            likelihoods = [self._held_out_likelihood(some, distances[1], sigma) for sigma in sigmas]
            self.sigma_ = float(sigmas[np.argmax(likelihoods)])
        top, bottom = (_gaussian(squared, self.sigma_) for squared in distances)
        self.coefficients_ = self._maximise(top, bottom.mean(axis=0))

    def _held_out_likelihood(self, top: Any, bottom: Any, sigma: float) -> float:
        """Return the log likelihood of held-out numerator rows, the ratio scaled on held-out denominator rows.

        Scaled on the rows it was fitted on, a narrow kernel between denominator rows would look best.
        """
        top, bottom = _gaussian(top, sigma), _gaussian(bottom, sigma)
        folds = min(FOLDS, len(top), len(bottom))
        total = 0.0
        for fold in range(folds):
            out, rest = np.arange(len(top)) % folds == fold, np.arange(len(bottom)) % folds != fold
            coefficients = self._maximise(top[~out], bottom[rest].mean(axis=0))
            scale = float((bottom[~rest] @ coefficients).mean())
            total += float(np.log(np.maximum(top[out] @ coefficients, 1e-300)).sum()) - out.sum() * np.log(
                max(scale, 1e-300)
            )
        return total

    def _maximise(self, top: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel weights: a mixture over kernels of mean 1 on the denominator rows."""
        reachable = means > 1e-12  # a kernel far from all denominator rows has no finite weight
        components = top[:, reachable] / means[reachable]
        mixture = np.full(components.shape[1], 1 / max(components.shape[1], 1))
        for _ in range(self.steps):
            density = np.maximum(components @ mixture, 1e-300)
            new = mixture * (components / density[:, None]).mean(axis=0)
            new /= max(new.sum(), 1e-300)
            moved = np.abs(new - mixture).max()
            mixture = new
            if moved < 1e-5:
                break
        coefficients = np.zeros(len(means))
        coefficients[reachable] = mixture / means[reachable]
        return coefficients

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        ratio: NDArray[np.float64] = self._kernel(self._scaled(rows)) @ self.coefficients_
        return ratio


class KernelMeanMatching(_Gaussian):
    """Weights that bring the denominator's kernel mean to the numerator's, extended to other rows.

    Kernel mean matching gives a weight to each of its own denominator rows only. The extension
    writes those weights as a sum of kernels by ridge regression, and sets negative values to 0.

    Parameters
    ----------
    sigma : float, default None
        Kernel bandwidth. None: the median distance between rows.
    bound : float
        Largest weight.
    rows : int
        Largest number of denominator rows that get weights; of more, a random sample is used.
    penalty : float
        Ridge penalty of the extension.
    centers, on, random_state
        As in `KernelRatio`; the centres are those of the extension, half of them from each sample.
    """

    def __init__(
        self,
        sigma: float | None = None,
        bound: float = 1000.0,
        rows: int = 2000,
        penalty: float = 1e-2,
        centers: Any = 200,
        on: str = "xy",
        *,
        random_state: RandomState = None,
    ) -> None:
        self.sigma = sigma
        self.bound = bound
        self.rows = rows
        self.penalty = penalty
        self.centers = centers
        self.on = on
        self.random_state = random_state

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        numerator, denominator = self._prepare(numerator, denominator)
        for name in ("bound", "rows", "penalty"):
            check_positive(name, getattr(self, name))
        denominator = denominator[: int(self.rows)]
        self.sigma_ = self.median_ if self.sigma is None else float(self._bandwidths()[0])
        K = _gaussian(cdist(denominator, denominator, "sqeuclidean"), self.sigma_)
        target = _gaussian(cdist(denominator, numerator, "sqeuclidean"), self.sigma_).mean(axis=1)
        count = len(denominator)

        def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            slope = K @ weights / count
            return float(weights @ (slope / 2 - target)), slope - target

        found = minimize(objective, np.ones(count), jac=True, method="L-BFGS-B", bounds=[(0, self.bound)] * count)
        self.weights_ = found.x
        self.limits_ = (0.0, float(self.bound))
        if isinstance(self.centers, Integral):  # the weights vary over the denominator's rows too
            self.centers_ = np.concatenate([self.centers_[: self.centers // 2], denominator[: self.centers // 2]])
        features = _gaussian(self._distances(denominator), self.sigma_)
        gram = features.T @ features / count
        gram[np.diag_indices_from(gram)] += self.penalty * np.trace(gram) / len(gram)
        self.coefficients_ = np.linalg.solve(gram, features.T @ self.weights_ / count)

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(self._kernel(self._scaled(rows)) @ self.coefficients_, *self.limits_)
