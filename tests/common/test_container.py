"""The file format gives back what it was given, and refuses everything else by name."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
import safetensors
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from priorwise.common import container
from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.common.stored.values import MAX_DEPTH, StateType, dataclass_state


@dataclass(eq=False)
class Counts:
    name: str
    values: np.ndarray


def check_counts(counts: Counts) -> None:
    if counts.values.ndim != 1:
        raise ValueError("values must have one axis")


STATES = {"counts": dataclass_state(Counts, check_counts, name=str, values=np.ndarray)}


def round_trip(value: Any) -> Any:
    return from_bytes(to_bytes(value, kind="test", states=STATES), kind="test", states=STATES)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates()
    | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    return bool(a == b)


@given(PLAIN)
def test_nested_values_come_back_with_their_types(value: Any) -> None:
    assert same(round_trip(value), value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324])
def test_odd_floats_come_back(value: float) -> None:
    np.testing.assert_array_equal(round_trip(value), value)
    assert np.signbit(round_trip(value)) == np.signbit(value)


DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


@pytest.mark.parametrize("dtype", [*DTYPES, ">i4", ">f8", "U3", ">U3", "M8[us]", "m8[D]"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0), (3, 2)])
def test_arrays_come_back(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    array = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    for given_array in (array, array.T, array[::2] if array.ndim else array):
        back = round_trip([given_array])[0]
        assert back.dtype == array.dtype.newbyteorder("=")
        assert back.flags.writeable
        assert back.flags.aligned
        np.testing.assert_array_equal(back, given_array)


def test_labels_of_mixed_types_come_back() -> None:
    labels = np.array(["a", 1, True, None, 2.5, (1, "b"), date(2020, 1, 2)], dtype=object)
    back = round_trip(labels)
    assert back.dtype == object
    assert [(type(x), x) for x in back] == [(type(x), x) for x in labels]
    assert round_trip(datetime(2020, 1, 2, 3, 4, 5, 6)) == datetime(2020, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("value", [np.float64(0.1), np.int32(-7), np.bool_(True)])
def test_numpy_scalars_come_back(value: np.generic) -> None:
    assert type(round_trip(value)) is type(value)
    assert round_trip(value) == value


def test_registered_states_come_back() -> None:
    back = round_trip([Counts("x", np.arange(3))])[0]
    assert type(back) is Counts
    assert (back.name, back.values.tolist()) == ("x", [0, 1, 2])


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, np.zeros(2, dtype="c8"), np.zeros(2, dtype="i4,i4"), print, Counts],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_refused_when_written(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        to_bytes([value], kind="test")


def test_too_deep_values_are_refused_when_written_and_read() -> None:
    value: Any = None
    for _ in range(MAX_DEPTH + 2):
        value = [value]
    with pytest.raises(TypeError, match="at most 64 levels"):
        to_bytes(value, kind="test")
    refused(forge("[" * 100_000 + "]" * 100_000), "recursion")


def test_the_same_value_gives_the_same_bytes() -> None:
    value = {"a": np.arange(5), "b": [np.zeros(2), "x"]}
    assert to_bytes(value, kind="test") == to_bytes(value, kind="test")


def test_the_header_names_checksum_format_version_and_kind() -> None:
    content = to_bytes(None, kind="test")
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["priorwise"])
    assert list(header) == ["crc32", "format", "version", "kind"]
    assert header["format"] == 5


def refused(content: bytes, match: str) -> None:
    with pytest.raises(ContainerError, match=match) as refusal:
        from_bytes(content, kind="test", states=STATES, source="here.bin")
    assert str(refusal.value).startswith("here.bin: ")


def forge(structure: str, arrays: dict[str, Any] | None = None, **header: Any) -> bytes:
    """A container with a right checksum and a wrong content."""
    arrays = {name: np.asarray(array) for name, array in (arrays or {}).items()}
    arrays["structure"] = np.frombuffer(structure.encode(), dtype=np.uint8)
    header = {"format": container.FORMAT, "version": "0.1.0", "kind": "test"} | header
    return container._pack(header, arrays)


FORGED = {
    "an array that is not there": (forge('{"array": ["f8", [2]]}'), "there is no array"),
    "an array used twice": (
        forge('[{"array": ["f8", [2]]}, {"array": ["f8", [2]]}]', {"f8": np.zeros(2)}),
        "more entries than the file",
    ),
    "an array of no value": (forge("null", {"f8": np.zeros(2)}), "belong to no value"),
    "an array of a name that is none": (forge("null", {"0": np.zeros(2)}), "not expected here"),
    "an array under the name of another type": (
        forge("null", {"i4": np.zeros(2)}),
        "not expected here",
    ),
    "an array of a wrong shape": (
        forge('{"array": ["f8", [-1]]}', {"f8": np.zeros(2)}),
        "a length must be a whole number",
    ),
    "an array of a huge shape": (
        forge('{"array": ["f8", [4294967296, 4294967296]]}', {"f8": np.zeros(2)}),
        "more entries than the file",
    ),
    "an array to be read as a narrower type": (
        forge('{"array": ["f8", [2], "f4"]}', {"f8": np.zeros(2)}),
        "the type that it states",
    ),
    "an array to be read as no type": (
        forge('{"array": ["f4", [2], "x8"]}', {"f4": np.zeros(2, dtype=np.float32)}),
        "the type that it states",
    ),
    "a shape that is none": (
        forge('{"array": ["f8", "2"]}', {"f8": np.zeros(2)}),
        "must be a list of lengths",
    ),
    "a value that was not read before": (forge('{"shared": 0}'), "must have a number"),
    "a value of a negative number": (
        forge('[{"array": ["f8", [2]]}, {"shared": -1}]', {"f8": np.zeros(2)}),
        "must have a number",
    ),
    "a class of pandas that is not listed": (
        forge('{"pandas": ["read_pickle", "x"]}'),
        "no type of pandas",
    ),
    "an unknown state": (forge('{"state": ["os.system", "true"]}'), "not expected here"),
    "a state without fields": (
        forge('{"state": ["counts", {"dict": []}]}'),
        "the fields must be",
    ),
    "a state with a wrong field": (
        forge('{"state": ["counts", {"dict": [["name", 1], ["values", 2]]}]}'),
        "name must not be of type int",
    ),
    "a state that its check refuses": (
        forge(
            '{"state": ["counts", {"dict": [["name", ""], ["values", {"array": ["f8", [2,2]]}]]}]}',
            {"f8": np.zeros(4)},
        ),
        "must have one axis",
    ),
    "a kind of value that is none": (forge('{"call": "print"}'), "one key, a kind of value"),
    "two keys": (forge('{"tuple": [], "list": []}'), "must have one key"),
    "no key": (forge("{}"), "must have one key"),
    "a shape that does not fit": (forge('{"objects": [[3], [1]]}'), "does not fit"),
    "a negative shape": (
        forge('{"objects": [[-1, -1], [1]]}'),
        "a length must be a whole number",
    ),
    "a key twice": (forge('{"dict": [["a", 1], ["a", 2]]}'), "a key twice"),
    "a key that is a list": (forge('{"dict": [[[], 1]]}'), "unhashable"),
    "code points that are none": (
        forge('{"text": ["u4", [2, 3]]}', {"u4": np.full(6, 2**31, dtype=np.uint32)}),
        "no text",
    ),
    "text of the wrong type": (
        forge('{"text": ["f8", [2, 3]]}', {"f8": np.zeros(6)}),
        "must be of type",
    ),
    "times of a wrong type": (
        forge('{"times": ["f8", ["i8", [2]]]}', {"i8": np.zeros(2, dtype=np.int64)}),
        "type of an array of times",
    ),
    "a constant of JavaScript": (forge("NaN"), "NaN is no number"),
    "a number with too many digits": (forge("1" * 5000), "ValueError"),
    "no JSON": (forge("{"), "JSONDecodeError"),
    "two values": (forge("1 2"), "JSONDecodeError"),
    "no text at all": (forge("null")[:-4] + b"\xff\xff\xff\xff", "checksum does not match"),
    "another format": (forge("null", format=4), "its format must be 5, got 4"),
    "another kind": (forge("null", kind="model"), "it must hold a test, got a model"),
    "nothing": (b"", "its header does not fit"),
    "zeros": (b"\0" * 100, "JSONDecodeError"),
    "a huge header": (b"\xff" * 100, "its header does not fit"),
    "a pickle": (pickle.dumps([1, 2]), "its header does not fit"),
    "arrays of others": (save({"x": np.zeros(3)}), "__metadata__"),
    "complex numbers": (
        forge("null", {"x": np.zeros(3, dtype=np.complex64)}),
        "unknown type C64",
    ),
}


@pytest.mark.parametrize("case", FORGED, ids=lambda case: case.replace(" ", "-"))
def test_forged_files_are_refused(case: str) -> None:
    refused(*FORGED[case])


def test_booleans_must_be_zero_or_one() -> None:
    array = np.array([0, 1, 2], dtype=np.uint8).view(bool)
    refused(forge('{"array": ["b1", [3]]}', {"b1": array}), "another byte than 0 and 1")


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    value = [Counts("name", np.arange(4)), np.array([True, False]), {"k": ("t", 1.5)}, b"raw"]
    content = to_bytes(value, kind="test", states=STATES)
    for at in range(len(content)):
        refused(content[:at], "the file cannot be used")
        for bit in range(8):
            flipped = bytearray(content)
            flipped[at] ^= 1 << bit
            refused(bytes(flipped), "the file cannot be used")


def test_an_exception_of_a_state_is_a_refusal() -> None:
    def fail(stored: Any) -> None:
        raise ZeroDivisionError("no")

    states = {"counts": StateType(Counts, lambda counts: counts.name, fail)}
    content = to_bytes(Counts("x", np.zeros(1)), kind="test", states=states)
    with pytest.raises(ContainerError, match="ZeroDivisionError"):
        from_bytes(content, kind="test", states=states)


def test_a_refusal_can_be_pickled() -> None:
    error = ContainerError("is odd", "a.bin")
    assert str(pickle.loads(pickle.dumps(error))) == "a.bin: is odd"


def test_files_are_plain_safetensors() -> None:
    content = to_bytes([np.arange(3)], kind="test")
    assert sorted(name for name, _ in safetensors.deserialize(content)) == ["i8", "structure"]
