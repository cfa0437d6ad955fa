"""The structure of a Bayesian network, and TAN and KDB, which learn one from information."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise.common.docstrings import hook
from priorwise.common.documents import Document
from priorwise.common.records import Record, part
from priorwise.common.registered import with_registered_methods
from priorwise.counts import Information, WideInformation


@with_registered_methods
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

    @property
    def parent_places(self) -> list[list[int]]:
        """The places in the order of the parents of each feature of the order."""
        place = {feature: at for at, feature in enumerate(self.order)}
        return [[place[j] for j in self.parents[i]] for i in self.order]

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
        parents = tuple(tuple(map(int, of_feature)) for of_feature in self.parents)
        object.__setattr__(self, "parents", parents)
        _check_parents(parents)
        order = tuple(map(int, self.order))
        object.__setattr__(self, "order", order)
        _check_order(order, parents)
        names = tuple(map(str, self.feature_names))
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
        return Document("\n".join(["digraph {", *(f"  {line}" for line in lines), "}"]))

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
        if not of_feature:
            continue
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


def rank_by_information(mutual: ArrayLike) -> NDArray[np.int64]:
    """Return the features by decreasing I(X; Y); of equals the lower index comes first.

    >>> rank_by_information([0.1, 0.5, 0.1])
    array([1, 0, 2])
    """
    return np.argsort(-np.asarray(mutual, dtype=np.float64), kind="stable")


def learn_kdb(
    information: Information | WideInformation,
    max_parents: int,
    *,
    order: ArrayLike | None = None,
    subtract_bias: bool = False,
    feature_names: Sequence[str] = (),
) -> Network:
    """Learn a k-dependence network (Sahami; thesis Algorithm 3).

    Features come in the order of I(X; Y) or in the `order` given; those that are not in it are not
    in the network. The parents of a feature are the `max_parents` earlier ones of largest
    I(X_i; X_j | Y), by decreasing value; of equals the one that is earlier in the order. With
    `subtract_bias`, what I(X_i; X_j | Y) shows by chance is subtracted, and only parents for which
    something remains are taken.

    >>> conditional = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> mutual, n_seen = np.array([0.5, 0.4, 0.3]), np.full((3, 2), 2)
    >>> learn_kdb(Information(mutual, conditional, n_seen, 100.0), max_parents=2).parents
    ((), (0,), (0, 1))
    """
    ranked = rank_by_information(information.mutual) if order is None else np.asarray(order)
    parents = information.best_parents(ranked, max_parents, subtract_bias=subtract_bias)
    return Network(parents, tuple(ranked.tolist()), tuple(feature_names))


def draw_order(mutual: ArrayLike, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw an order without replacement in proportion to I(X; Y) (thesis Algorithm 12).

    Once only features without information are left, they follow in random order.

    >>> draw_order([0.0, 1.0, 0.0], np.random.default_rng(0))[0]
    np.int64(1)
    """
    remaining = np.array(mutual, dtype=np.float64)
    if (remaining < 0).any():
        raise ValueError(f"mutual must not be negative, got {remaining.min()}")
    order = []
    left = np.ones(len(remaining), dtype=bool)
    while left.any():
        mass = np.where(left, remaining, 0.0)
        if mass.sum() == 0.0:
            mass = left.astype(np.float64)
        drawn = int(generator.choice(len(mass), p=mass / mass.sum()))
        order.append(drawn)
        left[drawn] = False
    return np.array(order, dtype=np.int64)


def draw_order_by_gumbel(
    mutual: ArrayLike, generator: np.random.Generator, *, floor: float = 1e-9
) -> NDArray[np.int64]:
    """Draw an order by sorting ``log(mutual + floor)`` plus Gumbel noise.

    The same law as `draw_order` but for the floor: the largest of log-weights with Gumbel noise is
    a draw in proportion to the weights, and so is the largest of the rest.

    >>> draw_order_by_gumbel([0.0, 1.0], np.random.default_rng(0))
    array([1, 0])
    """
    information = np.asarray(mutual, dtype=np.float64)
    noisy = np.log(information + floor) + generator.gumbel(size=len(information))
    return np.argsort(-noisy, kind="stable")


def learn_tan(
    information: Information | WideInformation, *, feature_names: Sequence[str] = ()
) -> Network:
    """Learn the tree of largest total I(X_i; X_j | Y) (Friedman et al.; thesis Algorithm 1).

    The papers leave the root free; here it is the feature of largest I(X; Y).

    >>> import numpy as np
    >>> conditional = np.array([[0.0, 0.2, 0.3], [0.2, 0.0, 0.1], [0.3, 0.1, 0.0]])
    >>> mutual, n_seen = np.array([0.1, 0.4, 0.3]), np.full((3, 2), 2)
    >>> learn_tan(Information(mutual, conditional, n_seen, 100.0)).parents
    ((1,), (), (0,))
    """
    order, parents = information.spanning_tree(int(rank_by_information(information.mutual)[0]))
    return Network(parents, order, tuple(feature_names))
