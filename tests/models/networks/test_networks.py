"""What the probabilities of network classifiers are by definition."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    AODEClassifier,
    KDBClassifier,
    KDFClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise.smoothing import Laplace, MBranch, MEstimate, Smoother
from priorwise.structure import Network
from reference.network_cases import (
    ARITIES,
    N_CLASSES,
    SINGLE,
    as_frame,
    each,
    fit,
    make_codes,
    make_mixed,
)
from reference.networks import DictNetwork, leave_one_out_losses, normalise

SMOOTHERS = {
    "mle": "mle",
    "laplace": "laplace",
    "m-estimate": ("m-estimate", 2.0),
    "m-branch": ("m-branch", 4.0),
}


class TowardsParent(Smoother):
    """Weight one towards the parent at every level: the additive form smoothers have by default."""

    def smooth(self, tree, seed=0):
        return self.shrinkage(tree).apply(tree)


SELECTION = SMOOTHERS | {"parent": ("parent", 1.0)}
OBJECTS = {
    "m-estimate": MEstimate(2.0),
    "m-branch": MBranch(4.0),
    "parent": TowardsParent(),
}


def twin_of(network, codes, y, smoothing):
    return DictNetwork(
        codes.tolist(), y.tolist(), ARITIES, N_CLASSES, network.parents, network.order,
        SMOOTHERS[smoothing],
    )  # fmt: skip


@each(SINGLE)
@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_a_network_is_the_product_of_its_conditional_probabilities(model, smoothing):
    codes, y = make_codes(n_rows=60)
    chosen = OBJECTS.get(smoothing, smoothing)
    fitted = fit(clone(model).set_params(smoothing=chosen), as_frame(codes), y)
    tests, _ = make_codes(seed=5, n_rows=40)
    twin = twin_of(fitted.structure_, codes, y, smoothing)
    joint = np.array([twin.log_joint(row) for row in tests.tolist()])
    np.testing.assert_allclose(
        fitted.predict_joint_log_proba(as_frame(tests)), joint, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        fitted.predict_proba(as_frame(tests)),
        [normalise(row, fitted.model_.log_prior) for row in joint],
        rtol=1e-6,
        atol=1e-12,
    )


@pytest.mark.parametrize("smoothing", ["laplace", "m-branch"])
def test_kdf_averages_the_probabilities_of_its_networks(smoothing):
    codes, y = make_codes(n_rows=60)
    model = KDFClassifier(smoothing=OBJECTS.get(smoothing, smoothing)).fit(as_frame(codes), y)
    twins = [twin_of(network, codes, y, smoothing) for network in model.structures_]
    assert len(twins) == len(ARITIES)
    for row, proba in zip(codes[:20].tolist(), model.predict_proba(as_frame(codes[:20])),
                          strict=True):  # fmt: skip
        mean = np.mean(
            [normalise(twin.log_joint(row), twin.log_joint(row, [])) for twin in twins], axis=0
        )
        np.testing.assert_allclose(proba, mean, rtol=1e-6)


@pytest.mark.parametrize("min_frequency", [1, 40, 1000])
def test_aode_averages_the_joints_of_frequent_superparents(min_frequency):
    codes, y = make_codes(n_rows=80)
    model = AODEClassifier(min_frequency, smoothing="laplace").fit(as_frame(codes), y)
    twins = []
    for parent in range(len(ARITIES)):
        parents = [() if i == parent else (parent,) for i in range(len(ARITIES))]
        order = (parent, *(i for i in range(len(ARITIES)) if i != parent))
        twins.append(twin_of(Network(tuple(parents), order), codes, y, "laplace"))
    naive = twin_of(Network.naive(len(ARITIES)), codes, y, "laplace")
    joint = model.predict_joint_log_proba(as_frame(codes))
    n_used = set()
    for row, found in zip(codes.tolist(), joint, strict=True):
        used = [
            twin for i, twin in enumerate(twins) if (codes[:, i] == row[i]).sum() >= min_frequency
        ]
        n_used.add(len(used))
        expected = np.log(np.mean([np.exp(t.log_joint(row)) for t in used or [naive]], axis=0))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    # Every value is frequent, some are, none is.
    assert n_used == {1: {5}, 40: n_used, 1000: {0}}[min_frequency]
    assert min_frequency != 40 or (len(n_used) > 1 and max(n_used) < 5)


@pytest.mark.parametrize("loss", ["squared", "log"])
@pytest.mark.parametrize("smoothing", ["mle", "laplace", "m-estimate", "parent"])
def test_leave_one_out_losses_are_those_of_refitting_without_each_row(smoothing, loss):
    codes, y = make_codes(n_rows=40)
    model = SelectiveKDBClassifier(
        max_parents=2, selection_loss=loss, smoothing=OBJECTS.get(smoothing, smoothing)
    ).fit(as_frame(codes), y)
    whole = KDBClassifier(max_parents=2, smoothing="laplace").fit(as_frame(codes), y).structure_
    expected = leave_one_out_losses(
        codes.tolist(), y.tolist(), ARITIES, N_CLASSES, whole, SELECTION[smoothing], 2, loss
    )
    np.testing.assert_allclose(model.selection_.losses, expected, rtol=1e-9)
    best = np.unravel_index(expected.argmin(), expected.shape)
    assert (model.selection_.max_parents, model.selection_.n_features) == best


def test_a_value_never_seen_leaves_its_factor_out():
    codes, y = make_codes()
    model = TANClassifier(smoothing="laplace").fit(as_frame(codes), y)
    twin = twin_of(model.structure_, codes, y, "laplace")
    for feature in range(len(ARITIES)):
        row = codes[:1].copy()
        row[0, feature] = 99
        expected = row[0].tolist()
        expected[feature] = -1
        np.testing.assert_allclose(
            model.predict_joint_log_proba(as_frame(row))[0], twin.log_joint(expected), rtol=1e-6
        )


def test_laplace_without_back_off_is_uniform_in_a_context_without_rows():
    X = pd.DataFrame({"a": ["p", "p", "q", "q"], "b": ["u", "v", "u", "u"]})
    y = np.array([0, 0, 1, 1])
    structure = Network.from_parents([[], [0]])
    model = TANClassifier(smoothing=Laplace(backoff=False), structure=structure).fit(X, y)
    # Class 1 has no row with a = p: b is uniform there.
    joint = model.predict_joint_log_proba(X[:1])[0]
    np.testing.assert_allclose(
        np.exp(joint), [3 / 6 * 3 / 4 * 2 / 4, 3 / 6 * 1 / 4 * 1 / 2], rtol=1e-6
    )
    backed = TANClassifier(smoothing=Laplace(), structure=structure).fit(X, y)
    joint = backed.predict_joint_log_proba(X[:1])[0]
    np.testing.assert_allclose(
        np.exp(joint), [3 / 6 * 3 / 4 * 2 / 4, 3 / 6 * 1 / 4 * 3 / 4], rtol=1e-6
    )


@pytest.mark.parametrize("smoothing", ["laplace", "mle", "m-branch", MEstimate(3.0), "hdp"])
def test_lists_of_seen_outcomes_answer_as_full_tables_do(smoothing, monkeypatch):
    codes, y = make_codes(n_rows=200)
    X = as_frame(codes)
    model = KDBClassifier(max_parents=2, smoothing=smoothing)
    monkeypatch.setattr("priorwise.counts.tree.MAX_DENSE_OUTCOMES", 64)
    dense = fit(model, X, y)
    monkeypatch.setattr("priorwise.counts.tree.MAX_DENSE_OUTCOMES", 1)
    sparse = fit(model, X, y)
    assert all(tree.is_dense for tree in dense.count_trees_)
    assert not any(tree.is_dense for tree in sparse.count_trees_[1:])
    tests = as_frame(make_codes(seed=3)[0])
    np.testing.assert_allclose(
        sparse.predict_proba(tests), dense.predict_proba(tests), rtol=1e-6, atol=1e-12
    )


def test_the_score_of_a_superparent_search_does_not_hide_the_accuracy():
    X, y = make_mixed()
    model = fit(SuperParentClassifier("auc"), X, y)
    assert model.get_params()["search_score"] == "auc"
    assert model.score(X, y) == (model.predict(X) == y).mean()


def test_networks_decide_by_expected_cost() -> None:
    X = [["a"]] * 7 + [["b"]] * 3
    y = ["no"] * 5 + ["yes"] * 2 + ["no", "yes", "yes"]
    model = NaiveBayesClassifier().fit(X, y)
    assert model.predict([["a"]]).tolist() == ["no"]
    # Missing a yes costs twenty times as much as a false alarm.
    assert model.predict([["a"]], cost_matrix=[[0, 1], [20, 0]]).tolist() == ["yes"]
    with pytest.raises(ValueError, match="cost_matrix must have a row and a column for each of 2"):
        model.predict([["a"]], cost_matrix=[[0, 1]])
