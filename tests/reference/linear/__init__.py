"""Slow twins of the scores of linear and kernel models."""
