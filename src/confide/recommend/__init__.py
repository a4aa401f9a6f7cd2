"""Recommendation: matrix factorisation as a base model, and a cross-fitted density ratio."""

from confide.recommend.cross_fitted import CrossFittedRatio
from confide.recommend.factorization import MatrixFactorization

__all__ = ["CrossFittedRatio", "MatrixFactorization"]
