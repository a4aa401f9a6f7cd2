"""For whom answers hold: weights of calibration rows, from assignment probabilities, a target, clusters and groups."""
