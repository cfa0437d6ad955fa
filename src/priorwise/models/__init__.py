"""Estimators: structure, counts and smoothing put together."""
