"""Networks in BIF files and in other libraries."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priorwise import BayesianNetwork, read_bif
from priorwise.data.bif import BifError

SHARED = os.environ.get("PRIORWISE_SHARED")
FILES = sorted(Path(SHARED, "networks").glob("*.bif.gz")) if SHARED else []
WEATHER = """network weather { property author = me ; }
variable rain { type discrete [ 2 ] { yes, no }; }
variable "wet grass" { type discrete[3] { wet, damp, "quite dry" }; }
// the rows of a table come in any order
probability ( rain ) { table 0.25, 0.75; }
probability ( "wet grass" | rain ) { (no) 0.1 0.2 0.7; (yes) 0.9, 0.1, 0.0; }
"""


def write(folder: Path, text: str) -> Path:
    (folder / "x.bif").write_text(text)
    return folder / "x.bif"


def test_a_file_gives_its_tables(tmp_path: Path) -> None:
    network = read_bif(write(tmp_path, WEATHER))
    assert network.states_ == {"rain": ["yes", "no"], "wet grass": ["wet", "damp", "quite dry"]}
    np.testing.assert_array_equal(network.table("wet grass"), [[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]])
    assert network.query("rain", {"wet grass": "quite dry"}) == {"yes": 0.0, "no": 1.0}
    network.to_bif(tmp_path / "y.bif")
    again = read_bif(tmp_path / "y.bif")
    assert again.states_ == network.states_
    np.testing.assert_array_equal(again.table("wet grass"), network.table("wet grass"))


def test_a_table_without_contexts_has_the_variable_slowest(tmp_path: Path) -> None:
    head, _, _ = WEATHER.partition('probability ( "wet')
    flat = head + 'probability ("wet grass" | rain) { table 0.9 0.1, 0.1 0.2, 0 0.7; }'
    np.testing.assert_array_equal(
        read_bif(write(tmp_path, flat)).table("wet grass"), [[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]]
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[ 2 ]", "[ 3 ]", r"x\.bif, line 2: variable 'rain' has 2 states, not '3'"),
        ("0.25", "0.5", "line 5: the probabilities of 'rain' must sum to one"),
        ("0.25", "x", "expected a probability, got 'x'"),
        ("(yes) 0.9, 0.1, 0.0;", "", "the table of 'wet grass' lacks contexts"),
        ("(yes) 0.9", "(no) 0.9", "a context of 'wet grass' is given twice"),
        ("(yes)", "(maybe)", "'rain' has no state 'maybe'"),
        ("( rain )", '( rain | "wet grass" )', "expected 6 probabilities, got 2"),
        ("{ table 0.25, 0.75; }", "", "expected '{'"),
        ('dry" }', "dry }", "a quotation mark is not closed"),
        ("0.0; }", "", "the file ends too early"),
    ],
)
def test_damaged_files_are_refused_by_line(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in WEATHER
    with pytest.raises(BifError, match=message):
        read_bif(write(tmp_path, WEATHER.replace(old, new, 1)))


def test_circles_and_huge_tables_are_refused(tmp_path: Path) -> None:
    circle = WEATHER.replace(
        "( rain ) { table 0.25, 0.75; }", '( rain | "wet grass" ) { default 0.5 0.5; }'
    )
    with pytest.raises(BifError, match="in a circle"):
        read_bif(write(tmp_path, circle))
    names = [f"v{i}" for i in range(30)]
    huge = "".join(f"variable {name} {{ type discrete [2] {{ a, b }}; }}\n" for name in names)
    huge += f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}"
    with pytest.raises(BifError, match="at most 16000000 cells"):
        read_bif(write(tmp_path, huge))
    names = [f"v{i}" for i in range(70)]
    single = "".join(f"variable {name} {{ type discrete [1] {{ a }}; }}\n" for name in names)
    single += f"probability ( v0 | {', '.join(names[1:])} ) {{ default 1; }}"
    with pytest.raises(BifError, match="at most 31 parents"):
        read_bif(write(tmp_path, single))


def test_comments_and_properties_are_left_out_once(tmp_path: Path) -> None:
    more = WEATHER.replace("author = me ;", 'author = "me; and you" ; /* } */')
    assert read_bif(write(tmp_path, more)).states_ == read_bif(write(tmp_path, WEATHER)).states_
    named = WEATHER.replace("damp", "property-tax")
    assert "property-tax" in read_bif(write(tmp_path, named)).states_["wet grass"]
    for endless in ("/* ", "property ", 'property "a" '):
        with pytest.raises(BifError, match="the file ends too early"):
            read_bif(write(tmp_path, "network x { " + 20_000 * endless))


@pytest.mark.skipif(not SHARED, reason="PRIORWISE_SHARED is not set")
@pytest.mark.parametrize("name", ["alarm", "insurance", "sachs"])
def test_files_of_known_networks_go_round(name: str, tmp_path: Path) -> None:
    (path,) = (file for file in FILES if file.name == f"{name}.bif.gz")
    network = read_bif(path)
    network.to_bif(tmp_path / "x.bif")
    again = read_bif(tmp_path / "x.bif")
    assert again.states_ == network.states_
    assert again.structure_ == network.structure_
    for variable in network.variables_:
        np.testing.assert_array_equal(again.table(variable), network.table(variable))


def learn(n_rows: int = 60) -> tuple[BayesianNetwork, dict[str, Any]]:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, n_rows))
    rows = np.column_stack([a, b, (a + b) % 4, (a * b + (rng.random(n_rows) < 0.2)) % 2])
    arcs = [(0, 2), (1, 2), (2, 3), (0, 3)]
    return BayesianNetwork(arcs).fit(rows), {"2": "1", "3": "0"}


def test_pyagrum_infers_the_same() -> None:
    pyagrum = pytest.importorskip("pyagrum")
    network, given = learn()
    inference = pyagrum.LazyPropagation(network.to_pyagrum())
    inference.setEvidence(given)
    inference.makeInference()
    for target in (0, 1):
        expected = inference.posterior(str(target)).toarray()
        result = network.query(target, {int(name): int(v) for name, v in given.items()})
        np.testing.assert_allclose([*result.values()], expected, atol=1e-9)


KNOWN = (
    "alarm", "andes", "asia", "child", "hailfinder", "hepar2", "insurance", "sachs", "survey",
    "win95pts",
)  # fmt: skip


@pytest.mark.skipif(not SHARED, reason="PRIORWISE_SHARED is not set")
@pytest.mark.parametrize("name", KNOWN)
def test_pyagrum_infers_the_same_in_known_networks(name: str) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    network = read_bif(Path(str(SHARED), "networks", f"{name}.bif.gz"))
    row = network.sample(random_state=1).iloc[0]
    known = network.variables_[::7]
    given = {name: row[name] for name in known}
    free = [name for name in network.variables_ if name not in known]
    inference = pyagrum.LazyPropagation(network.to_pyagrum())
    inference.setEvidence(given)
    inference.addAllTargets()
    inference.addJointTarget({*free[:2]})
    inference.makeInference()
    for one, p in network.query(free, given, joint=False).items():
        expected = inference.posterior(one).toarray()
        np.testing.assert_allclose(p, expected, rtol=0.0, atol=1e-9)
    for one in free[::5]:
        expected = inference.posterior(one).toarray()
        np.testing.assert_allclose(network.query(one, given), expected, rtol=0.0, atol=1e-9)
    both = inference.jointPosterior({*free[:2]})
    order = [free[:2].index(one) for one in reversed(both.names)]
    result = np.transpose(np.asarray(network.query(free[:2], given)), order)
    np.testing.assert_allclose(result, both.toarray(), rtol=0.0, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_pgmpy_infers_the_same() -> None:
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination

    network, given = learn()
    model = network.to_pgmpy()
    assert model.check_model()
    factor = VariableElimination(model).query(["0"], evidence=given, show_progress=False)
    result = network.query(0, {2: 1, 3: 0})
    expected = [factor.get_value(**{"0": str(state)}) for state in result]
    np.testing.assert_allclose([*result.values()], expected, atol=1e-9)
