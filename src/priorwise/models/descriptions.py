"""Descriptions of parameters that many methods have."""

ROWS = """
Parameters
----------
X : frame or array of shape (n_rows, n_features), dict, or list of dict
    Rows with the columns of training; a dict of values by column is one row.
columns : Columns
    Rows as `encoder_` reads them.
"""
"""Descriptions that all methods share that take rows."""

TRAINING_ROWS = """
Parameters
----------
X : frame or array of shape (n_rows, n_features), or list of dict
    Rows to learn from: a pandas, polars or Arrow table, an array, a list of lists or of dicts.
y : array-like of shape (n_rows,) or str
    Class label of each row, or the name of the column of X that has them.
sample_weight : array-like of shape (n_rows,), optional
    Weight of each row. Weights count rows: a row of weight two counts for two equal rows, a row of
    weight zero for no row. Where rows are held out, in folds or bootstraps, a row is held out as a
    whole, whatever its weight.
groups : array-like of shape (n_rows,), optional
    Group of each row. Rows of a group are held out together wherever rows are held out. By default
    each row is a group, and so are exact copies of rows that hold a continuous number.

Returns
-------
Self
    The fitted classifier.
"""
"""Descriptions that all methods share that learn from rows."""
