"""Reading of values from JSON and arrays."""

import json
from typing import Any

import numpy as np
import pytest

from priorwise.common.stored.arrays import MIN_SAVED, ArrayWriter
from priorwise.common.stored.reader import OTHER, ValueReader
from priorwise.common.stored.values import StateType, ValueWriter

STATES = {"list": StateType(list, list, lambda fields: ["read", fields])}
ARRAYS = {"u1": np.arange(5, dtype=np.uint8), "f8": np.array([1.5, -2.0, np.nan, 4.0])}
TEXT = r"""
 [{"array": ["f8", [1, 2]]}, {"tuple": ["a", "\u00e9\ud83d\ude00\n\ud800x\/"]}, {"shared": 1},
  {"state": ["list", {"arrays":[["u1", 2, "i4"], ["u1", 1, "i4"]]}]}, {"float":"-inf"},
  {"record": {"name": 1.5e-3, "ünit": -17, "": true}}, {"dict": [[1, "x"], ["y", null]]}, [ ],
  {"state": ["list", {"arrays": [["u1", [2, 1], "i8"]]}]}, {"objects": [[2], [{"scalar":
  ["f8", []]}, false]]}, {"date": "2020-02-03"}, 12345678901234567890123, {"scalars": ["f8", 1]},
  {"array": ["u1", [3, 0]]}, {"timedelta": [1, 2, 3]}, {"frozenset": [1, 2]}]
"""
EXPECTED = """\
[array([[ 1.5, -2. ]]), ('a', 'é😀\\n\\ud800x/'), ('a', 'é😀\\n\\ud800x/'), \
['read', [array([0, 1], dtype=int32), array([2], dtype=int32)]], -inf, \
{'name': 0.0015, 'ünit': -17, '': True}, {1: 'x', 'y': None}, [], \
['read', [array([[3],
       [4]])]], array([np.float64(nan), False], dtype=object), datetime.date(2020, 2, 3), \
12345678901234567890123, [np.float64(4.0)], array([], shape=(3, 0), dtype=uint8), \
datetime.timedelta(days=1, seconds=2, microseconds=3), frozenset({1, 2})]"""


def read(text: str) -> Any:
    return ValueReader(ARRAYS, STATES).read(text)


def test_values_of_all_kinds_are_read() -> None:
    value = read(TEXT)
    assert repr(value) == EXPECTED
    assert value[1] is value[2]


@pytest.mark.parametrize("what", ["float", "pandas"])
def test_a_value_in_the_place_of_a_name_is_refused_by_its_type(what: str) -> None:
    # Its text, which an estimator would have to be asked for, is in no message.
    content = [["name"]] if what == "pandas" else ["name"]
    with pytest.raises(TypeError, match="expected a str, got a list"):
        OTHER[what](content)


def test_objects_that_occur_twice_are_stored_once() -> None:
    array, names = np.arange(3), ("a", "b")
    writer = ValueWriter({})
    stored = writer.encode([array, names, array, ("a", "b"), ("a",), ("a",)])
    assert stored[2:4] == [{"shared": 0}, {"shared": 1}]
    value = ValueReader(writer.arrays.join(), {}).read(json.dumps(stored))
    assert value[0] is value[2]
    assert value[1] is value[3]


def test_a_dictionary_whose_only_key_is_a_kind_of_value_comes_back() -> None:
    for value in ({"array": 1}, {"date": {"tuple": [2]}}, {"m": 0.5}, {}, {"a": 1, "float": 2}):
        stored = json.dumps(ValueWriter({}).encode(value))
        assert ValueReader({}, {}).read(stored) == value


NARROWED = {
    "u1": [0, 1, 255],
    "i1": [-128, 0, 127],
    "u2": [0, 256],
    "i2": [-300, 20_000],
    "u4": [0, 70_000],
    "i4": [-1, 70_000],
}


@pytest.mark.parametrize("stored", NARROWED)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_numbers_are_stored_in_the_narrowest_type(stored: str, dtype: type) -> None:
    array: Any = np.tile(np.array(NARROWED[stored], dtype=dtype), MIN_SAVED)
    writer = ArrayWriter(pack=True)
    place = writer.add(array)
    assert place == [stored, len(array), array.dtype.str[1:]]
    back = ValueReader(writer.join(), {}).read(json.dumps({"array": place}))
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    ("number", "stored"),
    [(0.5, "f4"), (-0.0, "f4"), (np.nan, "f4"), (np.inf, "f4"), (0.1, "f8"), (1e300, "f8")],
)
def test_numbers_keep_their_bits(number: float, stored: str) -> None:
    array: Any = np.full(MIN_SAVED, number)
    writer = ArrayWriter(pack=True)
    place = writer.add(array)
    assert place[0] == stored
    back = ValueReader(writer.join(), {}).read(json.dumps({"array": place}))
    assert back.tobytes() == array.tobytes()


def test_few_numbers_and_plain_files_are_not_narrowed() -> None:
    assert ArrayWriter(pack=True).add(np.arange(9)) == ["i8", 9]
    assert ArrayWriter(pack=False).add(np.arange(MIN_SAVED)) == ["i8", MIN_SAVED]
