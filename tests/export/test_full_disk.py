"""Files that cannot be written whole leave the earlier ones as they were."""

from __future__ import annotations

import pytest

import children

pytest.importorskip("resource", reason="needs limits of the size of files")

CHILD = """
import os, resource, signal, sys, warnings
import numpy as np
from priorwise import ProbabilityTreeClassifier
from priorwise.export import export_c, export_json, export_onnx, export_sql

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 3)), np.arange(300) % 2
model = ProbabilityTreeClassifier("laplace", teacher=None, random_state=0).fit(X, y)
writers = {
    "model.c": lambda path: export_c(model, path),
    "model.json": lambda path: export_json(model, path),
    "query.sql": lambda path: export_sql(model, path),
    "model.onnx": lambda path: export_onnx(model, path),
    "model.priorwise": model.save,
    "report.html": lambda path: model.report(X, y, path),
    "explorer.html": model.explorer,
}
os.chdir(sys.argv[1])
# Python would keep compiled modules that are cut off.
sys.dont_write_bytecode = True
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for name in sys.argv[2:]:
    try:
        writers[name](name)
    except OSError as error:
        print(error.filename, "|", error.strerror)
"""


def test_an_earlier_file_survives_a_full_disk(tmp_path):
    pytest.importorskip("onnx", reason="needs onnx")
    what = {
        "model.c": "the C file",
        "model.json": "the JSON",
        "query.sql": "the query",
        "model.onnx": "the ONNX model",
        "model.priorwise": "the model",
        "report.html": "the report",
        "explorer.html": "the page",
    }
    written = tmp_path / "written"
    written.mkdir()
    for name in what:
        (written / name).write_text("precious")
    ran = children.run_code(CHILD, written, *what, folder=tmp_path)
    messages = [
        f"{name} | {kind} cannot be written (File too large)" for name, kind in what.items()
    ]
    assert ran.stdout.splitlines() == messages, ran.stderr
    assert {path.name: path.read_text() for path in written.iterdir()} == dict.fromkeys(
        what, "precious"
    )
