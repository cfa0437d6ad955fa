"""Fuzz target: damaged files of data, result files and containers are read or refused by name."""

from __future__ import annotations

import gzip
import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

from fuzz.outcomes import attempt
from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.data import ArffError, SourceError, open_source
from priorwise.evaluation import read_results

ARFF = b"@relation r\n@attribute a real\n@attribute b {x,'y z'}\n@data\n1,x\n{0 2, 1 'y z'}\n?,?\n"
CSV = b'a,b,label\n1.5,"x ""y""",u\nNA,?,v\n2,z,u\n'
RESULTS = (
    b"dataset,model,repeat,fold,protocol,n_train,n_test,n_classes,n_dropped,rmse,error\n"
    b"d,m,0,0,5x2,10,10,2,0,0.5,\nd,m,0,1,5x2,10,10,2,0,,odd\n"
)


@cache
def whole(ending: str) -> bytes:
    """An undamaged file of a format."""
    table = pa.table({"a": np.arange(9.0), "b": pa.array(["x", "y", None] * 3), "label": ["u"] * 9})
    file = io.BytesIO()
    if ending == ".parquet":
        parquet.write_table(table, file)
    elif ending == ".arrow":
        feather.write_feather(table, file, compression="uncompressed")
    else:
        return {".arff": ARFF, ".csv": CSV, ".csv.gz": gzip.compress(CSV)}[ending]
    return file.getvalue()


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip, insert, remove or repeat some bytes."""
    spoilt = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at, n = int(rng.integers(len(spoilt) + 1)), int(rng.integers(1, 9))
        move = int(rng.integers(4))
        if move == 0 and at < len(spoilt):
            spoilt[at] ^= 1 << int(rng.integers(8))
        elif move == 1:
            spoilt[at:at] = rng.bytes(n)
        elif move == 2:
            del spoilt[at : at + n]
        else:
            spoilt[at:at] = spoilt[at : at + n]
    return bytes(spoilt)


def case(seed: int, index: int) -> str:
    """Read one damaged file, and return "accepted" or the name of the exception."""
    rng = np.random.default_rng([seed, index])
    readers = (read_data, read_data, read_data, read_result_file, read_container)
    with tempfile.TemporaryDirectory() as folder:
        return readers[index % len(readers)](Path(folder), rng)


def read_data(folder: Path, rng: np.random.Generator) -> str:
    """Read a damaged file of data."""
    ending = str(rng.choice([".arff", ".csv", ".csv.gz", ".parquet", ".arrow"]))
    path = folder / f"x{ending}"
    path.write_bytes(damage(whole(ending), rng))
    return attempt(
        lambda: list(open_source(path, target=None).read()), ArffError, SourceError, naming="x."
    )


def read_result_file(folder: Path, rng: np.random.Generator) -> str:
    """Read a damaged result file."""
    path = folder / "x.csv"
    path.write_bytes(damage(RESULTS, rng))
    return attempt(lambda: read_results(path), ValueError, naming="x.csv")


def read_container(folder: Path, rng: np.random.Generator) -> str:
    """Read a damaged container."""
    content = damage(to_bytes({"a": np.arange(5), "b": ["x", None, 1.5]}, kind="test"), rng)
    return attempt(
        lambda: from_bytes(content, kind="test", source="x.test"), ContainerError, naming="x.test"
    )
