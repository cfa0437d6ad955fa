"""Methods of convenience of all estimators: functions of the upper layers that take a model.

The package registers them when it is imported (`priorwise.common.estimator.REGISTERED`). They
import what they call when they are called, so that the package is imported quickly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from priorwise.common.registered import of_one_fit


@of_one_fit
def save(estimator: Any, path: str | os.PathLike[str], *, compress: bool = False) -> None:
    """Save the estimator, fitted or not, to a file that `priorwise.load` reads.

    The file is a safetensors container without any code. It is written under a hidden name
    and renamed at the end, so an incomplete file never stands under that name.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced.
    compress : bool
        Whether to compress the file: by zstandard where Python (from 3.14 on) or the package
        ``zstandard`` has it, otherwise by zlib. It takes longer to save and to load.
    """
    from priorwise.storage.model_file import save_model

    save_model(estimator, path, compress=compress)


@of_one_fit
def summary(estimator: Any) -> Any:
    """Summarise what is inside the estimator: parts, sizes, features and training rows.

    Returns
    -------
    ModelSummary
        `parameters`, `features`, `class_counts`, `parts`, `n_bytes` and the like. Printed, it
        is a text of a few lines.
    """
    from priorwise.storage.summary import summarise

    return summarise(estimator)


@of_one_fit
def card(estimator: Any) -> str:
    """Write a model card: data, scores out of fold, features, limits, how to reproduce.

    Returns
    -------
    str
        A page in Markdown.
    """
    from priorwise.storage.summary import write_card

    return write_card(estimator)


@of_one_fit
def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    event: Any = None,
    keys: Any = None,
    source: str | None = None,
    max_rows: int = 5_000,
    random_state: int = 0,
) -> None:
    """Write a report of the classifier and of its predictions for rows with known classes.

    It is one HTML file without any reference to another one. It begins with a verdict: is the
    classifier good, for whom is it wrong, from which threshold on to say yes, what do mistakes
    cost. Then come thresholds with costs that can be typed, scores beside two simple baselines,
    calibration, groups of rows that are predicted worse, what each feature and the strongest
    pairs of features do, the rows that are predicted worst or with least certainty, missing
    and unseen values, and members. It can be printed.

    For the rows of training, given in their order, it uses their probabilities out of fold
    (`oof_proba_`) where the classifier has them, and says so.

    Parameters
    ----------
    X : frame or array of shape (n_rows, n_features)
        Rows with the columns of training, best rows that the classifier has not seen.
    y : array-like of shape (n_rows,)
        Class label of each row, among those of training.
    path : path
        The file; one that is there is replaced.
    event : label, optional
        The class that matters, for which a threshold is chosen; the rarest class of the rows
        by default. The page can show the others too.
    keys : array-like of shape (n_rows,), optional
        What the rows are called, such as customer numbers. By default the index of a pandas
        frame, or else places from 0.
    source : str, optional
        Where the rows come from, such as the name of a file, for the head of the page.
    max_rows : int
        Largest number of rows, drawn at random, that contributions of features are computed
        for. Scores are those of all rows.
    random_state : int
        Seed of what is drawn at random: rows, and resamples for intervals and bands.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = [["sun", 20.0], ["rain", 11.0], ["rain", 18.0]] * 9, ["out", "in", "out"] * 9
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> NaiveBayesClassifier().fit(X, y).report(X, y, path)
    >>> path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    from priorwise import NaiveBayesClassifier
    from priorwise.report.report import write_report

    write_report(
        model, X, y, path,
        baseline=NaiveBayesClassifier, event=event, keys=keys, source=source,
        max_rows=max_rows, random_state=random_state,
    )  # fmt: skip


@of_one_fit
def explorer(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    fixed: Sequence[str | int] = (),
    keys: Any = None,
    max_rows: int = 500,
) -> None:
    """Write a page with a slider or a menu for each feature, and what is then predicted.

    The page is one HTML file that holds the whole model and evaluates it in the browser, equal
    to `predict_proba` to 1e-9; no request leaves it. It shows the probabilities, the
    contributions of the features (those of `explain`), and which changes of one or two features
    would change the decision. Its address keeps the state, so that a link can be shared.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced.
    X : frame or array of shape (n_rows, n_features), optional
        Rows with the columns of training: sliders go through their values, and up to 500 of
        them are in the page to start from. Do not give rows that readers of the page may not
        see. Without rows, sliders go from the least to the largest number of training.
    y : array-like of shape (n_rows,), optional
        The classes of the rows, which the page then shows.
    fixed : sequence of str or int
        Names or places of features that nobody can change, such as an age: the search for
        changes leaves them as they are. Readers of the page can choose otherwise.
    keys : array-like of shape (n_rows,), optional
        What the rows are called. By default the index of a pandas frame, or else places from 0.
    max_rows : int
        Largest number of rows in the page, at most 500. With 0 the page is as without X: it holds
        no row and no value of one, but labels and ranges of training.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = [["sun", 20.0], ["rain", 11.0]] * 9, ["out", "in"] * 9
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "explorer.html"
    >>> NaiveBayesClassifier().fit(X, y).explorer(path, X, y)
    >>> path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    from priorwise.report.explorer import write_explorer

    write_explorer(model, path, X, y, fixed=fixed, keys=keys, max_rows=max_rows)


def show_html(model: Any) -> str:
    """Return what notebooks show: of a fitted classifier what it is and what was learnt."""
    if not hasattr(model, "classes_"):
        from sklearn.utils import estimator_html_repr

        html: str = estimator_html_repr(model)
        return html
    from priorwise.report.boxes import draw_card

    return draw_card(model)


def show_table(table: Any) -> str:
    """Return what notebooks show of a conditional table: its commonest contexts."""
    if not hasattr(table, "classes_"):
        return show_html(table)
    from priorwise.report.boxes import draw_conditional

    return draw_conditional(table)


def show_general(network: Any) -> str:
    """Return what notebooks show of a Bayesian network: its graph and its variables."""
    if not hasattr(network, "structure_"):
        return show_html(network)
    from priorwise.report.boxes import draw_general

    return draw_general(network)


def show_scores(scores: Any) -> str:
    """Return what notebooks show of the scores of a pool."""
    from priorwise.report.boxes import draw_scores

    return draw_scores(scores)


def show_value(value: Any) -> str:
    """Return what notebooks show of an explanation, a network, a summary and the like."""
    from priorwise.report.boxes import draw

    return draw(value)


def bundle_of(show: Callable[[Any], str]) -> Callable[..., dict[str, str]]:
    """Return the method that notebooks ask for pictures, which `show` draws as HTML."""

    def show_bundle(model: Any, **_: Any) -> dict[str, str]:
        """Return what notebooks choose from; HTML unless scikit-learn's `display` is "text"."""
        from sklearn import get_config

        bundle = {"text/plain": repr(model)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = show(model)
        return bundle

    return show_bundle


METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "Estimator": {"save": save, "summary": summary, "card": card},
    "TableClassifier": {
        "report": report,
        "explorer": explorer,
        "_repr_html_inner": show_html,
        "_repr_mimebundle_": bundle_of(show_html),
    },
    "ConditionalTable": {
        "_repr_html_inner": show_table,
        "_repr_mimebundle_": bundle_of(show_table),
    },
    "BayesianNetwork": {
        "_repr_html_inner": show_general,
        "_repr_mimebundle_": bundle_of(show_general),
    },
    "ScoreReport": {"_repr_html_": show_scores},
    **{
        name: {"_repr_html_": show_value}
        for name in (
            "Explanation",
            "GlobalExplanation",
            "FeatureShape",
            "ModelSummary",
            "TableSchema",
            "TableCheck",
            "Network",
            "Distribution",
            "ReliabilityCurve",
        )
    },
}
"""The methods by the class that has them and by name."""
