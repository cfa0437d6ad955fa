"""Accurate class probabilities on tabular data, by counting and smoothing."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from priorwise.common.registered import REGISTERED
from priorwise.methods import METHODS

if TYPE_CHECKING:
    from priorwise.public_names import *  # noqa: F403
    from priorwise.public_names import __all__ as __all__

__version__ = "0.1.0"

REGISTERED.update(METHODS)


def __getattr__(name: str) -> Any:
    """Import public names and subpackages when they are first used.

    So the command line answers ``--help`` without loading NumPy and scikit-learn.
    """
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    if name == "__all__" or not name.startswith("_"):
        names = import_module(f"{__name__}.public_names")
        globals().update({public: getattr(names, public) for public in ["__all__", *names.__all__]})
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted({*globals(), *__getattr__("__all__")})
