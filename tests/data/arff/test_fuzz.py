"""Broken ARFF files end in data or in an ArffError, however their rows are split."""

import io
import os
import random
import re
import time

import numpy as np
import pytest

from priorwise.data.arff import syntax
from priorwise.data.arff.reader import read_arff, read_header
from priorwise.data.arff.syntax import ArffError, RowReader

N_INPUTS = int(os.environ.get("PRIORWISE_FUZZ_INPUTS", "4000"))
SEEDS = [
    "@relation r\n@attribute a real\n@attribute b {x,y,'z w'}\n@attribute c {0,1}\n@data\n"
    "1,x,0\n2.5,'z w',1\n?,y,?\n-1e3, x ,0\n",
    "% c\n@RELATION 'q'\n@ATTRIBUTE 'a b' numeric\n@ATTRIBUTE s string\n@ATTRIBUTE d {p,'?'}\n"
    "@DATA\n1,'it\\'s',p\n%n\n2,\"dou ble\",'?'\n,\n3,t,?\n",
    "@relation s\r\n@attribute a integer [1,9]\r\n@attribute b {u,v}\r\n@attribute c {k,l}\r\n"
    "@data\r\n{0 1, 2 l}\r\n{1 v}\r\n{}\r\n1,u,k,{2}\r\n",
    "@relation u\n@attribute a real\n@attribute b {x,y}\n@data\n1,x\n2,y\n?,x\n-3.5,?\n",
    "@relation v\n@attribute a real\n@attribute b {x,'y z'}\n@data\n1,'y z'\n2,x\n?,?\n4,'x'\n",
    "@relation t\n@attribute a,{f,t}\n@attribute b {'',x}\n@data\nf,x\nt,''\nf, x\n t ,x\n",
]
PIECES = [
    *"'\"{},%?\\\n\r\t @_-.",
    "nan",
    "inf",
    "1e999",
    "@data\n",
    "@attribute z {",
    "{0 1}",
    "'?'",
    "' ?'",
    "'' ",
    " %",
    "\x00",
    "\u2028",
    "\xa0",
    "99999999999999999999",
    "x" * 300,
]


def mutate(text, rng):
    body = text.lower().index("@data") if rng.random() < 0.7 else 0
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(min(body, len(text)), len(text) + 1)
        move = rng.randrange(5)
        if move == 0:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif move == 1:
            text = text[:at] + text[at + rng.randrange(1, 6) :]
        elif move == 2:
            end = at + rng.randrange(1, 30)
            text = text[:end] + text[at:end] * rng.randrange(1, 4) + text[end:]
        elif move == 3:
            text = (
                text[:at]
                + chr(rng.choice([rng.randrange(128), rng.randrange(0xD7FF)]))
                + text[at + 1 :]
            )
        else:
            text = text[:at] + rng.choice(SEEDS)[rng.randrange(200) :]
    return text


def read_or_error(text):
    try:
        return read_arff(io.BytesIO(text.encode("utf-8", "surrogatepass")))
    except ArffError as error:
        return _check_message(error)


def _check_message(error):
    assert error.problem in str(error)


def check_splitting_agrees(text):
    """A row that is split at its commas is read as one whose values are all scanned."""
    lines = io.StringIO(text, newline=None).read().split("\n")
    try:
        _, attributes, first = read_header(lines, "")
        split = RowReader(attributes, "").read(lines[first:], 1)
    except ArffError:
        return False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syntax, "_SPECIAL", re.compile(""))
        scanned = RowReader(attributes, "").read(lines[first:], 1)
    for a, b in zip(split[0], scanned[0], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(split[1], scanned[1])
    return True


@pytest.mark.parametrize("text", SEEDS)
def test_the_files_to_mutate_are_sound(text):
    assert read_or_error(text).n_rows == 4 - ("@RELATION" in text)


def test_mutated_files_end_in_data_or_an_arff_error():
    rng = random.Random(20)
    slowest, n_read, n_alike = 0.0, 0, 0
    for _ in range(N_INPUTS):
        text = mutate(rng.choice(SEEDS), rng)
        start = time.process_time()
        n_read += read_or_error(text) is not None
        slowest = max(slowest, time.process_time() - start)
        n_alike += check_splitting_agrees(text)
    assert slowest < 30
    # Guards against mutations so wild, or so tame, that the test would see one outcome only.
    assert 0.05 * N_INPUTS < n_read < 0.95 * N_INPUTS
    assert n_alike > 0.01 * N_INPUTS


def test_random_bytes_end_in_data_or_an_arff_error():
    rng = random.Random(21)
    for _ in range(N_INPUTS // 4):
        seed = bytearray(rng.choice(SEEDS).encode())
        for _ in range(rng.randrange(1, 10)):
            seed[rng.randrange(len(seed))] = rng.randrange(256)
        try:
            read_arff(io.BytesIO(seed))
        except ArffError as error:
            _check_message(error)


@pytest.mark.parametrize(
    "line",
    [
        "1" + " " * 200_000 + "b,x,0",
        "'" * 200_000,
        "'" + "\\" * 200_001,
        '"' + "a" * 200_000,
        "{" * 200_000,
        "{" + "0 1," * 50_000,
        "," * 200_000,
        "\r" * 200_000 + "1",
        " %" * 100_000,
        "1" * 200_000,
    ],
)
def test_a_hostile_line_takes_linear_time(line):
    start = time.process_time()
    for text in (SEEDS[0] + line, SEEDS[0].replace("{x,y", "{x," + line + ",y")):
        read_or_error(text)
    assert time.process_time() - start < 30
