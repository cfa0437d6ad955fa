"""Files that are whole or not there."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from priorwise.common.files import open_whole, write_whole

needs_modes = pytest.mark.skipif(os.name == "nt", reason="needs the modes of POSIX")


@pytest.fixture
def umask():
    """The usual umask, whatever that of the process is."""
    before = os.umask(0o022)
    yield 0o022
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@needs_modes
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_replaced_file_keeps_its_mode(mode, tmp_path, umask):
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(mode)
    write_whole(path, "the page", "new")
    assert (path.read_text(), mode_of(path)) == ("new", mode)


@needs_modes
def test_a_new_file_follows_the_umask(tmp_path, umask):
    write_whole(tmp_path / "page.html", "the page", "new")
    assert mode_of(tmp_path / "page.html") == 0o666 & ~umask


@needs_modes
def test_the_unfinished_file_of_a_private_one_is_private(tmp_path, umask):
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o600)
    with open_whole(path, "the page"):
        (hidden,) = set(tmp_path.iterdir()) - {path}
        assert mode_of(hidden) == 0o600


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs to be root")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    write_whole(path, "the page", "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_file_is_untouched_after_an_error(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    unfinished = open_whole(path, "the page")
    unfinished.__enter__().write(b"half")
    error = KeyboardInterrupt()
    assert not unfinished.__exit__(type(error), error, None)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("page.html", "old")]


@needs_modes
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "page.html")
    for text in ("old", "new"):
        write_whole(tmp_path / "link", "the page", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "page.html").read_text() == text


@needs_modes
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=write_whole, args=(path, "the page", "new"))
    writer.start()
    assert path.read_text() == "new"
    writer.join()
    assert path.is_fifo()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError, match="the page cannot be written") as caught:
        write_whole(tmp_path, "the page", "new")
    assert caught.value.filename == str(tmp_path)


def test_a_file_may_have_the_longest_name(tmp_path):
    path = tmp_path / ("n" * 255)
    write_whole(path, "the page", "new")
    assert path.read_text() == "new"
