"""Probabilities as text: neither 0 nor 1 unless they are."""

import json
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from priorwise.common.texts import show_percent, show_probability

SHARES = [
    0.0, 1e-300, 1e-9, 0.0004, 0.00049999, 0.0005, 0.00125, 0.0025, 0.004, 0.005, 0.25, 0.5, 0.985,
    0.99, 0.994, 0.995, 0.9994, 0.9995, 0.99988, 1.0 - 1e-16, 1.0,
    *np.random.default_rng(0).random(200).tolist(),
]  # fmt: skip


@pytest.mark.parametrize("digits", [0, 1, 2, 3])
def test_only_zero_and_one_look_like_zero_and_one(digits: int) -> None:
    for share in SHARES:
        percent, probability = show_percent(share, digits), show_probability(share, digits)
        assert (re.fullmatch(r"0(\.0*)?%", percent) is not None) == (share == 0.0)
        assert (re.fullmatch(r"100(\.0*)?%", percent) is not None) == (share == 1.0)
        assert (re.fullmatch(r"0(\.0*)?", probability) is not None) == (share == 0.0)
        assert (re.fullmatch(r"1(\.0*)?", probability) is not None) == (share == 1.0)
        assert abs(float(percent.strip("<>%")) - 100 * share) <= 10.0**-digits


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_explorer_page_writes_the_same_percents() -> None:
    script = files("priorwise.report").joinpath("assets", "state.js").read_text(encoding="utf-8")
    (percent,) = re.findall(r"^function percent\(.*?^}", script, flags=re.S | re.M)
    pairs = f"{json.dumps(SHARES)}.map((p) => [percent(p, 0), percent(p)])"
    done = subprocess.run(
        ["node", "-e", f"{percent}\nconsole.log(JSON.stringify({pairs}))"],
        capture_output=True,
        check=True,
    )
    expected = [[show_percent(share, 0), show_percent(share)] for share in SHARES]
    assert json.loads(done.stdout) == expected
