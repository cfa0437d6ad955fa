"""Bad input on the command line: one line and exit code 2, and nothing outside the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from priorwise.cli.comparison import _safe_name
from priorwise.cli.main import main
from priorwise.evaluation import read_results

HEADER = "dataset,model,repeat,fold,protocol,n_train,n_test,n_classes,n_dropped,rmse,error\n"


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (HEADER.encode() + b"d,m,0,0,5x2,\xff\xfe,1,2,0,0.5,\n", "line 2 holds bytes that are no"),
        (HEADER.encode() + b"d,m,x,0,5x2,1,1,2,0,0.5,\n", "line 2: repeat must be a whole number"),
        (HEADER.encode() + b"d,m,0,0,5x2,1,1,2,0,0.5," + b"x" * 200_000 + b"\n", "line 2: field"),
    ],
)
def test_a_bad_result_file_is_named_with_its_line(
    content: bytes, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"odd\.csv' {rule}"):
        read_results(path)
    assert main(["compare", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_results_of_no_training_rows_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    rows = [f"d,{m},0,{f},1x2,0,10,2,0,{f + k / 10},\n" for k, m in enumerate("ab") for f in (0, 1)]
    path.write_text(HEADER + "".join(rows))
    assert main(["compare", str(path)]) == 2
    assert (
        capsys.readouterr().err == "priorwise: n_train and n_test of 'd' must be positive, got 0\n"
    )


def test_a_folder_in_place_of_a_result_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["/x/evil", "../../evil", "..", "", "a/b", "x\0y", "C:\\evil"])
def test_names_of_pictures_stay_inside_the_folder(name: str, tmp_path: Path) -> None:
    safe = _safe_name(name)
    assert safe
    assert (tmp_path / f"{safe}-ranks.png").parent == tmp_path
    assert "\0" not in safe
