"""Studies of the methods on data whose truth is known."""
