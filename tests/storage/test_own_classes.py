"""Classes that a user defines: none takes the place of one that is there, and files hold them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import children
import priorwise
from priorwise.common.estimator import Estimator
from priorwise.common.records import Record
from priorwise.counts import CountTree
from priorwise.export import export_json
from priorwise.smoothing import HDP, Laplace, Smoother
from priorwise.smoothing.base import Shrinkage
from priorwise.steps.step import Step
from priorwise.storage.model_file import list_states, list_trusted_types


class Stronger(Smoother):
    """Shrink each node towards its parent by some rows."""

    def __init__(self, n_rows: float = 3.0) -> None:
        self.n_rows = n_rows

    def shrinkage(self, tree: CountTree) -> Shrinkage:
        return Shrinkage(np.full(tree.n_nodes, float(self.n_rows)), towards_parent=True)


class Careful(priorwise.NaiveBayesClassifier):
    """A classifier that differs from another by its name."""


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of a test are forgotten after it."""
    for kind, name in ((Record, "kinds"), (Estimator, "kinds"), (Smoother, "by_name")):
        monkeypatch.setattr(kind, name, dict(getattr(kind, name)))


def define(code: str, module: str) -> Any:
    """The class `Mine` of a module with this code."""
    names: dict[str, Any] = {"__name__": module, "Smoother": Smoother, "Laplace": Laplace}
    exec(code, names)
    return names["Mine"]


TAKES_A_NAME = """
class Mine(Laplace, name="hdp"):
    pass
"""
OF_A_CELL = """
class Mine(Laplace, name="mine"):
    pass
"""


def test_a_smoother_name_that_is_taken_is_refused_with_the_place_of_the_first() -> None:
    X, y = load_iris(return_X_y=True)
    before, kinds = priorwise.KDBClassifier().fit(X, y).predict_proba(X), dict(Estimator.kinds)
    taken = "the smoother name 'hdp' is taken by priorwise.smoothing.hdp.HDP, shop.Mine needs"
    with pytest.raises(ValueError, match=re.escape(taken)):
        define(TAKES_A_NAME, "shop")
    assert (Smoother.by_name["hdp"], Estimator.kinds) == (HDP, kinds)
    np.testing.assert_array_equal(priorwise.KDBClassifier().fit(X, y).predict_proba(X), before)


def test_a_class_that_is_defined_again_replaces_itself(tmp_path: Path) -> None:
    first, second = define(OF_A_CELL, "__main__"), define(OF_A_CELL, "__main__")
    assert Smoother.by_name["mine"] is second is not first
    with pytest.raises(ValueError, match=r"is taken by __main__\.Mine, other\.Mine needs"):
        define(OF_A_CELL, "other")
    # A model that was made before can still be saved.
    priorwise.KDBClassifier(smoothing=first()).save(tmp_path / "model")
    assert type(priorwise.load(tmp_path / "model").smoothing) is second


OF_A_SCRIPT = """
import sys
from dataclasses import dataclass
import numpy as np
import priorwise
from priorwise.common.records import number
from priorwise.steps.step import Step

@dataclass(frozen=True, eq=False)
class Pieces(Step):
    share: float = number(least=0.0, most=1.0)

class NaiveBayesClassifier(priorwise.KDBClassifier):
    pass

for path in sys.argv[1:]:
    np.save(path + ".npy", priorwise.load(path).predict_proba(np.load(path + ".X.npy")))
"""


def test_classes_of_a_script_do_not_change_what_files_hold(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    models = priorwise.SplineLogisticClassifier(random_state=0), priorwise.NaiveBayesClassifier()
    paths = [tmp_path / f"{type(model).__name__}.model" for model in models]
    for model, path in zip(models, paths, strict=True):
        model.fit(X, y).save(path)
        np.save(f"{path}.X.npy", X)
    ended = children.run_code(OF_A_SCRIPT, *paths, folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    for model, path in zip(models, paths, strict=True):
        np.testing.assert_array_equal(np.load(f"{path}.npy"), model.predict_proba(X))


LOADS = """
import sys
import priorwise
try:
    priorwise.load(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", [Stronger, Careful])
def test_a_model_with_a_class_of_ones_own_is_read_where_the_class_is_known(
    kind: Any, tmp_path: Path
) -> None:
    X, y = load_iris(return_X_y=True)
    path, own = tmp_path / "own.model", kind()
    model = own if hasattr(own, "fit") else priorwise.KDBClassifier(smoothing=own)
    model.fit(X, y).save(path)
    loaded = priorwise.load(path)
    assert type(loaded.smoothing if kind is Stronger else loaded) is kind
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    ended = children.run_code(LOADS, path, folder=tmp_path)
    name = f"{kind.__module__}.{kind.__qualname__}"
    assert f"{path}: " in ended.stdout
    assert f"it holds a state {name!r}, which is not expected here: a class of your" in ended.stdout
    assert name not in list_trusted_types()


def test_no_two_classes_have_one_name_in_a_file() -> None:
    kinds = [*Record.kinds.values(), *Estimator.kinds.values()]
    own = [kind for kind in kinds if kind.__module__.startswith("priorwise.")]
    assert len({kind.__name__ for kind in own}) == len(own)
    assert {state.type for state in list_states().values()} >= set(kinds)


class Trees(Step):
    """A step whose name is that of one that the evaluator in JavaScript has."""


def test_a_step_with_a_name_that_the_evaluator_has_is_not_written_as_json() -> None:
    model: Any = priorwise.NaiveBayesClassifier().fit([["a"], ["b"]] * 5, [0, 1] * 5)
    model.step_ = Trees()
    with pytest.raises(TypeError, match=r"test_own_classes\.Trees cannot be written as JSON"):
        export_json(model)
