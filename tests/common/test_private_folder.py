"""Folders that only their owner can use: rights, links, half-written files and locks."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from priorwise.common import private_folder
from priorwise.common.private_folder import PrivateFolder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PrivateFolder]:
    opened = PrivateFolder(tmp_path / "a" / "b")
    yield opened
    opened.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_read_back(folder: PrivateFolder) -> None:
    folder.write("x", b"one")
    folder.write("x", b"two")
    folder.write("y", b"")
    assert (folder.read("x"), folder.read("y"), folder.names()) == (b"two", b"", ["x", "y"])
    folder.remove("x")
    folder.remove("x")
    assert folder.names() == ["y"]


def test_only_the_owner_has_rights(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = PrivateFolder(tmp_path / "new")
        folder.write("x", b"secret")
    finally:
        os.umask(before)
    folder.close()
    assert mode(tmp_path / "new") == 0o700
    assert mode(tmp_path / "new" / "x") == 0o600


def test_an_empty_folder_is_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    PrivateFolder(tmp_path).close()
    assert mode(tmp_path) == 0o700


def test_a_folder_with_files_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("whose?")
    tmp_path.chmod(0o777)
    with pytest.raises(ValueError, match=r"scratch must be a folder that nobody else .* mode 777"):
        PrivateFolder(tmp_path, role="scratch")


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ValueError, match="checkpoint must be a folder of your own"):
        PrivateFolder(tmp_path / "mine", role="checkpoint")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(ValueError, match="no symbolic link"):
        PrivateFolder(tmp_path / "link")
    (tmp_path / "secret").write_text("secret")
    folder = PrivateFolder(tmp_path / "real")
    (tmp_path / "real" / "x").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic link"):
        folder.read("x")
    folder.write("x", b"mine")
    assert (tmp_path / "secret").read_text() == "secret"
    assert folder.read("x") == b"mine"
    folder.close()


def test_pipes_are_not_read(folder: PrivateFolder) -> None:
    os.mkfifo(folder.path / "x")
    with pytest.raises(OSError, match="must be a regular file"):
        folder.read("x")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(ValueError, match="must be a folder"):
        PrivateFolder(tmp_path / "x")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/passwd", "a/b"])
def test_names_stay_in_the_folder(name: str, folder: PrivateFolder) -> None:
    with pytest.raises(ValueError, match="name must be that of a file in the folder"):
        folder.write(name, b"")


def test_a_folder_that_is_exchanged_has_no_effect(tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "x")
    folder.write("mine", b"1")
    (tmp_path / "x").rename(tmp_path / "moved")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine").write_bytes(b"forged")
    assert folder.read("mine") == b"1"
    folder.write("more", b"2")
    assert (tmp_path / "moved" / "more").read_bytes() == b"2"
    folder.close()


def test_a_write_that_fails_leaves_the_old_file(
    folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("x", b"old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"folder cannot be written: No space .*x"):
        folder.write("x", b"new")
    assert folder.read("x") == b"old"
    assert os.listdir(folder.path) == ["x"]


def test_unfinished_files_are_removed(folder: PrivateFolder) -> None:
    (folder.path / "0123.part").write_bytes(b"half")
    assert folder.names() == []
    folder.remove_unfinished()
    assert os.listdir(folder.path) == []


def test_remove_all_leaves_nothing(folder: PrivateFolder) -> None:
    folder.lock()
    folder.write("x", b"")
    folder.remove_all()
    assert not folder.path.exists()


def test_a_second_user_is_told_who_holds_the_lock(folder: PrivateFolder) -> None:
    folder.lock()
    second = PrivateFolder(folder.path, role="checkpoint")
    text = rf"checkpoint .* is in use by process {os.getpid()} on {socket.gethostname()} since 20"
    with pytest.raises(RuntimeError, match=text):
        second.lock()
    folder.close()
    second.lock()
    second.close()
    assert os.listdir(folder.path) == []


HOLD = """
import sys
from priorwise.common.private_folder import PrivateFolder
folder = PrivateFolder(sys.argv[1])
folder.lock()
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "x")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"held\n"
        folder = PrivateFolder(tmp_path / "x")
        with pytest.raises(RuntimeError, match=f"in use by process {process.pid} on"):
            folder.lock()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / "x" / "lock").exists()
    folder.lock()
    folder.close()


def test_the_lock_of_another_computer_is_not_taken_over(folder: PrivateFolder) -> None:
    (folder.path / "lock").write_text(json.dumps({"pid": 1, "host": "far-away", "since": 0}))
    with pytest.raises(RuntimeError, match="process 1 on far-away since 1970"):
        folder.lock()


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"[" * 5000, b'{"pid": "x", "since": "y"}', b'{"since": 1e99}']
)
def test_a_damaged_lock_is_taken_over(content: bytes, folder: PrivateFolder) -> None:
    (folder.path / "lock").write_bytes(content)
    folder.lock()


@pytest.mark.parametrize("pid", [os.getppid(), 2**30])
def test_without_locks_of_the_system_the_process_is_looked_for(
    pid: int, folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_folder, "_try_lock", lambda descriptor: None)
    holder = {"pid": pid, "host": socket.gethostname(), "since": 0}
    (folder.path / "lock").write_text(json.dumps(holder))
    if pid == 2**30:
        folder.lock()
    else:
        with pytest.raises(RuntimeError, match=f"in use by process {pid}"):
            folder.lock()
