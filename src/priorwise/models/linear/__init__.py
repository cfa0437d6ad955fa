"""Logistic regressions on splines and on a kernel."""
