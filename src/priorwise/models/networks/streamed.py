"""Network classifiers that also learn from data that does not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from joblib import effective_n_jobs

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.data.tables import TableEncoder
from priorwise.models.base import TableClassifier
from priorwise.models.datasets.parameters import DATASET
from priorwise.streaming.fit import StreamNeeds, StreamOptions, fit_dataset
from priorwise.streaming.row_stream import RowStream


class StreamedClassifier(TableClassifier):
    """A classifier with `fit_dataset`, which learns in passes over the rows.

    Parameters
    ----------
    missing : {"value", "impute", "ignore"}
        What missing values are: a value of their own (default); the most frequent category or the
        mean; or unknown. An unknown value is left out: its feature's factor is no part of the
        product, and factors of features that have it as a parent use the contexts before that
        parent. In training, a row that misses a feature does not count in that feature's tables,
        and where it misses a parent it counts in the contexts before that parent.

    Attributes
    ----------
    has_exact_cuts_ : bool
        Whether cut points were learnt from all distinct values. Only after `fit_dataset`.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "has_exact_cuts_": bool,
    }
    missing_choices = ("value", "impute", "ignore")

    @describe(DATASET)
    def fit_dataset(  # type: ignore[override]
        self,
        source: Any,
        target: str,
        *,
        features: Sequence[str] | None = None,
        categorical_features: Any = None,
        batch_rows: int | None = None,
        memory_limit: int | float | str | None = None,
        on_limit: str = "error",
        cache: str = "auto",
        scratch: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> Self:
        """Learn from data that need not fit in memory: the model that `fit` gives on all of it.

        Rows are read in passes: naive Bayes takes one, networks that learn their arcs two,
        selective kDB three; one more if numeric features have to be cut, and one more if the
        parameters of the smoother are chosen from data. Cut points are those of `fit` as long as
        the distinct values of numeric features fit in a quarter of the memory limit; beyond that
        neighbouring values are taken as one and `has_exact_cuts_` is False.

        Parameters
        ----------
        memory_limit : int or str, optional
            Bytes, or a text such as ``"1GB"``, that learning may take, instead of the parameter of
            that name; by default half of the memory available. It is kept by the size of batches
            and a limit on contexts.
        on_limit : "error" or "merge"
            What to do beyond the limit on contexts, of the memory limit or `max_contexts`: raise
            an error, or count the rarest contexts as one. Rows of a context merged away back off
            to its parent.
        cache : "auto", "on" or "off"
            Whether a compact copy of the coded rows is written for later passes; "auto" does so
            unless the disk is nearly full. It is removed at the end, also after an error.
        scratch : path, optional
            Folder for that copy; the system's folder for temporary files by default.
        checkpoint : path, optional
            Folder to save counts in on the way. The same call resumes interrupted work and
            gives the same model; the folder is empty at the end.

        Examples
        --------
        >>> import pandas as pd
        >>> from priorwise import NaiveBayesClassifier
        >>> rain = pd.DataFrame({"sky": ["grey", "blue"] * 4, "rain": ["yes", "no"] * 4})
        >>> model = NaiveBayesClassifier().fit_dataset(lambda: iter([rain, rain]), target="rain")
        >>> model.predict(pd.DataFrame({"sky": ["blue"]})).tolist(), model.n_passes_
        (['no'], 1)
        """
        self.check_settings()
        self.check_parameters()
        self._refuse_class_weight("fit_dataset")
        if self.declared != "ignore":
            raise ValueError(
                "declared must be 'ignore' for fit_dataset, whose batches need not declare the "
                f"same labels, got {self.declared!r}"
            )
        result = fit_dataset(
            StreamedNetwork(self, categorical_features),
            source,
            target=target,
            features=features,
            options=StreamOptions(
                batch_rows=batch_rows,
                memory_limit=self.memory_limit if memory_limit is None else memory_limit,
                on_limit=on_limit,
                cache=cache,
                scratch=scratch,
                checkpoint=checkpoint,
                verbose=verbose,
            ),
        )
        encoder, classes, class_count, fitted = result.learnt
        passes = {
            "n_passes_": result.n_passes,
            "n_sampled_": round(class_count.sum()),
            "has_exact_cuts_": result.has_exact_cuts,
        }
        return self.adopt(encoder, classes, class_count, {**fitted, **passes})

    def _refuse_class_weight(self, method: str) -> None:
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight must be None for {method}, which sees a part of the rows at a time, "
                f"got {self.class_weight!r}"
            )

    def _learn(self, table: Any, seed: int | None = None) -> dict[str, Any]:
        """Learn from a `TrainingTable` or a `RowStream`, as `TableClassifier` says."""
        raise NotImplementedError

    def _new_encoder(self) -> TableEncoder:
        """Return an encoder that is not fitted."""
        raise NotImplementedError

    def _needs_pairs(self) -> bool:
        """Whether learning needs counts of pairs of features, which the first pass then makes."""
        return False

    def _reads_again(self) -> bool:
        """Whether learning takes more than one pass."""
        return True


@dataclass(frozen=True, eq=False)
class StreamedNetwork:
    """A classifier as `priorwise.streaming` sees it (see `StreamedModel`); it is not changed.

    `categorical_features`, if given, stand instead of the model's parameter of that name.
    """

    model: StreamedClassifier
    categorical_features: Any = None

    def describe(self) -> list[Any]:
        """Return the model's name and parameters."""
        parameters = sorted(self.model.get_params(deep=True).items())
        return [type(self.model).__name__, parameters, self.categorical_features]

    def needs(self) -> StreamNeeds:
        """Return what learning needs of the stream."""
        return StreamNeeds(
            n_jobs=int(effective_n_jobs(self.model.n_jobs)),
            pairs=self.model._needs_pairs(),
            later_passes=self.model._reads_again(),
        )

    def make_encoder(self) -> TableEncoder:
        """Return an encoder that is not fitted."""
        encoder = self.model._new_encoder()
        if self.categorical_features is not None:
            encoder.set_params(categorical_features=self.categorical_features)
        return encoder

    def draw_seed(self) -> int:
        """Return the seed of all random numbers."""
        return draw_seed(self.model.random_state)

    def learn(self, rows: RowStream, seed: int) -> tuple[TableEncoder, Any, Any, dict[str, Any]]:
        """Return the encoder, the classes, their numbers of rows and the fitted attributes."""
        fitted = self.model._learn(rows, seed)
        return rows.encoder, rows.classes, rows.class_count, fitted
