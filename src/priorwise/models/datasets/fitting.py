"""The one way to learn from data that need not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from typing import Any, TypeVar

from priorwise.common.validation import check_number
from priorwise.streaming.fit import StreamOptions, learn_in_passes

M = TypeVar("M", bound=Any)


def fit_dataset(
    model: M,
    source: Any,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    categorical_features: Any = None,
    batch_rows: int | None = None,
    memory_limit: int | float | str | None = None,
    on_limit: str = "error",
    max_rows: int | None = None,
    cache: str = "auto",
    scratch: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> M:
    """Learn from data that need not fit in memory.

    Rows are read in passes, and the first one surveys the columns. Models that learn by counting
    (networks, ESKDB, `BayesianNetwork`) count all rows: the model is the one that `fit` gives on
    them. Naive Bayes takes one pass, networks that learn their arcs two, selective kDB three; one
    more if numeric features have to be cut, and one more if the parameters of the smoother are
    chosen from data. Cut points are those of `fit` as long as the distinct values of numeric
    features fit in a quarter of the memory limit; beyond that neighbouring values are taken as one
    and `has_exact_cuts_` is False.

    Models that look at rows again and again (trees, forests, boosting, splines, kernels, Gaussians,
    pools) hold rows in memory, which a second pass reads. If the memory limit allows all of them,
    the model is the one that `fit` gives. Otherwise it is learnt from as many as the limit allows,
    drawn at random, the same share of every class, and a warning says how many; out-of-fold
    probabilities are those of these rows. Weights of the flagship then learn from further rows,
    which members have not seen, and its boosting from all other rows, which are read once more and
    held as one byte a value, or from as many as the limit allows.

    Parameters
    ----------
    source : path, list of paths, frame, pyarrow Dataset or callable
        Anything that `priorwise.data.open_source` can open.
    target : str
        Column of the class labels. A `BayesianNetwork` has none.
    features : sequence of str, optional
        Columns to learn from; all but the target by default.
    categorical_features : mask, indices or names, optional
        Numeric columns to take as nominal, instead of the parameter of that name.
    batch_rows : int, optional
        Largest number of rows of a batch; the model does not depend on it.
    memory_limit : int or str, optional
        Bytes, or a text such as ``"1GB"``, that learning may take, instead of the parameter of
        that name; by default half of the memory available. Models that count keep it by the size
        of batches and a limit on contexts, others by the number of rows that they hold.
    on_limit : "error" or "merge"
        What models that count do beyond the limit on contexts, of the memory limit or
        `max_contexts`: raise an error, or count the rarest contexts as one. Rows of a context
        merged away back off to its parent.
    max_rows : int, optional
        Largest number of rows to learn from, for models that hold rows in memory; by default only
        the memory limits it.
    cache : "auto", "on" or "off"
        Whether a compact copy of the coded rows is written for later passes; "auto" does so for
        models that count, unless the disk is nearly full. It is removed at the end, also after an
        error.
    scratch : path, optional
        Folder for that copy; the system's folder for temporary files by default.
    checkpoint : path, optional
        Folder to save on the way what was read. The same call resumes interrupted work and gives
        the same model; the folder is empty at the end.
    verbose : int
        Above 0, passes, rows and the time left are reported on the error stream.

    Returns
    -------
    Self
        The fitted model.

    Examples
    --------
    >>> import pandas as pd
    >>> from priorwise import NaiveBayesClassifier
    >>> rain = pd.DataFrame({"sky": ["grey", "blue"] * 4, "rain": ["yes", "no"] * 4})
    >>> model = NaiveBayesClassifier().fit_dataset(lambda: iter([rain, rain]), target="rain")
    >>> model.predict(pd.DataFrame({"sky": ["blue"]})).tolist(), model.n_passes_, model.n_sampled_
    (['no'], 1, 16)
    """
    if max_rows is not None:
        check_number("max_rows", max_rows, least=1)
    learner = copy(model)
    if categorical_features is not None:
        learner.categorical_features = categorical_features
    if memory_limit is not None:
        learner.memory_limit = memory_limit
    options = StreamOptions(
        batch_rows=batch_rows,
        memory_limit=learner.memory_limit,
        on_limit=on_limit,
        cache=cache,
        scratch=scratch,
        checkpoint=checkpoint,
        verbose=verbose,
    )
    streamed = learner.as_streamed(target, max_rows)
    learnt, passes = learn_in_passes(
        streamed, source, target=target, features=features, options=options
    )
    fitted: M = model.adopt_learnt(learnt, passes)
    return fitted
