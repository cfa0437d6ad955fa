"""Probabilities of rows that need not fit in memory."""

from __future__ import annotations

import os
from typing import Any

import narwhals as nw
from sklearn.utils.validation import check_is_fitted

from priorwise.data.sources import SourceError, open_sink, open_source, prefetch
from priorwise.data.sources.source import BATCH_ROWS
from priorwise.models.base import DecisionMixin


class DatasetPredictionMixin(DecisionMixin):
    """`predict_dataset`, for any classifier with `predict_proba`."""

    def predict_dataset(
        self,
        source: Any,
        out: str | os.PathLike[str],
        *,
        target: str | None = None,
        batch_rows: int | None = None,
    ) -> int:
        """Write the class probabilities of every row of `source`, batch by batch.

        Parameters
        ----------
        source : as for :func:`priorwise.data.open_source`
            It must have the columns of training, by name; others are not read. A model that was
            fitted without names takes the columns in their order.
        out : path
            A ".parquet", ".csv" or ".csv.gz" file with one column ``p(class)`` for each class
            and one row for each row of `source`, in its order. It is written under a hidden
            name and renamed at the end, so an incomplete file never stands under that name.
        target : str, optional
            A column to leave out where the model knows no names.
        batch_rows : int, optional
            Rows in memory at a time.

        Returns
        -------
        int
            Number of rows written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import pandas as pd
        >>> from priorwise import NaiveBayesClassifier
        >>> X = pd.DataFrame({"sky": ["sun", "rain"] * 10})
        >>> model = NaiveBayesClassifier().fit(X, ["out", "in"] * 10)
        >>> out = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
        >>> model.predict_dataset(X, out)
        20
        >>> out.read_text().splitlines()[0]
        'p(in),p(out)'
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        features = None if names is None else [str(name) for name in names]
        size = BATCH_ROWS if batch_rows is None else batch_rows
        rows = open_source(source, target=None, features=features, batch_rows=size)
        if features is None and target is not None:
            # The target may be missing here, so it is not read at all.
            others = [name for name in rows.feature_names if name != target]
            rows = open_source(rows, target=None, features=others, batch_rows=size)
        n_rows = 0
        with open_sink(out, self.classes_.tolist()) as sink:
            for batch in prefetch(rows.read()):
                X = batch.X
                if features is None:
                    X = nw.from_native(X, eager_only=True).to_numpy()
                try:
                    proba = self.predict_proba(X)
                except (TypeError, ValueError) as error:
                    raise SourceError(str(error), batch.place) from error
                sink.write(proba)
                n_rows += len(proba)
        return n_rows
