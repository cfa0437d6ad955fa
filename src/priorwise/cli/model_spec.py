"""Models as they are written in arguments: ``Class(option=value, ...)``."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorwise.data.encoding.frame_encoder import FrameEncoder
from priorwise.data.sources.part import find_duplicate

_OWN_MODULES = ("priorwise", "priorwise.smoothing", "priorwise.data")
_SKLEARN_MODULES = (
    *("naive_bayes", "ensemble", "linear_model", "tree", "neighbors", "neural_network", "svm"),
    *("discriminant_analysis", "gaussian_process", "dummy", "calibration"),
)
# Trees split an ordered code well; everything else reads an order into it that is not there.
_ORDINAL = frozenset(
    {
        *("DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier"),
        *("ExtraTreesClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier"),
    }
)
# These compare the sizes of features with each other.
_SCALED = frozenset(
    {
        *("LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "MLPClassifier"),
        *("SVC", "NuSVC", "KNeighborsClassifier", "GaussianProcessClassifier"),
    }
)


def parse_model(text: str) -> tuple[str, Any]:
    """Name and classifier of a model written as ``[name=][sklearn:]Class[(option=value, ...)]``.

    The first options may be given without names where the class takes them so:
    ``PriorwiseClassifier("fast")``.

    ``Class`` is one of priorwise's, or after "sklearn:" one of scikit-learn's classifiers, which
    is put behind an encoder of nominal columns: one-hot, or ordinal for trees; the extra option
    ``encoding="one-hot"`` or ``"ordinal"`` overrides that. Values are Python literals, or for
    priorwise nested calls such as ``smoothing=HDP(n_iter=200)``. Without a name the text is it.

    >>> name, model = parse_model("forest=sklearn:RandomForestClassifier(n_estimators=10)")
    >>> name, model.steps[-1][1].n_estimators
    ('forest', 10)
    """
    name, body = _split_name(text)
    from_sklearn = body.startswith("sklearn:")
    call = _parse_call(body.removeprefix("sklearn:"), text)
    if from_sklearn:
        return name, _build_sklearn(call, text)
    return name, _build_own(call, text)


def _split_name(text: str) -> tuple[str, str]:
    head, equals, tail = text.partition("=")
    if equals and "(" not in head:
        if not head.strip() or not tail.strip():
            raise ValueError(f"a model is written name=Class(...), got {text!r}")
        return head.strip(), tail.strip()
    return text.strip(), text.strip()


def _parse_call(body: str, text: str) -> ast.Call:
    try:
        node = ast.parse(body if body.endswith(")") else body + "()", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"a model is written Class(option=value, ...), got {text!r}")
    return node


def _build_own(call: ast.Call, text: str) -> Any:
    cls = _find_class(call.func.id, _OWN_MODULES, "priorwise")  # type: ignore[attr-defined]
    options = _options(call, cls, text)
    return _construct(cls, {key: _value(node, text) for key, node in options}, text)


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _build_own(node, text)
    return _literal(node, text)


def _build_sklearn(call: ast.Call, text: str) -> Any:
    class_name = call.func.id  # type: ignore[attr-defined]
    modules = tuple(f"sklearn.{module}" for module in _SKLEARN_MODULES)
    cls = _find_class(class_name, modules, "scikit-learn")
    options = {key: _literal(node, text) for key, node in _options(call, cls, text)}
    encoding = options.pop("encoding", "ordinal" if class_name in _ORDINAL else "one-hot")
    steps: list[Any] = [FrameEncoder(nominal=encoding)]
    if class_name in _SCALED:
        steps.append(StandardScaler())
    return make_pipeline(*steps, _construct(cls, options, text))


def _find_class(name: str, modules: tuple[str, ...], library: str) -> Any:
    for module in modules:
        found = (
            None if name.startswith("_") else getattr(importlib.import_module(module), name, None)
        )
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            return found
    raise ValueError(f"{library} has no class {name!r}")


def _options(call: ast.Call, cls: Any, text: str) -> list[tuple[str, ast.expr]]:
    named = [(keyword.arg, keyword.value) for keyword in call.keywords]
    if any(key is None for key, _ in named):
        raise ValueError(f"options are written option=value, got {text!r}")
    parameters = inspect.signature(cls).parameters.values()
    first = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][: len(call.args)]
    pairs = [*zip(first, call.args, strict=False), *((key, node) for key, node in named if key)]
    if len(first) < len(call.args):
        raise ValueError(f"{cls.__name__} takes {len(first)} options without names, in {text!r}")
    twice = find_duplicate([key for key, _ in pairs])
    if twice is not None:
        raise ValueError(f"{cls.__name__} is given {twice!r} twice, in {text!r}")
    return pairs


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"an option's value must be a literal, in {text!r}") from None


def _construct(cls: Any, options: dict[str, Any], text: str) -> Any:
    known = cls().get_params(deep=False) if not options else cls._get_param_names()
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{cls.__name__} has no option {unknown[0]!r}, in {text!r}")
    return cls(**options)
