"""Classifiers pooled into one: the log-linear pool, boosting, and the flagship."""
