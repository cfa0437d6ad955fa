"""The base class of all estimators of this library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from priorwise.common.docstrings import complete_docstrings, hook, is_hook
from priorwise.common.registered import register, stored_name, with_registered_methods


@with_registered_methods
class Estimator(BaseEstimator):
    """An estimator that can be saved, whose docstring is completed from those of its base classes.

    `learnt` are the types of the fitted attributes, which is what a file may hold of it. The names
    of its parameters are read from the signature once: `get_params` is called many times in a fit.
    """

    learnt: ClassVar[Mapping[str, Any]] = {}
    kinds: ClassVar[dict[str, type[Estimator]]] = {}
    """All estimators, by their names in files."""
    save: Callable[..., None]
    summary: Callable[..., Any]
    card: Callable[..., str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstrings(cls, Estimator)
        register(Estimator.kinds, stored_name(cls), cls, what="name of an estimator")

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

    def __dir__(self) -> list[str]:
        """Return names for completion: without hooks, and constants of the class."""
        own = vars(self)
        return [
            name
            for name in super().__dir__()
            if name in own or name.startswith("_") or self._is_for_users(name)
        ]

    @classmethod
    def _is_for_users(cls, name: str) -> bool:
        member = inspect.getattr_static(cls, name)
        return hasattr(member, "__get__") and not is_hook(cls, name)

    @hook
    def check_learnt(self) -> None:
        """Raise an error unless the fitted attributes, read from a file, fit together."""
