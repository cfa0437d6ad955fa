"""A network classifier as a stream of rows sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from priorwise.data.tables import TableEncoder
from priorwise.streaming.fit import StreamNeeds
from priorwise.streaming.row_stream import RowStream

if TYPE_CHECKING:
    from priorwise.models.networks.base import BaseNetworkClassifier


class StreamedNetwork:
    """Lets a network classifier be learnt by `priorwise.streaming` (see `StreamedModel`).

    Parameters
    ----------
    model : BaseNetworkClassifier
        Its parameters say what to learn. It is not changed.
    categorical_features : mask, indices or names, optional
        Numeric columns to take as nominal, instead of the model's parameter of that name.
    """

    def __init__(self, model: BaseNetworkClassifier, categorical_features: Any = None) -> None:
        self._model = model
        self._categorical_features = categorical_features

    def describe(self) -> list[Any]:
        """Return the model's name and parameters."""
        parameters = sorted(self._model.get_params(deep=True).items())
        return [type(self._model).__name__, parameters, self._categorical_features]

    def needs(self) -> StreamNeeds:
        """Return what learning needs of the stream."""
        return StreamNeeds(
            n_jobs=self._model._n_threads,
            pairs=self._model._needs_pairs(),
            later_passes=self._model._reads_again(),
        )

    def make_encoder(self) -> TableEncoder:
        """Return an encoder that is not fitted."""
        encoder = self._model._new_encoder()
        if self._categorical_features is not None:
            encoder.set_params(categorical_features=self._categorical_features)
        return encoder

    def draw_seed(self) -> int:
        """Return the seed of all random numbers."""
        return self._model._draw_seed()

    def learn(self, rows: RowStream, seed: int) -> BaseNetworkClassifier:
        """Learn another model of the same parameters, and return it."""
        learnt = type(self._model)(**self._model.get_params(deep=False))
        learnt.classes_ = rows.classes
        learnt._adopt(rows.encoder)
        learnt._fit_rows(rows, seed)
        return learnt
