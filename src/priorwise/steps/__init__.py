"""Fitted models as records of arrays: what is predicted from, saved, exported, explained, drawn."""
