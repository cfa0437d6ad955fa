"""Classifiers made of decision trees."""
