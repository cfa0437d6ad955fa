"""A second fit forgets the first, an answer is of one fit, what is set after a fit is obeyed."""

import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contract.rows.tables import mixed, numbers
from contract.settings import BY_NAME, Setting, each_setting
from kernel_calls import kernel_calls
from priorwise import ConditionalTable, KDBClassifier


@each_setting(smoothers=False)
def test_a_refit_forgets(setting: Setting) -> None:
    X, y = mixed()
    model = setting.fit(X, y, sample_weight=np.arange(len(y)) % 3)
    model.predict_proba(X)
    other, labels = numbers()
    model.fit(other, labels)
    fresh = setting.fit(other, labels)
    np.testing.assert_array_equal(model.predict_proba(other), fresh.predict_proba(other))
    assert vars(model).keys() == vars(fresh).keys()
    assert not hasattr(model, "feature_names_in_")
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["ProbabilityForest", "ProbabilityForest random"])
def test_a_refit_with_other_parameters_forgets_too(name: str) -> None:
    X, y = mixed()
    model = BY_NAME[name].fit(X, y)
    assert hasattr(model, "oof_proba_")
    model.set_params(bootstrap=False).fit(X, y)
    assert not hasattr(model, "oof_proba_")


@each_setting("ConditionalTable", smoothers=False)
def test_threads_set_after_the_fit_reach_every_kernel(setting: Setting) -> None:
    X, _ = mixed()
    model, before = deepcopy(setting.fitted), setting.proba
    model.set_params(n_jobs=5)
    with kernel_calls() as calls:
        after = model.predict_proba(X)
    np.testing.assert_array_equal(after, before)
    # Few values are cut into bins on one thread, whatever is asked for.
    counted = [call for call in calls if call.n_threads is not None and call.name != "cut_values"]
    threads = {call.n_threads for call in counted}
    assert threads <= {5}, f"kernels were given {threads} threads"


QUESTIONS: dict[str, dict[str, Any]] = {
    "predict_proba": {},
    "predict": {"reject_above": 0.4},
    "predict_log_proba": {},
    "explain": {},
    "predict_interval": {},
    "sample_proba": {"random_state": 0},
    "prediction_set": {},
}


class RefittingEncoder:
    """Reads rows as an encoder does, once the model has the attributes of another fit."""

    def __init__(self, model: Any, other: Any) -> None:
        self.encoder, self.model, self.other = model.encoder_, model, other

    def read(self, *arguments: Any) -> Any:
        columns = self.encoder.read(*arguments)
        self.model.__dict__ = dict(vars(self.other))
        return columns

    def __getattr__(self, name: str) -> Any:
        return getattr(self.encoder, name)


def answer(model: Any, question: str, X: Any) -> Any:
    """Return what a model answers, as arrays; None if it cannot be asked."""
    if question == "prediction_set" and not hasattr(model, "set_scores_"):
        return None
    given = getattr(model, question)(X, **QUESTIONS[question])
    return given.contributions if question == "explain" else given


@each_setting("ConditionalTable", smoothers=False)
def test_an_answer_is_that_of_the_fit_it_began_with(setting: Setting) -> None:
    X, _ = mixed()
    X = X.iloc[:9]
    fitted, other = setting.fit(*mixed()), setting.fit(*numbers())
    for question in QUESTIONS:
        before = answer(fitted, question, X)
        model = object.__new__(type(fitted))
        model.__dict__ = dict(vars(fitted))
        model.encoder_ = RefittingEncoder(model, other)
        np.testing.assert_array_equal(answer(model, question, X), before, err_msg=question)


@dataclass
class Fits:
    """A model, how it learns one of two targets, and what it is asked."""

    model: Any
    fit: Callable[[Any, str], Any]
    ask: Callable[[Any], Any]

    def ask_meanwhile(self, n_times: int) -> set[Any]:
        """Return the different answers while a thread fits the model to both targets in turn."""
        over = threading.Event()

        def refit() -> None:
            while not over.is_set():
                self.fit(self.model, "two")
                self.fit(self.model, "three")

        thread = threading.Thread(target=refit)
        thread.start()
        try:
            return {self.ask(self.model) for _ in range(n_times)}
        finally:
            over.set()
            thread.join()


def make_fits(kind: str) -> Fits:
    """Return fits of two and of three classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (60, 3)), columns=list("abc"))
    rows = X.assign(
        two=np.where(X.a > 1, "p", "q"), three=np.where(X.b > 1, "u", np.where(X.c > 1, "v", "w"))
    )
    if kind == "ConditionalTable":
        return Fits(
            ConditionalTable("laplace"),
            lambda model, target: model.fit(rows, target=target, given=list("abc")),
            lambda model: tuple(model.predict(X[:20])),
        )
    return Fits(
        KDBClassifier(smoothing="laplace"),
        lambda model, target: model.fit(X, rows[target]),
        lambda model: tuple(model.predict(X[:20])),
    )


@pytest.mark.parametrize("kind", ["KDB", "ConditionalTable"])
def test_answers_while_a_thread_fits_are_those_of_its_fits(kind: str) -> None:
    fits = make_fits(kind)
    answers = {fits.ask(fits.fit(fits.model, target)) for target in ("two", "three")}
    assert fits.ask_meanwhile(200) <= answers
