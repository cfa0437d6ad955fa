"""Tables of every kind become the same codes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import encode_labels

ROWS = {
    "colour": ["red", "blue", None, "red", "green", "blue"],
    "size": [1.0, 2.0, 3.0, None, 5.0, 6.0],
    "flag": [True, False, True, True, None, False],
    "count": [1, 2, 3, 4, 5, 6],
}
Y = np.array([0, 0, 0, 1, 1, 1])


def as_lists(rows):
    return [list(row) for row in zip(*rows.values(), strict=True)]


MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "lists": as_lists,
    "objects": lambda rows: np.array(as_lists(rows), dtype=object),
}
every_table = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@every_table
def test_every_kind_of_table_gives_the_same_codes(make):
    encoder = TableEncoder(discretizer="equal-width")
    codes = encoder.fit_transform(make(ROWS), Y)
    assert encoder.is_nominal_.tolist() == [True, False, True, False]
    assert codes.flags.c_contiguous
    assert codes.dtype == np.int32
    assert codes[0].tolist() == [2, 0, 3, 2, 1, 0]
    assert codes[1].tolist() == [0, 1, 3, 10, 7, 9]
    assert codes[2].tolist() == [1, 0, 1, 1, 2, 0]
    assert encoder.arities_.tolist() == [4, 11, 3, 10]
    np.testing.assert_array_equal(encoder.transform(make(ROWS)), codes)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_one_kind_is_read_by_an_encoder_of_another(make):
    encoder = TableEncoder(discretizer="equal-width")
    codes = encoder.fit_transform(pl.DataFrame(ROWS), Y)
    np.testing.assert_array_equal(encoder.transform(make(ROWS)), codes)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_in_another_order_are_refused(make):
    encoder = TableEncoder().fit(make(ROWS), Y)
    assert encoder.feature_names_in_.tolist() == list(ROWS)
    turned = make({name: ROWS[name] for name in reversed(ROWS)})
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        encoder.transform(turned)
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(make({**ROWS, "new": ROWS["count"]}))


def test_another_number_of_columns_is_refused():
    encoder = TableEncoder().fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 3"):
        encoder.transform(np.ones((1, 2)))


def test_categories_are_matched_by_label_not_by_code():
    train = pd.DataFrame({"a": pd.Categorical(["x", "y", "z"], categories=["x", "y", "z"])})
    test = pd.DataFrame({"a": pd.Categorical(["z", "y", None], categories=["z", "w", "y"])})
    encoder = TableEncoder().fit(train)
    assert encoder.transform(test).tolist() == [[2, 1, -1]]
    assert encoder.transform(pd.DataFrame({"a": ["y", "new", "x"]})).tolist() == [[1, -1, 0]]


def test_polars_categories_and_enums_are_labels():
    values = ["u", None, "v", "u"]
    for dtype in (pl.String, pl.Categorical, pl.Enum(["w", "v", "u"])):
        frame = pl.DataFrame({"a": pl.Series(values, dtype=dtype)})
        assert TableEncoder().fit_transform(frame).tolist() == [[0, 2, 1, 0]]


def test_arrow_dictionaries_and_chunks_are_labels():
    one = pa.array(["v", None]).dictionary_encode()
    two = pa.array(["u", "v"]).dictionary_encode()
    for column in (pa.chunked_array([one, two]), pa.chunked_array([["v", None], ["u", "v"]])):
        table = pa.table({"a": column})
        assert TableEncoder().fit_transform(table).tolist() == [[1, 2, 0, 1]]


def test_unobserved_categories_of_a_dtype_have_no_code():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "x"], categories=["x", "never"])})
    assert TableEncoder().fit(frame).arities_.tolist() == [1]


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.float64("nan"), np.datetime64("NaT")]
)
def test_every_spelling_of_missing_is_one_value(missing):
    X = np.array([["a"], [missing], ["b"], [None]], dtype=object)
    assert TableEncoder().fit_transform(X).tolist() == [[0, 2, 1, 2]]


def test_mixed_labels_have_codes_of_their_own():
    X = np.array([["1"], [1], [2.5], [("a", 1)], ["1"]], dtype=object)
    codes = TableEncoder().fit_transform(X)[0]
    assert codes[0] == codes[4]
    assert codes[0] == codes[1]
    assert len(set(codes.tolist())) == 3


def test_whole_numbers_match_their_floats():
    encoder = TableEncoder(categorical_features=[0]).fit(np.array([[1], [2], [5]]))
    assert encoder.transform(np.array([[5.0], [1.0], [np.nan], [3.0]])).tolist() == [[2, 0, -1, -1]]


@pytest.mark.parametrize(
    "chosen", [[1, 3], [False, True, False, True], ["size", "count"], np.array([1, 3])]
)
def test_categorical_features_by_index_mask_or_name(chosen):
    encoder = TableEncoder(categorical_features=chosen).fit(pd.DataFrame(ROWS), Y)
    assert encoder.is_nominal_.all()
    assert encoder.arities_.tolist() == [4, 6, 3, 6]


@pytest.mark.parametrize(
    ("chosen", "rule"),
    [
        (["sise"], "must name columns of X, got 'sise'"),
        ([4], r"must lie in 0\.\.3"),
        ([True, False], "must have 4 entries"),
        ([1.5], "must be 'from_dtype', a mask, indices or names"),
    ],
)
def test_wrong_categorical_features_are_named(chosen, rule):
    with pytest.raises(ValueError, match=rule):
        TableEncoder(categorical_features=chosen).fit(pd.DataFrame(ROWS), Y)


def test_imputation_takes_mode_and_mean_of_training():
    encoder = TableEncoder(missing="impute", discretizer="equal-width")
    codes = encoder.fit_transform(pd.DataFrame(ROWS), Y)
    # blue and red tie: the first label wins; the mean of size is 3.4.
    assert codes[0].tolist() == [2, 0, 0, 2, 1, 0]
    assert codes[1, 3] == encoder.transform(pd.DataFrame({**ROWS, "size": [3.4] * 6}))[1, 0]
    assert encoder.arities_.tolist() == [3, 10, 2, 10]
    all_missing = pd.DataFrame({name: [None] for name in ROWS}).astype({"size": float})
    assert (encoder.transform(all_missing.astype({"count": float})) >= 0).all()


def test_imputation_follows_the_weights():
    X = np.array([["a", 1.0], ["b", 2.0], ["b", 4.0], [None, None]], dtype=object)
    encoder = TableEncoder(missing="impute", discretizer="equal-width")
    columns = encoder.fit_read(X, None, [5.0, 1.0, 1.0, 1.0])
    assert columns.nominal_codes[0].tolist() == [0, 1, 1, 0]
    assert columns.values[0, 3] == pytest.approx((5 * 1.0 + 2.0 + 4.0) / 7)


def test_unseen_values_raise_when_asked_to():
    encoder = TableEncoder(unseen="error").fit(
        pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), [0, 1]
    )
    with pytest.raises(ValueError, match="column 'a' holds 'z', which training did not"):
        encoder.transform(pd.DataFrame({"a": ["x", "z"], "b": [1.0, 9.0]}))
    with pytest.raises(ValueError, match="column 'b' holds a missing value"):
        encoder.transform(pd.DataFrame({"a": ["x"], "b": [None]}, dtype=object))


def test_a_stream_of_batches_merges_labels():
    frame = pd.DataFrame(ROWS)
    before = TableEncoder(discretizer="equal-width").fit(frame[:2], Y[:2])
    first = before.transform(frame[:2])
    encoder, _, _ = before.read_more(frame[2:])
    np.testing.assert_array_equal(before.transform(frame[:2]), first)
    np.testing.assert_array_equal(encoder.transform(frame[:2]), first)
    codes = encoder.transform(frame)
    assert (codes >= 0).all()
    assert (codes < encoder.arities_[:, None]).all()
    assert sorted(map(str, encoder.categories_[0].labels)) == ["None", "blue", "green", "red"]


def test_rows_of_weight_zero_bring_no_label_and_no_cut():
    frame = pd.DataFrame(ROWS)
    weight = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    weighted = TableEncoder(discretizer="equal-width").fit(frame, Y, weight)
    dropped = TableEncoder(discretizer="equal-width").fit(frame[weight > 0], Y[weight > 0])
    np.testing.assert_array_equal(weighted.transform(frame), dropped.transform(frame))
    np.testing.assert_array_equal(weighted.arities_, dropped.arities_)


def test_codes_do_not_depend_on_the_order_of_rows():
    frame = pd.DataFrame(ROWS)
    order = [5, 2, 0, 4, 1, 3]
    codes = TableEncoder().fit_transform(frame, Y)
    again = TableEncoder().fit_transform(frame.iloc[order], Y[order])
    np.testing.assert_array_equal(again, codes[:, order])


def test_one_reading_serves_many_cuts():
    encoder = TableEncoder().fit(pd.DataFrame(ROWS), Y)
    columns = encoder.read(pd.DataFrame(ROWS))
    points = [np.array([2.5]), np.array([1.5, 3.5])]
    codes = encoder.encode(columns, points)
    assert codes[1].tolist() == [0, 0, 1, 2, 1, 1]
    assert codes[3].tolist() == [0, 1, 1, 2, 2, 2]
    assert encoder.arities(points).tolist() == [4, 3, 3, 3]


def test_dates_are_numbers():
    dates = ["2020-01-01", None, "2020-01-03", "2020-01-05"]
    pandas = pd.DataFrame({"t": pd.to_datetime(dates)})
    polars = pl.DataFrame({"t": dates}).with_columns(pl.col("t").str.to_date())
    for frame in (pandas, polars):
        encoder = TableEncoder(discretizer="equal-width", numeric_features=["t"]).fit(frame)
        assert not encoder.is_nominal_[0]
        assert encoder.transform(frame).tolist() == [[0, 10, 4, 9]]


def test_a_scikit_learn_discretizer_keeps_its_bins():
    X = np.random.default_rng(0).integers(0, 9, (200, 2)).astype(float)
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    codes = TableEncoder(discretizer=bins).fit_transform(X)
    np.testing.assert_array_equal(codes.T, bins.fit_transform(X))


@pytest.mark.parametrize(
    ("X", "error", "rule"),
    [
        (pd.DataFrame({"a": []}), ValueError, "0 sample"),
        (pd.DataFrame(index=[0, 1]), ValueError, r"0 feature"),
        (np.zeros((0, 2)), ValueError, "0 sample"),
        ([1.0, 2.0], ValueError, "Reshape your data"),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, "column 'a' has type List"),
        (pl.LazyFrame({"a": [1]}), TypeError, "collect it first"),
        (np.array([[1 + 1j]]), ValueError, "Complex data not supported"),
        (np.array([[{"a": 1}], [None]], dtype=object), TypeError, "string or a number"),
        (np.array([[np.inf], [1.0]]), ValueError, "infinity"),
    ],
)
def test_tables_that_cannot_be_read_are_named(X, error, rule):
    with pytest.raises(error, match=rule):
        TableEncoder(discretizer="equal-width").fit(X)


def test_text_in_a_numeric_column_is_named_at_predict():
    encoder = TableEncoder(discretizer="equal-width").fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="column 'a' must hold numbers"):
        encoder.transform(pd.DataFrame({"a": ["many"]}))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"missing": "drop"}, "missing must be one of 'value', 'impute', 'ignore', got 'drop'"),
        ({"unseen": "ignore"}, "unseen must be one of 'backoff', 'error', got 'ignore'"),
        ({"discretizer": "mdl"}, "discretizer must be one of 'mdlp'"),
    ],
)
def test_wrong_options_are_named(options, rule):
    with pytest.raises(ValueError, match=rule):
        TableEncoder(**options).fit([[1.0], [2.0]], [0, 1])


def test_huge_nominals_have_the_codes_of_their_sorted_labels():
    numbers = np.random.default_rng(0).integers(0, 50_000, 200_000)
    # Texts of numbers are sorted as numbers.
    frame = pd.DataFrame(
        {"a": numbers.astype(str), "b": np.char.add("label ", numbers.astype(str))}
    )
    codes = TableEncoder(categorical_features=["a", "b"]).fit_transform(frame)
    for labels, own in zip((numbers, frame["b"].to_numpy()), codes, strict=True):
        np.testing.assert_array_equal(own, np.unique(labels, return_inverse=True)[1])


@pytest.mark.parametrize(
    ("y", "rule"),
    [
        ([0.0, np.nan], "Input y contains NaN"),
        (["a", None], "Input y contains NaN"),
        (pd.Series(["a", pd.NA]), "Input y contains NaN"),
        ([], "at least one row"),
        (None, "y is None"),
        ([0.5, 1.25], "Unknown label type"),
        ([[0, 1], [1, 0]], "1d array"),
    ],
)
def test_labels_that_cannot_be_classes_are_named(y, rule):
    with pytest.raises(ValueError, match=rule):
        encode_labels(y)


def test_one_class_is_refused_where_two_are_needed():
    assert encode_labels(["a", "a"])[0].tolist() == [0, 0]
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        encode_labels(["a", "a"], min_classes=2)


def test_labels_outside_the_given_classes_are_named():
    codes, classes = encode_labels(["b", "a"], classes=["a", "b", "c"])
    assert codes.tolist() == [1, 0]
    assert classes.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="got 'z'"):
        encode_labels(["z"], classes=["a", "b"])


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array, list, np.array])
def test_labels_come_from_every_kind_of_column(make):
    codes, classes = encode_labels(make(["no", "yes", "no"]))
    assert codes.tolist() == [0, 1, 0]
    assert list(classes) == ["no", "yes"]


@pytest.mark.parametrize("order", ["C", "F"])
def test_reading_changes_nothing_of_the_table_given(order):
    X = np.array([[1.0, np.nan], [3.0, 4.0]], order=order)
    encoder = TableEncoder(missing="impute").fit(X, [0, 1])
    assert encoder.read(X).values.tolist() == [[1.0, 3.0], [4.0, 4.0]]
    assert np.isnan(X[0, 1])


def test_numbers_of_several_types_are_read_alike():
    numbers = {"a": [1, 2, 3], "b": [0.5, np.nan, 2.0], "c": np.array([1, 2, 3], np.uint8)}
    plain = pd.DataFrame(numbers)
    nullable = plain.astype({"a": "Int64", "b": "Float64"})
    mixed = plain.assign(b=["x", "y", "x"])
    encoder = TableEncoder(discretizer="equal-width").fit(plain)
    expected = encoder.read(plain).values
    np.testing.assert_array_equal(encoder.read(nullable).values, expected)
    read = TableEncoder(discretizer="equal-width").fit(mixed).read(mixed).values
    np.testing.assert_array_equal(read, expected[[0, 2]])


def test_a_single_row_is_read_as_it_is_among_others():
    frame = pd.DataFrame(
        {
            "number": [1.5, np.nan, 3.0, 1e18],
            "whole": [1, 2, 2**60, 4],
            "text": ["a", None, "b", "c"],
            "category": pd.Categorical([1, 2, None, 1]),
            "flag": [True, False, True, True],
            "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
            "object": pd.Series(["x", 1.0, True, np.nan], dtype=object),
        }
    )
    for columns in (frame.columns, ["number", "whole"], ["text", "category"], ["whole", "flag"]):
        part = frame[list(columns)]
        chosen = ["whole"] if "whole" in part else []
        encoder = TableEncoder(categorical_features=chosen, discretizer="equal-width").fit(part)
        expected = encoder.read(part)
        for i in range(len(part)):
            row = encoder.read(part[i : i + 1])
            np.testing.assert_array_equal(row.nominal_codes, expected.nominal_codes[:, [i]])
            np.testing.assert_array_equal(row.values, expected.values[:, [i]])


def test_a_single_row_is_refused_as_several_are():
    frame = pd.DataFrame({"number": [1.0, 2.0], "text": ["a", "b"]})
    encoder = TableEncoder(discretizer="equal-width").fit(frame)
    for wrong in ({"number": np.inf}, {"number": "many"}, {"text": [["a"]]}):
        one = frame[:1].assign(**wrong)
        with pytest.raises((TypeError, ValueError)) as alone:
            encoder.read(one)
        with pytest.raises((TypeError, ValueError)) as together:
            encoder.read(pd.concat([one, one]))
        assert str(alone.value) == str(together.value).replace("2 rows", "1 row")
    with pytest.raises(ValueError, match="feature names"):
        encoder.read(frame[:1].rename(columns={"text": "other"}))
    with pytest.raises(ValueError, match="training did not"):
        encoder.set_params(unseen="error").read(frame[:1].assign(text="new"))
