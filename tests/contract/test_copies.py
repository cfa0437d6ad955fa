"""Threads, copies and the rows beside a row change no bit."""

import copy
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from contract.rows.tables import mixed
from contract.settings import Setting, each_setting
from priorwise.models import fitted


def send(model):
    """A model whose arrays come back at odd addresses, as over a network."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    odd = [memoryview(b"-" + bytes(buffer.raw()))[1:] for buffer in buffers]
    return pickle.loads(head, buffers=odd)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "old pickle": lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
    "sent": send,
    "deep copy": copy.deepcopy,
    "copy": copy.copy,
}


@each_setting("ConditionalTable")
def test_threads_change_no_bit(setting: Setting) -> None:
    X, y = mixed()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 30.0], len(y))
    one = clone(setting.model).set_params(n_jobs=1).fit(X, y, sample_weight=weight)
    proba = one.predict_proba(X)
    for n_jobs in (2, 3, 7):
        many = clone(setting.model).set_params(n_jobs=n_jobs).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(many.predict_proba(X), proba)
        if hasattr(one, "oof_proba_"):
            np.testing.assert_array_equal(many.oof_proba_, one.oof_proba_)


@each_setting("ConditionalTable")
def test_blocks_of_rows_change_no_bit(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = mixed()
    model, proba, labels = setting.fitted, setting.proba, setting.fitted.predict(X)
    monkeypatch.setattr(fitted, "BLOCK_ROWS", 30)
    assert fitted.split_rows(X) is not None
    np.testing.assert_array_equal(model.predict_proba(X), proba)
    np.testing.assert_array_equal(model.predict(X), labels)
    for other in (pl.DataFrame(X), pa.Table.from_pandas(X)):
        np.testing.assert_array_equal(model.predict_proba(other), proba)


@each_setting()
def test_a_copy_predicts_the_same_bits(setting: Setting) -> None:
    X, y = mixed()
    model = setting.fit(X, y)
    unused = [make(model) for make in COPIES.values()]
    proba = model.predict_proba(X)
    # A model that has predicted is copied as well as one that has not.
    for other in unused + [make(model) for make in COPIES.values()]:
        np.testing.assert_array_equal(other.predict_proba(X), proba)


@each_setting(smoothers=False)
def test_a_copy_can_be_fitted_again_and_leaves_the_model_alone(setting: Setting) -> None:
    X, y = mixed()
    model = setting.fit(X, y)
    other, labels = mixed(60, seed=5)
    copy.deepcopy(model).fit(other, labels)
    copy.copy(model).fit(other, labels)
    np.testing.assert_array_equal(model.predict_proba(X), setting.proba)


@each_setting()
def test_a_row_is_answered_alike_alone_and_among_others(setting: Setting) -> None:
    X, _ = mixed()
    model, together = setting.fitted, setting.proba
    alone = np.vstack([model.predict_proba(X.iloc[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(alone, together[:20])
    np.testing.assert_array_equal(model.predict_proba(X.iloc[::-1])[::-1], together)
    np.testing.assert_array_equal(model.predict_proba(X.iloc[7:40]), together[7:40])


@each_setting()
def test_the_same_seed_gives_the_same_bits(setting: Setting) -> None:
    X, y = mixed()
    np.testing.assert_array_equal(setting.fit(X, y).predict_proba(X), setting.proba)
