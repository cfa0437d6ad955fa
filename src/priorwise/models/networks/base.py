"""What all Bayesian network classifiers share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.validation import check_weight
from priorwise.counts import CodedRows
from priorwise.data.tables import TableEncoder, encode_labels
from priorwise.models.base import TableClassifier
from priorwise.models.candidates import hold_back, squared_error
from priorwise.models.networks.network_model import NetworkModel
from priorwise.models.networks.streamed import StreamedNetwork
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.smoothing.names import as_smoother
from priorwise.streaming.fit import StreamOptions, fit_dataset
from priorwise.structure.networks import Counted, MemoryRows, Network, NetworkCounts, TrainingRows

MAX_CONTEXTS = 50_000_000


class BaseNetworkClassifier(TableClassifier):
    """Encode rows, learn what to count, count, smooth; predict in log space.

    Subclasses say how: `_fit_rows` learns from coded rows, `_predict_rows` gives the
    probabilities of coded rows.

    Parameters
    ----------
    smoothing : str or Smoother
        "hdp" (default), "hgs", "m-branch", "m-estimate", "laplace", "mle", or a smoother.
    discretizer : str or transformer
        "mdlp" (default), "equal-width", "equal-frequency", "kmeans", "tree", or a transformer.
    max_contexts : int
        Largest number of contexts to count. If the data has more, `fit` raises a ValueError.
    """

    def __init__(
        self,
        smoothing: str | Smoother = "hdp",
        *,
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.discretizer = discretizer
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.max_contexts = max_contexts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        rows = self._in_memory(self._encode_training(X, y, sample_weight))
        self._fit_rows(rows, self._draw_seed())
        return self

    def fit_dataset(
        self,
        source: Any,
        target: str,
        features: Sequence[str] | None = None,
        categorical_features: Any = None,
        *,
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
        selective kDB three; one more where numeric features have to be cut. `n_passes_` tells.
        Cut points are those of `fit` as long as the distinct values of numeric features fit in a
        quarter of the memory limit; beyond, neighbouring values are taken as one and
        `has_exact_cuts_` is False.

        Parameters
        ----------
        source : path, list of paths, folder, pyarrow Dataset, callable, polars LazyFrame, ...
            What `priorwise.data.open_source` takes.
        target : str
            Column of the class labels.
        features : sequence of str, optional
            Columns to learn from; all but the target by default.
        categorical_features : mask, indices or names, optional
            Numeric columns to take as nominal, instead of the parameter of that name.
        batch_rows : int, optional
            Most rows of a batch; the model does not depend on it.
        memory_limit : int or str, optional
            Bytes, or a text such as ``"1GB"``, that learning may take; kept by the size of
            batches and a cap on contexts.
        on_limit : "error" or "merge"
            What to do beyond the cap on contexts, of the memory limit or `max_contexts`: raise,
            or count the rarest as one. Rows of a context merged away back off to its parent.
        cache : "auto", "on" or "off"
            Whether a compact copy of the coded rows is written for later passes; "auto" does
            unless the disk is nearly full. It is removed at the end, also after an error.
        scratch : path, optional
            Folder for that copy; the system's folder for temporary files by default.
        checkpoint : path, optional
            Folder to save counts in on the way. The same call resumes interrupted work and
            gives the same model; the folder is empty at the end.
        verbose : int
            Above 0, passes, rows and the time left are reported on the error stream.

        Examples
        --------
        >>> import pandas as pd
        >>> from priorwise import NaiveBayesClassifier
        >>> rain = pd.DataFrame({"sky": ["grey", "blue"] * 4, "rain": ["yes", "no"] * 4})
        >>> model = NaiveBayesClassifier().fit_dataset(lambda: iter([rain, rain]), target="rain")
        >>> model.predict(pd.DataFrame({"sky": ["blue"]})).tolist(), model.n_passes_
        (['no'], 1)
        """
        result = fit_dataset(
            StreamedNetwork(self, categorical_features),
            source,
            target=target,
            features=features,
            options=StreamOptions(
                batch_rows=batch_rows,
                memory_limit=memory_limit,
                on_limit=on_limit,
                cache=cache,
                scratch=scratch,
                checkpoint=checkpoint,
                verbose=verbose,
            ),
        )
        self._take_over(result.learnt)
        self.n_passes_ = result.n_passes
        self.has_exact_cuts_ = result.has_exact_cuts
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        A row whose joint probability is zero in every class, which only unsmoothed counts give
        (`smoothing="mle"`), gets the class prior.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities; rows sum to one, columns are in the order of `classes_`.
        """
        return self._predict_rows(self._encode(X))

    def _fit_rows(self, rows: TrainingRows, seed: int) -> None:
        raise NotImplementedError

    def _predict_rows(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _needs_pairs(self) -> bool:
        """Whether learning asks for pairs of features: the first pass counts them if so."""
        return False

    def _reads_again(self) -> bool:
        """Whether learning takes more than one pass."""
        return True

    def _new_encoder(self) -> TableEncoder:
        return TableEncoder(
            categorical_features=self.categorical_features,
            missing=self.missing,
            unseen=self.unseen,
            discretizer=self.discretizer,
            n_jobs=self.n_jobs,
        )

    def _encode_training(self, X: Any, y: Any, sample_weight: Any) -> CodedRows:
        table = TrainingTable.read(self._new_encoder(), X, y, sample_weight)
        self.classes_ = table.classes
        self._adopt(table.encoder)
        return table.cut()

    def _encode_batch(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, first: bool
    ) -> CodedRows:
        """One batch of a stream; the first fixes the classes, and the cut points of numbers."""
        if first:
            encoder = self._new_encoder()
            known = None if classes is None else np.unique(np.asarray(classes))
            n_needed = 2 if known is None else 1
            y, self.classes_ = encode_labels(y, min_classes=n_needed, classes=known)
        else:
            encoder = self.encoder_
            y, _ = encode_labels(y, classes=self.classes_)
        weight = check_weight(sample_weight, len(y))
        encoder.partial_fit(X, y, weight)
        self._adopt(encoder)
        return self._coded_rows(encoder.transform(X), y, weight)

    def _take_over(self, other: BaseNetworkClassifier) -> None:
        """Forget all that was fitted, and take what `other` has been fitted to instead."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update({k: v for k, v in vars(other).items() if k.endswith("_")})

    def _adopt(self, encoder: TableEncoder) -> None:  # type: ignore[override]
        self.encoder_ = encoder
        self._adopt_features(encoder)

    def _coded_rows(
        self, codes: NDArray[np.int32], y: NDArray[np.int32], weight: NDArray[np.float64] | None
    ) -> CodedRows:
        if weight is not None:
            # Rows of weight zero bring no labels; they count nowhere, so any code will do.
            codes = np.maximum(codes, 0)
        return CodedRows(list(codes), self.encoder_.arities_, y, len(self.classes_), weight)

    def _encode(self, X: Any) -> list[NDArray[np.int32]]:
        check_is_fitted(self)
        return list(self.encoder_.transform(X))

    def _feature_names(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [])]

    def _in_memory(self, rows: CodedRows) -> MemoryRows:
        return MemoryRows(rows, self._n_threads)

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _count_and_choose(
        self, networks: Sequence[Network], rows: TrainingRows, seed: int
    ) -> tuple[list[NetworkCounts], Smoother]:
        """Count networks, and choose the smoother on rows the first has not counted."""
        candidates = as_smoother(self.smoothing).candidates()
        if len(candidates) == 1 or rows.n_rows < 2:
            # Where nothing can be held back, the last: it smooths most.
            return rows.count(networks, None, self.max_contexts).counts, candidates[-1]
        counted = rows.count(networks, hold_back(rows.n_rows, seed), self.max_contexts)
        return counted.counts, self._choose(candidates, counted)

    def _choose(self, candidates: Sequence[Smoother], counted: Counted) -> Smoother:
        """The smoother with the least squared error on the rows held back; the first of equals."""
        assert counted.training is not None
        assert counted.held is not None
        held = counted.held
        weight = np.ones(held.n_rows) if held.weight is None else held.weight
        losses = []
        for candidate in candidates:
            model = NetworkModel.smooth(counted.training, candidate, n_jobs=self._n_threads)
            proba = model.proba(held.columns, self._n_threads)
            losses.append(float(weight @ squared_error(proba, held.y)))
        return candidates[int(np.argmin(losses))]

    def _choose_smoother(self, network: Network, rows: CodedRows, seed: int) -> Smoother:
        return self._count_and_choose([network], self._in_memory(rows), seed)[1]
