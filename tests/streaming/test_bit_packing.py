"""Codes packed in a few bits come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise.streaming.cache import (
    WIDTHS,
    pack_codes,
    packed_size,
    unit_table,
    unpack_codes,
    width_of,
)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 8, 1001])
def test_packed_codes_come_back(width: int, n_rows: int, rng: np.random.Generator) -> None:
    codes = rng.integers(0, min(2**width, 2**31 - 1), n_rows).astype(np.int32)
    packed = pack_codes(codes, width)
    assert len(packed) == packed_size(n_rows, width)
    np.testing.assert_array_equal(unpack_codes(packed, n_rows, width), codes)


@pytest.mark.parametrize("arity", [2, 4, 5, 16, 17, 256, 257, 70_000])
def test_unpacking_with_a_table_recodes(arity: int, rng: np.random.Generator) -> None:
    codes = rng.integers(0, arity, 500).astype(np.int32)
    other = rng.permutation(arity).astype(np.int32)
    width = width_of(arity)
    packed = pack_codes(codes, width)
    found = unpack_codes(packed, 500, width, unit_table(width, other))
    np.testing.assert_array_equal(found, other[codes])
    assert found.flags.c_contiguous
