"""The methods: thin assemblies of base model, ratio, split and quantile, one file each."""

from confide.methods.registry import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]
