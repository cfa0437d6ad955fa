"""Classifiers made of Bayesian networks."""
