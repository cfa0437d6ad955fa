"""Networks of a file are held to their rules."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import BayesianNetwork, ESKDBClassifier, _core
from priorwise.common.container import from_bytes, to_bytes
from priorwise.storage.model_file import KIND, list_states
from priorwise.storage.network_states import _check_structure
from priorwise.structure.networks import Network


def test_factors_that_are_no_network_are_refused(rng: np.random.Generator) -> None:
    X, y = np.array(list("abc"))[rng.integers(0, 3, (80, 4))], rng.integers(0, 2, 80)
    member = ESKDBClassifier(1, max_parents=2, random_state=0).fit(X, y).estimators_[0]
    product = member.cut_network.network
    _check_structure(product, 4)
    with pytest.raises(ValueError, match="must have a name"):
        _check_structure(product, 3)
    arguments: Any = product.__reduce__()[1]
    n_refused = 0
    for _ in range(40):
        columns, paths = product.column.copy(), product.path.copy()
        paths[rng.integers(len(paths))] = rng.integers(4)
        columns[rng.integers(4)] = rng.integers(4)
        given: list[Any] = [arguments[0], columns, *arguments[2:9], paths, *arguments[10:]]
        changed = _core.FactorProduct(*given)
        parents: list[tuple[int, ...]] = [()] * 4
        own = np.split(paths, np.cumsum(product.n_parents)[:-1])
        for feature, path in zip(columns.tolist(), own, strict=True):
            parents[feature] = tuple(path.tolist())
        try:
            Network(tuple(parents), tuple(columns.tolist()))
        except ValueError:
            n_refused += 1
            with pytest.raises(ValueError, match=r"feature|parents"):
                _check_structure(changed, 4)
        else:
            _check_structure(changed, 4)
    assert 0 < n_refused < 40


def test_names_of_variables_of_two_kinds_are_refused() -> None:
    frame = pd.DataFrame({"a": list("xyxy"), "b": list("xxyy")})
    network = BayesianNetwork([("a", "b")]).fit(frame)
    content = to_bytes(network, kind=KIND, states=list_states())
    assert from_bytes(content, kind=KIND, states=list_states()).variables_ == ["a", "b"]
    network.variables_ = ["a", 2]
    content = to_bytes(network, kind=KIND, states=list_states())
    with pytest.raises(ValueError, match="names must be texts"):
        from_bytes(content, kind=KIND, states=list_states())
