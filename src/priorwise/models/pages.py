"""The methods of every classifier that write a page for a browser."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr


class PagesMixin:
    """A classifier that can be looked at in a browser, without a network."""

    def _repr_html_inner(self) -> str:
        """Return what notebooks show: of a fitted classifier what it is and what was learnt."""
        if not hasattr(self, "classes_"):
            return estimator_html_repr(self)
        card: Any = import_module("priorwise.report.notebook")
        return card.draw_card(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what notebooks choose from; HTML unless scikit-learn's `display` is "text"."""
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str],
        *,
        max_rows: int = 5_000,
        random_state: int = 0,
    ) -> None:
        """Write a report of the classifier and of its predictions for rows with known classes.

        It is one HTML file without any reference to another one: scores beside two simple
        baselines, calibration, confusion of classes, what each feature and the strongest pairs of
        features do, pictures of networks and trees, the rows that are predicted worst or with
        least certainty, and what was done with missing and unseen values. It can be printed.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training, best rows that the classifier has not seen.
        y : array-like of shape (n_rows,)
            Class label of each row, among those of training.
        path : path
            The file; one that is there is replaced.
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
        # The layer above knows all models; this one must not import it.
        pages: Any = import_module("priorwise.report.report")
        pages.write_report(self, X, y, path, max_rows=max_rows, random_state=random_state)

    def explorer(self, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
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
        pages: Any = import_module("priorwise.report.explorer")
        pages.write_explorer(self, path, X, y)
