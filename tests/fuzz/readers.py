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
from priorwise import read_bif
from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.common.files import DataFileError
from priorwise.data import ArffError, SourceError, open_source
from priorwise.data.bif import BifError
from priorwise.evaluation import read_results

ARFF = b"@relation r\n@attribute a real\n@attribute b {x,'y z'}\n@data\n1,x\n{0 2, 1 'y z'}\n?,?\n"
CSV = b'a,b,label\n1.5,"x ""y""",u\nNA,?,v\n2,z,u\n'
RESULTS = (
    b"dataset,model,repeat,fold,protocol,n_train,n_test,n_classes,n_dropped,rmse,error\n"
    b"d,m,0,0,5x2,10,10,2,0,0.5,\nd,m,0,1,5x2,10,10,2,0,,odd\n"
)


BIF = b"""network unknown {
}
variable rain { type discrete [ 2 ] { yes, "no rain" }; }
variable grass { type discrete [ 3 ] { wet, damp, dry }; property place = (1, 2) ; }
probability ( rain ) { table 0.2, 0.8; } // a comment
probability ( grass | rain ) { default 0.1, 0.2, 0.7; (yes) 0.9, 0.1, 0.0; }
"""


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
    readers = (read_data, read_data, read_data, read_result_file, read_container, read_network)
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


def read_network(folder: Path, rng: np.random.Generator) -> str:
    """Read a damaged file of a Bayesian network, and sample from what is accepted."""
    path = folder / "x.bif"
    content = gzip.compress(BIF) if rng.random() < 0.2 else BIF
    damaged = damage(content, rng)
    if content is BIF and rng.random() < 0.8:
        damaged = bytes(byte & 127 for byte in damaged)  # other bytes are no UTF-8 text
    path.write_bytes(damaged)
    return attempt(lambda: read_bif(path).sample(3), BifError, DataFileError, naming="x.bif")
