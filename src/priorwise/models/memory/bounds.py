"""Most rows, features and scores that learners use, by which their memory is estimated too."""

MAX_SPLINED = 40
"""With more numeric features there are no splines."""

MAX_SPLINE_ROWS, MAX_KERNEL_ROWS = 20_000, 5_000
"""Most rows that splines and the kernel learn from."""

MAX_GAUSSIAN_VALUES = 200
"""Most numeric features that Gaussians have."""

MAX_NETWORK_FEATURES = 200
"""Most features of a weighted network of an ensemble."""

MIN_SCORED_ROWS, MAX_SCORED_ROWS = 150, 2_500
"""Smallest and largest number of rows that the weights of a network are fitted on, if there are so
many; the weights are few."""

MAX_SCORES = 2_000_000
"""Largest number of estimates that these weights are fitted on: rows x classes x levels x features.
"""

MAX_IMITATED_ROWS = 20_000
"""Most rows of a table whose tree imitates a forest unless it is asked to."""

DRAWN_PER_ROW, MAX_DRAWN = 20, 10_000
"""Rows that this forest labels for each training row, and at most, training rows included."""

MAX_COPIES = 60_000
"""Most pairs of a labelled row and a class that the tree grows on."""
