"""The step of Bayesian networks."""
