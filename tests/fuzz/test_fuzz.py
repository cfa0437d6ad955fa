"""The fuzz targets on a few inputs each, and the runner on a target that fails in every way."""

from __future__ import annotations

import random
import warnings
from types import ModuleType

import pytest

from fuzz import checkpoints, corpus, faults, mutate, runner, smoothers, tables
from fuzz.outcomes import ACCEPTED

N_INPUTS = {
    "kernels": 500, "readers": 50, "model_files": 100, "checkpoints": 6, "tables": 20,
    "smoothers": 30,
}  # fmt: skip


@pytest.mark.xdist_group("one corpus")
def test_corpus_calls_every_function_constructor_and_method_of_the_core() -> None:
    names = {*corpus.public_names(), *corpus.public_methods()}
    assert len(names) > 50
    assert set(corpus.valid_calls().calls) == names


@pytest.mark.xdist_group("one corpus")
def test_calls_of_the_corpus_are_valid() -> None:
    for name, calls in corpus.valid_calls().calls.items():
        for call in calls:
            if name != "map_in_threads":  # of which one raises
                call.run(map(corpus.copy_argument, call.arguments))


@pytest.mark.usefixtures("address_space_limits")
def test_inputs_are_accepted_or_refused_clearly(capsys: pytest.CaptureFixture[str]) -> None:
    totals = runner.run(N_INPUTS, seed=0, seconds=None)
    assert runner.print_table(totals), capsys.readouterr().out
    for target, total in totals.items():
        assert sum(total.outcomes.values()) == N_INPUTS[target]
        assert total.outcomes[ACCEPTED] > 0
        assert len(total.outcomes) > 1


@pytest.mark.xdist_group("interrupted work of the fuzz targets")
@pytest.mark.parametrize(
    ("target", "seed", "index"),
    [
        pytest.param(checkpoints, 1, 155, id="more distinct rows than rows"),
        pytest.param(checkpoints, 100, 180, id="more pairs of values than memory has room for"),
        pytest.param(checkpoints, 100, 223, id="more values than memory has room for"),
        pytest.param(checkpoints, 7, 355, id="rows of which no two agree"),
        pytest.param(smoothers, 0, 16845, id="a discount rounded beyond its bound"),
        pytest.param(tables, 0, 762, id="a log-loss of rounding below zero"),
    ],
)
def test_inputs_that_failed_once_are_accepted_or_refused(
    target: ModuleType, seed: int, index: int
) -> None:
    with warnings.catch_warnings():
        # A file that cannot be a state is not used, and its pass is done again.
        warnings.simplefilter("ignore")
        assert target.case(seed=seed, index=index) in ("ValueError", ACCEPTED)


def test_every_target_has_a_share_of_the_inputs() -> None:
    assert set(runner.SHARES) == set(N_INPUTS)
    assert sum(runner.SHARES.values()) == pytest.approx(1.0)


@pytest.mark.usefixtures("address_space_limits")
def test_runner_reports_every_kind_of_failure_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "SECONDS_PER_INPUT", 4.0)
    monkeypatch.setattr(runner, "WAITS", 2)
    monkeypatch.setattr(runner, "MAX_BYTES", faults.GROWN_BYTES)
    totals = runner.run({"faults": faults.N_INPUTS}, seed=3, seconds=None)
    assert totals["faults"].failures == {"crash": 1, "hang": 1, "growth": 2, "wrong exception": 1}
    assert totals["faults"].outcomes == {ACCEPTED: faults.N_INPUTS - 6, "ValueError": 1}
    assert not runner.print_table(totals)
    printed = capsys.readouterr().out
    for kind, index in (
        ("crash", faults.CRASH),
        ("hang", faults.HANG),
        ("growth", faults.GROWTH),
        ("growth", faults.TOO_LARGE),
        ("wrong exception", faults.WRONG_EXCEPTION),
    ):
        assert f"{kind}: make fuzz TARGET=faults SEED=3 INDEX={index}\n" in printed
    assert "KeyError: 'a name'" in printed


def test_changes_are_the_same_for_the_same_seed() -> None:
    def changes(seed: int) -> list[str]:
        mutator = mutate.Mutator(random.Random(seed), lambda value: [], lambda value, change: None)
        return [repr(mutator.change([1, 2.5, "text"])) for _ in range(50)]

    assert changes(1) == changes(1)
    assert changes(1) != changes(2)
