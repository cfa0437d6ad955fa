"""Docstrings are completed from base classes and from shared texts."""

import pytest

from priorwise import KDBClassifier, PriorwiseClassifier
from priorwise.common.docstrings import describe
from priorwise.common.estimator import Estimator

SHARED = """
Parameters
----------
x, y : float
    Two numbers.
scale : float
    A factor.
**options : dict
    Others.

Returns
-------
float
    The sum.
"""


class Tree(Estimator):
    """A tree.

    Parameters
    ----------
    depth : int
        Number of levels.
    width : int
        Number of branches.

    Attributes
    ----------
    leaves_ : int
        Number of leaves.
    """

    def grow(self, rows: int) -> int:
        """Grow."""
        return rows


class Oak(Tree):
    """An oak.

    Parameters
    ----------
    age : int
        Years.
    width : int
        Number of twigs.

    Examples
    --------
    >>> 1
    1
    """

    def __init__(self, width: int = 1, age: int = 2, depth: int = 3) -> None:
        self.width, self.age, self.depth = width, age, depth

    def grow(self, rows: int) -> int:
        return 2 * rows


def test_inherited_parameters_stand_in_the_order_of_the_signature() -> None:
    assert Oak.__doc__ is not None
    places = [Oak.__doc__.index(f"{name} : int") for name in ("width", "age", "depth", "leaves_")]
    assert places == sorted(places)
    assert places[-1] < Oak.__doc__.index("Examples")


def test_a_description_of_the_subclass_replaces_that_of_the_base() -> None:
    assert Oak.__doc__ is not None
    assert "twigs" in Oak.__doc__
    assert "branches" not in Oak.__doc__


def test_a_method_without_docstring_takes_that_of_the_base() -> None:
    assert Oak.grow.__doc__ == "Grow."


def test_a_class_without_docstring_stays_without() -> None:
    class Bare(Tree):
        pass

    assert Bare.__doc__ is None


def test_shared_parameters_are_added_if_the_function_has_them() -> None:
    @describe(SHARED)
    def add(x: float, y: float, **options: float) -> float:
        """Add two numbers.

        Returns
        -------
        float
            Their sum.
        """
        return x + y + len(options)

    assert add.__doc__ is not None
    assert "x, y : float\n    Two numbers.\n**options : dict" in add.__doc__
    assert "scale" not in add.__doc__
    assert "Their sum." in add.__doc__
    assert "The sum." not in add.__doc__


@pytest.mark.parametrize("model", [KDBClassifier, PriorwiseClassifier])
def test_every_parameter_of_a_classifier_is_described(model: type) -> None:
    for name in model().get_params(deep=False):
        assert f"\n{name} : " in (model.__doc__ or "")
