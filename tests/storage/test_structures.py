"""Networks of a file are held to their rules."""

import pandas as pd
import pytest

from priorwise import BayesianNetwork
from priorwise.common.container import from_bytes, to_bytes
from priorwise.storage.model_file import KIND, list_states


def test_names_of_variables_of_two_kinds_are_refused() -> None:
    frame = pd.DataFrame({"a": list("xyxy"), "b": list("xxyy")})
    network = BayesianNetwork([("a", "b")]).fit(frame)
    content = to_bytes(network, kind=KIND, states=list_states())
    assert from_bytes(content, kind=KIND, states=list_states()).variables_ == ["a", "b"]
    network.variables_ = ["a", 2]
    content = to_bytes(network, kind=KIND, states=list_states())
    with pytest.raises(ValueError, match="names must be texts"):
        from_bytes(content, kind=KIND, states=list_states())
