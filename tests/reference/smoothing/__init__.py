"""Twins of the smoothers."""
