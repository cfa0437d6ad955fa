"""Bayesian networks of any graph, without a class."""
