"""The structure of a Bayesian network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np

from priorwise.common.docstrings import hook
from priorwise.common.records import Record, part


@dataclass(frozen=True)
class Network(Record):
    """Which features depend on which; every feature depends on the class, if there is one.

    Parameters
    ----------
    parents : tuple of tuples of int
        For each feature, by index, the features it depends on besides the class, in order of
        influence: the first is the first level of its count tree below the class.
    order : tuple of int
        The features in use, each after its parents. A feature that is not in it is left out of
        the classifier.
    feature_names : tuple of str
        Names of the features; by default ``x0``, ``x1``, ...
    class_name : str or None
        Name of the class; None for a network of columns that has no class.

    Examples
    --------
    >>> network = Network(parents=((), (0,), (1, 0)), order=(0, 1, 2))
    >>> list(network.arcs())
    [(0, 1), (1, 2), (0, 2)]
    >>> Network.from_parents([[1], [0]])
    Traceback (most recent call last):
        ...
    ValueError: parents must have no cycle, got one among features [0, 1]
    """

    parents: tuple[tuple[int, ...], ...] = part(tuple, several=True)
    order: tuple[int, ...] = part(int, several=True)
    feature_names: tuple[str, ...] = part(str, several=True, default=())
    class_name: str | None = part(str, optional=True, default="class")

    @hook
    def to_stored(self) -> dict[str, Any]:
        """Return what a file holds: the parents of all features one behind the other."""
        return {
            "n_parents": np.array([len(own) for own in self.parents], dtype=np.int64),
            "parents": np.array(list(chain(*self.parents)), dtype=np.int64),
            "order": np.array(self.order, dtype=np.int64),
            "names": [self.feature_names, self.class_name],
        }

    @classmethod
    @hook
    def from_stored(cls, stored: Any) -> Network:
        """Return the network that a file holds; raise some exception unless it is right."""
        n_parents, parents, order = (stored[name] for name in ("n_parents", "parents", "order"))
        feature_names, class_name = stored["names"]
        ends = np.cumsum(n_parents).tolist()
        if n_parents.min(initial=0) < 0 or (ends or [0])[-1] != len(parents):
            raise ValueError("every parent must belong to a feature")
        flat = parents.tolist()
        of_features = [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        network = cls(tuple(map(tuple, of_features)), order.tolist(), feature_names, class_name)
        network.check()
        return network

    def __post_init__(self) -> None:
        # Fields of a frozen dataclass can only be set like this. NumPy integers become int.
        parents = tuple(tuple(int(j) for j in of_feature) for of_feature in self.parents)
        object.__setattr__(self, "parents", parents)
        _check_parents(parents)
        order = tuple(int(i) for i in self.order)
        object.__setattr__(self, "order", order)
        _check_order(order, parents)
        names = tuple(str(name) for name in self.feature_names)
        names = names or tuple(f"x{i}" for i in range(len(parents)))
        object.__setattr__(self, "feature_names", names)
        if len(names) != len(parents):
            raise ValueError(
                f"feature_names must have {len(parents)} entries, one per feature, got {len(names)}"
            )

    @classmethod
    def from_parents(
        cls,
        parents: Sequence[Sequence[int]],
        feature_names: Sequence[str] = (),
        *,
        class_name: str | None = "class",
    ) -> Self:
        """Return the network of all features, in an order that has parents before children.

        Parameters
        ----------
        parents : sequence of sequences of int
            For each feature the features it depends on besides the class.
        feature_names : sequence of str
            Names of the features; by default ``x0``, ``x1``, ...
        class_name : str or None
            Name of the class; None if there is none.

        Returns
        -------
        Network
            The network.

        Examples
        --------
        >>> Network.from_parents([[1], [2], []]).order
        (2, 1, 0)
        """
        given = tuple(tuple(of_feature) for of_feature in parents)
        _check_parents(given)
        return cls(given, _order_parents_first(given), tuple(feature_names), class_name)

    @classmethod
    def naive(cls, n_features: int, feature_names: Sequence[str] = ()) -> Self:
        """Return naive Bayes: no feature depends on another.

        Parameters
        ----------
        n_features : int
            Number of features.
        feature_names : sequence of str
            Names of the features; by default ``x0``, ``x1``, ...

        Returns
        -------
        Network
            The network.

        Examples
        --------
        >>> Network.naive(2).parents
        ((), ())
        """
        return cls(((),) * n_features, tuple(range(n_features)), tuple(feature_names))

    @property
    def n_features(self) -> int:
        """Number of features, those left out included."""
        return len(self.parents)

    def arcs(self) -> Iterator[tuple[int, int]]:
        """Iterate over the arcs between features in use; those from the class are left out.

        Yields
        ------
        tuple of int
            Parent and child.
        """
        for child in self.order:
            for parent in self.parents[child]:
                yield parent, child

    def restrict(self, n_features: int, max_parents: int) -> Network:
        """Return the network of the first features of the order with fewer parents each.

        Parameters
        ----------
        n_features : int
            Number of features to keep.
        max_parents : int
            Number of parents to keep of each feature, the most influential ones.

        Returns
        -------
        Network
            The network; features that are not kept stay in `parents`, but not in `order`.

        Examples
        --------
        >>> Network.from_parents([[], [0], [1, 0]]).restrict(3, 1).parents
        ((), (0,), (1,))
        """
        if not 0 <= n_features <= len(self.order):
            raise ValueError(f"n_features must lie in 0..{len(self.order)}, got {n_features}")
        if max_parents < 0:
            raise ValueError(f"max_parents must not be negative, got {max_parents}")
        kept = self.order[:n_features]
        parents = tuple(
            of_feature[:max_parents] if i in set(kept) else ()
            for i, of_feature in enumerate(self.parents)
        )
        return Network(parents, kept, self.feature_names, self.class_name)

    def to_graphviz(self) -> str:
        """Return the network as source text for Graphviz; the class is drawn as a box.

        Returns
        -------
        str
            A digraph.

        Examples
        --------
        >>> print(Network.naive(1, ["age"]).to_graphviz())
        digraph {
          "class" [shape=box];
          "age";
          "class" -> "age";
        }
        """
        names = {i: _quote(self.feature_names[i]) for i in self.order}
        lines = [f"{names[i]};" for i in self.order]
        if self.class_name is not None:
            root = _quote(self.class_name)
            lines = [f"{root} [shape=box];", *lines]
            lines += [f"{root} -> {names[i]};" for i in self.order]
        lines += [f"{names[parent]} -> {names[child]};" for parent, child in self.arcs()]
        return "\n".join(["digraph {", *(f"  {line}" for line in lines), "}"])

    def to_networkx(self) -> Any:
        """Return the network as a ``networkx.DiGraph``; nodes are names, the class among them.

        An arc between features has the attribute ``rank``: 0 for the most influential parent.

        Returns
        -------
        networkx.DiGraph
            The graph.
        """
        try:
            import networkx
        except ImportError as error:
            raise ImportError("to_networkx needs networkx: pip install priorwise[graph]") from error
        graph = networkx.DiGraph()
        if self.class_name is not None:
            graph.add_node(self.class_name, kind="class")
        for child in self.order:
            name = self.feature_names[child]
            graph.add_node(name, kind="feature")
            if self.class_name is not None:
                graph.add_edge(self.class_name, name)
            for rank, parent in enumerate(self.parents[child]):
                graph.add_edge(self.feature_names[parent], name, rank=rank)
        return graph


def _check_parents(parents: tuple[tuple[int, ...], ...]) -> None:
    for i, of_feature in enumerate(parents):
        for j in of_feature:
            if not 0 <= j < len(parents) or j == i:
                raise ValueError(
                    f"parents of feature {i} must be other features in 0..{len(parents) - 1}, "
                    f"got {j}"
                )
        if len(set(of_feature)) != len(of_feature):
            raise ValueError(f"parents of feature {i} must differ, got {of_feature}")


def _order_parents_first(parents: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    waiting = dict(enumerate(map(set, parents)))
    order: list[int] = []
    placed: set[int] = set()
    while waiting:
        ready = [i for i, of_feature in waiting.items() if of_feature <= placed]
        if not ready:
            raise ValueError(
                f"parents must have no cycle, got one among features {sorted(waiting)}"
            )
        order += ready
        placed.update(ready)
        for i in ready:
            del waiting[i]
    return tuple(order)


def _check_order(order: tuple[int, ...], parents: tuple[tuple[int, ...], ...]) -> None:
    place = {feature: at for at, feature in enumerate(order)}
    if len(place) != len(order) or not all(0 <= i < len(parents) for i in order):
        raise ValueError(
            f"order must list features in 0..{len(parents) - 1}, each once, got {order}"
        )
    for child in order:
        for parent in parents[child]:
            if place.get(parent, len(order)) > place[child]:
                raise ValueError(
                    f"order must have parents before children, got {child} before its parent "
                    f"{parent}"
                )


def _quote(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
