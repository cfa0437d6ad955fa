"""Files of data: regular files only, and gzip within bounds."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path

import pytest

from priorwise.common import files
from priorwise.common.files import DataFileError, check_regular_file, open_data_file


@pytest.mark.parametrize("zipped", [False, True])
def test_plain_and_zipped_files_are_read(zipped: bool, tmp_path: Path) -> None:
    content = b"some text\n" * 1000
    (tmp_path / "x").write_bytes(gzip.compress(content) if zipped else content)
    with open_data_file(tmp_path / "x") as file:
        assert file.readline() == b"some text\n"
        assert file.read() == content[10:]


def test_several_zipped_members_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    with open_data_file(tmp_path / "x") as file:
        assert file.read() == b"one two"


def test_links_to_regular_files_are_followed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"text")
    (tmp_path / "link").symlink_to("x")
    with open_data_file(tmp_path / "link") as file:
        assert file.read() == b"text"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
    kinds = {"pipe": "a pipe", "link": "a device", "socket": "a socket", ".": "a folder"}
    for name, kind in kinds.items():
        with pytest.raises(DataFileError, match=f"must be a regular file, got {kind}"):
            open_data_file(tmp_path / name)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(files, "check_regular_file", lambda path: None)
    with pytest.raises(DataFileError, match="must be a regular file"):
        open_data_file(tmp_path / "pipe")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        check_regular_file(tmp_path / "nowhere")


def test_a_file_that_becomes_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FREE_PACKED_BYTES", 1000)
    (tmp_path / "x").write_bytes(gzip.compress(b"\0" * 1_000_000))
    with (
        open_data_file(tmp_path / "x") as file,
        pytest.raises(DataFileError, match=r"more than 200 times as long.*MAX_PACKED_RATIO"),
    ):
        file.read()


@pytest.mark.parametrize("damage", ["cut", "flip", "checksum"])
def test_damaged_gzip_data_is_refused(damage: str, tmp_path: Path) -> None:
    content = bytearray(gzip.compress(os.urandom(10_000)))
    if damage == "cut":
        del content[5000:]
    elif damage == "flip":
        content[10] ^= 0xFF
    else:
        content[-6] ^= 1
    (tmp_path / "x").write_bytes(content)
    with (
        open_data_file(tmp_path / "x") as file,
        pytest.raises(DataFileError, match="the gzip data is damaged"),
    ):
        file.read()
