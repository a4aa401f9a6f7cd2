"""Designs of studies that nobody tested together: the cases of the attack on the statistical promises."""
