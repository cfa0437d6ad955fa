import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from priorwise.datasets import SUITES, fetch_suite


def test_a_set_is_downloaded_by_its_number_when_called(tmp_path, monkeypatch):
    calls = []

    def answer(*, data_id, data_home, as_frame):
        calls.append((data_id, data_home))
        target = pd.Series(["u", None, "v"], dtype="category")
        data = pd.DataFrame({"a": [1, 2, 3]})
        return Bunch(data=data, target=target, details={"name": "iris"})

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer)
    suite = fetch_suite("uci", cache=tmp_path)
    assert calls == []
    X, y = suite["iris"]()
    assert calls == [(61, str(tmp_path))]
    assert (X["a"].tolist(), y.tolist()) == ([1, 3], ["u", "v"])


def test_a_download_of_another_name_is_an_error_that_gives_both(monkeypatch):
    def answer(*, data_id, **_):
        name = {29: "credit-approval", 25: "colic", 61: "irish"}[data_id]
        target = pd.Series(["u", "v"], dtype="category")
        return Bunch(data=pd.DataFrame({"a": [1, 2]}), target=target, details={"name": name})

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer)
    suite = fetch_suite("weka36")
    assert suite["credit-a"]()[1].tolist() == ["u", "v"]
    assert suite["colic.ORIG"]()[1].tolist() == ["u", "v"]
    with pytest.raises(ValueError, match="number 61 must be the data set 'iris', got 'irish'"):
        suite["iris"]()


def test_numbers_are_distinct_and_the_name_is_checked():
    for numbers in SUITES.values():
        assert len(set(numbers.values())) == len(numbers)
    assert len(SUITES["weka36"]) == 36
    with pytest.raises(ValueError, match="name must be one of"):
        fetch_suite("kaggle")
