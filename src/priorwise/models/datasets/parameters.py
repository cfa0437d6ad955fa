"""Parameters that every `fit_dataset` of a classifier has."""

DATASET = """
Parameters
----------
source : path, list of paths, frame, pyarrow Dataset or callable
    Anything that `priorwise.data.open_source` can open.
target : str
    Column of the class labels.
features : sequence of str, optional
    Columns to learn from; all but the target by default.
categorical_features : mask, indices or names, optional
    Numeric columns to take as nominal, instead of the parameter of that name.
batch_rows : int, optional
    Largest number of rows of a batch; the model does not depend on it.
verbose : int
    Above 0, passes, rows and the time left are reported on the error stream.

Returns
-------
Self
    The fitted classifier.
"""
