"""The reader of stored values beside its slow twin."""

import json
from typing import Any

import numpy as np
import pytest

from priorwise import _core
from priorwise.common.stored.arrays import widen
from priorwise.common.stored.values import MAX_DEPTH, StateType, make_other
from reference.stored_values import read_value

STATES = {
    "list": StateType(list, list, lambda fields: ["read", fields]),
    "narrow": StateType(list, list, lambda fields: ["read", fields], takes_narrow=True),
}
ARRAYS = {"u1": np.arange(5, dtype=np.uint8), "f8": np.array([1.5, -2.0, np.nan, 4.0])}
TEXT = r"""
 [{"array": ["f8", [1, 2]]}, {"tuple": ["a", "\u00e9\ud83d\ude00\n\ud800x\/"]}, {"shared": 1},
  {"state": ["narrow", {"arrays":[["u1", 2, "i4"], ["u1", 1, "i4", "sum"]]}]}, {"float":"-inf"},
  {"record": {"name": 1.5e-3, "ünit": -17, "": true}}, {"dict": [[1, "x"], ["y", null]]}, [ ],
  {"state": ["list", {"arrays": [["u1", [2, 1], "i8"]]}]}, {"objects": [[2], [{"scalar":
  ["f8", []]}, false]]}, {"date": "2020-02-03"}, 12345678901234567890123, {"scalars": ["f8", 1]},
  {"array": ["u1", [3, 0]]}, {"timedelta": [1, 2, 3]}, {"frozenset": [1, 2]}]
""".encode()


def read(text: bytes) -> Any:
    array = np.frombuffer(text, dtype=np.uint8)
    return _core.read_values(array, ARRAYS, STATES, MAX_DEPTH, np.inf, widen, make_other)


def test_values_are_those_of_the_slow_twin() -> None:
    assert repr(read(TEXT)) == repr(read_value(TEXT, ARRAYS, STATES))


def test_what_the_slow_twin_refuses_is_refused(rng: np.random.Generator) -> None:
    n_read = 0
    for _ in range(400):
        text = bytearray(TEXT)
        place, length = rng.integers(len(text)), rng.integers(1, 4)
        text[place : place + length] = rng.choice([b"", b"2", b'"', b"]", b"}", b",", b"\xff"])
        try:
            value = read(bytes(text))
        except Exception:  # any error makes a file invalid
            continue
        n_read += 1
        assert repr(value) == repr(read_value(bytes(text), ARRAYS, STATES))
    assert 10 < n_read < 200


@pytest.mark.parametrize(
    "text",
    ["", "[", "[1", "[1,", '"a', '"\\', '"\\u12', '"\\x"', "{", '{"tuple"', "-", "1 2", "tru"],
)
def test_json_that_is_cut_off_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|escape|literal"):
        read(text.encode())


@pytest.mark.parametrize("what", ["float", "pandas"])
def test_a_value_in_the_place_of_a_name_is_refused_by_its_type(what: str) -> None:
    # Its text, which an estimator would have to be asked for, is in no message.
    content = [["name"]] if what == "pandas" else ["name"]
    with pytest.raises(TypeError, match="expected a str, got a list"):
        make_other(what, content)


def test_texts_come_back_as_json_has_them(rng: np.random.Generator) -> None:
    letters = [*map(chr, range(128)), "é", "\ud83d", "\ude00", "😀", "漢", "\uffff"]
    for _ in range(50):
        given = "".join(rng.choice(letters, rng.integers(0, 12)))
        text = json.dumps(given)
        array = np.frombuffer(text.encode(), dtype=np.uint8)
        value = _core.read_values(array, {}, {}, MAX_DEPTH, np.inf, widen, make_other)
        assert value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'"\xff"', "no valid UTF-8"),
        (b'{"record": {"na\xffme": 1}}', "no valid UTF-8"),
        (b'{"a kin\xff": 1}', "no valid UTF-8"),
        (b'{"array": ["\xff", 1]}', "no valid UTF-8"),
        ('{"state": ["ä漢' + 50 * "漢" + '", 1]}', r"it holds a state '\\xe4\\u6f22"),
        ('{"array": ["漢' + 50 * "漢" + '", 1]}', r"no array of type '\\u6f22"),
    ],
)
def test_messages_can_be_read_whatever_the_text_is(text: bytes | str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read(text if isinstance(text, bytes) else text.encode())
    assert type(error.value) is ValueError
