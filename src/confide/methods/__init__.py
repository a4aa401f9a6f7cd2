"""The methods, one file each: assemblies of base model, density ratio, split and quantile."""

from confide.methods.registry import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]
