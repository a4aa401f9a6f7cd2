"""Studies: what the methods do on data whose truth is known."""
