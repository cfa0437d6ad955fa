"""Learning the structure of a network from coded rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import check_choice, check_number
from priorwise.models.general.coded_frame import find_variable
from priorwise.models.general.structures import (
    learn_chow_liu,
    learn_class_network,
    measure_columns,
)
from priorwise.structure.networks import Network
from priorwise.structure.networks.hill_climb import climb_hill


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How a structure is learnt; `BayesianNetwork` describes each option."""

    method: str
    target: Hashable | None
    max_parents: int
    score: str
    equivalent_sample_size: float
    n_tabu: int
    n_jobs: int

    def find_target(self, names: Sequence[Hashable]) -> int | None:
        """Return the place of the target, None if there is none."""
        if self.target is None:
            if self.method == "kdb":
                raise ValueError("target must name the class for structure='kdb', got None")
            return None
        return find_variable(names, self.target, "target")


def learn_structure(
    columns: Sequence[NDArray[np.int32]],
    arities: Sequence[int],
    weight: NDArray[np.float64] | None,
    names: Sequence[Hashable],
    options: SearchOptions,
) -> Network:
    """Learn a structure from coded rows, in which -1 is a missing value."""
    target = options.find_target(names)
    if options.method == "hill-climb":
        check_choice("search_score", options.score, ("bic", "bdeu"))
        check_number("equivalent_sample_size", options.equivalent_sample_size, least=1e-6, most=1e6)
        parents = climb_hill(
            columns, arities, weight,
            score=options.score, equivalent_sample_size=options.equivalent_sample_size,
            max_parents=options.max_parents,
            n_tabu=int(check_number("n_tabu", options.n_tabu, least=0, whole=True)),
            n_jobs=options.n_jobs,
        )  # fmt: skip
        return Network.from_parents(parents, [str(name) for name in names], class_name=None)
    if len(columns) == 1:
        return Network.from_parents([[]], [str(names[0])], class_name=None)
    given_class = target if options.method == "kdb" else None
    information = measure_columns(
        columns, arities, weight, target=given_class, n_jobs=options.n_jobs
    )
    if given_class is None:
        return learn_chow_liu(information, names, target)
    return learn_class_network(information, names, given_class, options.max_parents)
