"""Rows dealt into folds, once or several times, for the members of an ensemble to take turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import mean_row_weights
from priorwise.counts.draws import N_FOLDS, deal_repeatedly, number_groups
from priorwise.data.cuts import ValueCounts
from priorwise.models.networks.eskdb_members import NetworkMember, average_for_fold
from priorwise.models.training_table import TrainingTable
from priorwise.structure.networks.rows import RowGroup, Rows


class Dealings:
    """Several dealings of rows into `N_FOLDS` folds.

    The member at place i of an ensemble learns without fold i modulo `N_FOLDS` of a dealing; after
    a member for each fold, the next dealing has its turn. Rows know the folds of one dealing at a
    time.
    """

    def __init__(self, rows: Rows, n_dealings: int, seed: int) -> None:
        self.rows = rows
        generator = np.random.default_rng(seed)
        self.folds = deal_repeatedly(rows.y, N_FOLDS, n_dealings, generator, rows.row_groups)
        self._groups: list[RowGroup] = []
        self._current = -1

    def group_of(self, place: int) -> RowGroup:
        """Return the rows that the member at a place learns from, and deal them accordingly."""
        self.deal(self._dealing_of(place))
        return self._groups[place % N_FOLDS]

    def deal(self, dealing: int) -> NDArray[np.int32]:
        """Tell the rows the folds of a dealing, and return them."""
        if dealing != self._current:
            # The values of the last dealing are not to take memory beside those of the next.
            self._groups = []
            values = self.rows.deal(self.folds[dealing], N_FOLDS)
            self._groups = [self._leave_out(fold, dealing, values) for fold in range(N_FOLDS)]
            self._current = dealing
        return self.folds[dealing]

    def _leave_out(self, fold: int, dealing: int, values: ValueCounts) -> RowGroup:
        """Return the group of rows without a fold, given the values of each fold."""
        rows, kept = self.rows, np.flatnonzero(self.folds[dealing] != fold)
        row_weight = None
        if rows.draw_weight is not None:
            row_weight = mean_row_weights(rows.y[kept], rows.draw_weight[kept], rows.n_classes)
        group = None if rows.row_groups is None else number_groups(rows.row_groups[kept])
        return RowGroup(fold, len(kept), values.without(fold), row_weight, group)

    def split(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Yield the places of each dealing, those of the present one first."""
        order = {self._dealing_of(place): None for place in places}
        for dealing in sorted(order, key=lambda one: (one != self._current, one)):
            yield [place for place in places if self._dealing_of(place) == dealing]

    def list_first_group(self, n_members: int) -> list[int]:
        """Return the places of the members without the first fold of the first dealing."""
        return list(range(0, n_members, N_FOLDS * len(self.folds)))

    def list_folds(self, places: Sequence[int]) -> list[int | None]:
        """Return the folds of members; those of the second dealing have numbers from `N_FOLDS`."""
        return [N_FOLDS * self._dealing_of(place) + place % N_FOLDS for place in places]

    def find_held(self, place: int) -> NDArray[np.intp]:
        """Return the rows that the member at a place has not seen."""
        return np.flatnonzero(self.folds[self._dealing_of(place)] == place % N_FOLDS)

    def _dealing_of(self, place: int) -> int:
        return place // N_FOLDS % len(self.folds)


class HeldOut:
    """Probabilities of the rows of a table by members of an ensemble that have not seen them."""

    def __init__(self, dealings: Dealings, table: TrainingTable) -> None:
        self.dealings, self.table = dealings, table
        self._proba: dict[int, NDArray[np.float64]] = {}

    def settle(self, place: int, member: NetworkMember) -> NetworkMember:
        """Predict the rows that a member has not seen, and forget the tables for them."""
        columns = self.table.columns.take(self.dealings.find_held(place))
        self._proba[place] = average_for_fold([member], self.table.encoder, columns)
        return replace(member, without_fold=None)

    def average(self, members: Mapping[int, NetworkMember]) -> NDArray[np.float64]:
        """Return for each row the mean over dealings of the probabilities by the members, by place.

        Rows that every member has seen have NaN.
        """
        for place in members.keys() - self._proba.keys():
            self.settle(place, members[place])
        n_dealings = len(self.dealings.folds)
        total = np.zeros((self.table.n_rows, self.table.n_classes))
        times = np.zeros((self.table.n_rows, 1))
        for first in range(N_FOLDS * n_dealings):
            same = sorted(place for place in members if place % (N_FOLDS * n_dealings) == first)
            if same:
                held = self.dealings.find_held(first)
                total[held] += np.mean([self._proba[place] for place in same], axis=0)
                times[held] += 1.0
        with np.errstate(invalid="ignore"):
            return np.asarray(total / times)
