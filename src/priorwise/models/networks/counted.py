"""Classifiers that keep their counts: rows can be added, taken away, and made to count less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_number, check_weight, take_target
from priorwise.data.encoding import TableEncoder
from priorwise.data.encoding.joined_encoder import scale_weights
from priorwise.data.survey.survey import Survey
from priorwise.data.tables import declared_classes, encode_labels
from priorwise.models.descriptions import TRAINING_ROWS
from priorwise.models.networks.streamed import StreamedClassifier
from priorwise.models.networks.table_rows import TableRows
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.structure.networks import NetworkCounts, check_contexts
from priorwise.structure.networks.network_counts import CountedModel, add_counts, subtract_counts
from priorwise.structure.networks.rows import Count


class CountedClassifier(StreamedClassifier):
    """A classifier whose counts, if it keeps them, can be changed after `fit`.

    Subclasses implement `_smooth`, which turns counts into fitted attributes.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **StreamedClassifier.learnt,
        "smoothing_": Smoother,
        "counts_": list,
    }
    max_contexts: int
    discretizer: Any
    smoothing_: Smoother
    counts_: list[NetworkCounts]

    structure_attributes: tuple[str, ...] = ()
    """Fitted attributes that describe how the structure was found."""

    @describe(TRAINING_ROWS)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one more batch of rows.

        `fit`, or else the first batch, fixes the structure, the classes, the cut points of numeric
        features, the labels and means that replace missing values (``missing="impute"``), and the
        parameters of the smoother; later batches may have new values of nominal features. With a
        structure that is given, batches of nominal rows give the model that `fit` gives on all of
        them, unless missing values are replaced. Probabilities are smoothed again after every
        batch. A call that raises leaves the model as it was.

        Parameters
        ----------
        classes : array-like, optional
            All class labels that any batch may have; those of the first batch by default, or
            those that its type declares with ``declared="count"``.
        """
        self.check_settings()
        self.check_parameters()
        self.refuse_class_weight("partial_fit")
        target = {"target_name_": y} if isinstance(y, str) else {}
        X, y = take_target(X, y)
        first = not hasattr(self, "encoder_")
        encoder = self._new_encoder() if first else self.encoder_
        known = self._known_classes(y, classes)
        batch, _ = self._read_batch(encoder, X, y, known, sample_weight)
        seed = draw_seed(self.random_state)
        if first:
            fitted = self._learn(TableRows(batch, self.n_threads, batch.cut()), seed)
            fitted |= target
            return self.adopt(batch.encoder, batch.classes, batch.class_count, fitted)
        counts = self._find_counts()
        added = self._count(batch, self.max_contexts)
        counts = [old.merge(new) for old, new in zip(counts, added, strict=True)]
        return self._adopt_counts((batch.encoder, batch.classes, counts), seed)

    def merge(self, *others: Self) -> Self:
        """Add what other models have counted: the model of the rows of all.

        Models are learnt apart, say by month or by hospital, with one structure and the same cut
        points of numbers: with `structure=` and nominal features, or by `partial_fit` of copies of
        one fitted model, whose own rows `subtract` takes away again. Labels and classes may differ.
        The parameters of the smoother are those of this model. A call that raises leaves the model
        as it was.

        Parameters
        ----------
        *others : classifier
            Fitted models of the same class, which stay as they are.

        Returns
        -------
        Self
            This model, with all counts.

        Examples
        --------
        >>> from priorwise import NaiveBayesClassifier
        >>> may = NaiveBayesClassifier("laplace").fit([["sun"], ["rain"]], ["out", "in"])
        >>> june = NaiveBayesClassifier("laplace").fit([["sun"], ["sun"]], ["out", "in"])
        >>> may.merge(june).class_count_
        array([2., 2.])
        """
        return self._adopt_counts(add_counts(self._counted_with(others)))

    def subtract(self, *others: Self) -> Self:
        """Take away what other models have counted: the model of rows that were never seen there.

        Labels that no row is left of are forgotten, unless the types of other rows declare them
        (``declared="count"``); classes and cut points stay. With ``missing="impute"`` it is a
        ValueError if missing labels that are left would be replaced by another label without these
        rows. A call that raises leaves the model as it was.

        Parameters
        ----------
        *others : classifier
            Fitted models of the same class whose rows this model has counted; see `merge`.

        Returns
        -------
        Self
            This model, with the counts that are left.
        """
        return self._adopt_counts(subtract_counts(self._counted_with(others)))

    @describe(TRAINING_ROWS)
    def forget(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Take rows away that this model has counted: the model that has never seen them.

        Labels that no row is left of are forgotten as in `subtract`; classes and cut points stay,
        and so does the structure. A row that was never counted is a ValueError, and so is one
        without which missing labels would be replaced by another label (`subtract`). Both leave the
        model as it was.
        """
        self._counted_with(())
        X, y = take_target(X, y)
        batch, survey = self._read_batch(self.encoder_, X, y, self.classes_, sample_weight)
        assert survey is not None
        encoder, _ = scale_weights(batch.encoder, 0.0).extend(survey)
        taken = (encoder, self.classes_, self._count(batch))
        return self._adopt_counts(subtract_counts([*self._counted_with(()), taken]))

    def decay(self, factor: float) -> Self:
        """Let rows fade: all that was counted so far counts `factor` times.

        Called before each `partial_fit`, the rows of n batches ago count ``factor ** n`` times.

        Parameters
        ----------
        factor : float
            A number above 0 and at most 1.

        Returns
        -------
        Self
            This model, with smaller counts.
        """
        check_number("factor", factor, least=0, most=1)
        if factor == 0:
            raise ValueError("factor must be above 0 and at most 1, got 0")
        ((encoder, classes, counts),) = self._counted_with(())
        faded = [one.scale(float(factor)) for one in counts]
        return self._adopt_counts((scale_weights(encoder, float(factor)), classes, faded))

    def _counted_with(self, others: Sequence[Any]) -> list[CountedModel]:
        """Return what this and other fitted models have counted."""
        for model in (self, *others):
            if type(model) is not type(self):
                raise TypeError(
                    f"others must be {type(self).__name__}s, got {type(model).__name__}"
                )
            check_is_fitted(model)
        return [(one.encoder_, one.classes_, one._find_counts()) for one in (self, *others)]

    def _read_batch(
        self, encoder: TableEncoder, X: Any, y: Any, known: Any, sample_weight: Any
    ) -> tuple[TrainingTable, Survey | None]:
        """Return the table of a batch, whose encoder has read it too, and its survey.

        The survey is None if the encoder was not fitted before.
        """
        codes, known = encode_labels(y, min_classes=2 if known is None else 1, classes=known)
        weight = check_weight(sample_weight, len(codes))
        survey = None
        if hasattr(encoder, "categories_"):
            encoder, survey, columns = encoder.read_more(X, weight)
        else:
            columns = encoder.fit_read(X, codes, weight, known)
        if weight is not None:
            codes, weight = codes[weight > 0.0], weight[weight > 0.0]
        given = np.arange(len(codes))
        table = TrainingTable(
            encoder, columns, codes, known, weight, given, len(codes), self.n_threads, X=None
        )
        return table, survey

    def _count(self, table: TrainingTable, max_contexts: int | None = None) -> list[NetworkCounts]:
        """Return the counts of a table by the networks of this model."""
        networks = [one.network for one in self.counts_]
        request = Count(networks=networks, max_contexts=max_contexts)
        return TableRows(table, self.n_threads, table.cut()).answer(request).counts

    def _adopt_counts(self, counted: CountedModel, seed: int | None = None) -> Self:
        """Smooth new counts and adopt them; what describes the structure stays."""
        encoder, classes, counts = counted
        check_contexts(sum(c.n_contexts for c in counts), self.max_contexts)
        seed = draw_seed(self.random_state) if seed is None else seed
        names = ("smoothing_", "target_name_", *self.structure_attributes)
        kept = {name: getattr(self, name) for name in names if hasattr(self, name)}
        fitted = {**kept, **self._smooth(encoder, counts, self.smoothing_, seed, keep_counts=True)}
        return self.adopt(encoder, classes, counts[0].class_tree.count_rows()[0], fitted)

    def _find_counts(self) -> list[NetworkCounts]:
        """Return what the networks have counted; ValueError if it was not kept."""
        check_is_fitted(self)
        if not hasattr(self, "counts_"):
            raise ValueError("keep_counts must be True to look at counts or to add to them")
        return self.counts_

    def _smooth(
        self,
        encoder: TableEncoder,
        counts: list[NetworkCounts],
        smoother: Smoother,
        seed: int,
        *,
        keep_counts: bool,
    ) -> dict[str, Any]:
        """Return the fitted attributes that follow from counts: the step, and what is kept."""
        raise NotImplementedError

    def _known_classes(self, y: Any, classes: Any) -> NDArray[Any] | None:
        if hasattr(self, "classes_"):
            return self.classes_
        if classes is None:
            return declared_classes(y) if self.declared == "count" else None
        return np.unique(np.asarray(classes))

    def _new_encoder(self) -> TableEncoder:
        return TableEncoder.for_model(self, self.discretizer)
