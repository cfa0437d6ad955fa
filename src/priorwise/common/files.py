"""Files: opened for reading, and written as a whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from priorwise.common.runtime import MIB

GZIP_MAGIC = b"\x1f\x8b"
MAX_GZIP_RATIO = 200
"""A gzipped file may become at most this many times as long when it is read."""
FREE_GZIP_BYTES = 64 * MIB
"""A gzipped file may become this long whatever its own length is."""
BINARY = getattr(os, "O_BINARY", 0)
"""Flag that keeps Windows from translating the ends of lines."""
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class DataFileError(OSError):
    """A file that is not read, or whose compressed data is damaged; the message says why."""


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """Raise unless a path leads to a regular file: reading a pipe or a device may never end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise DataFileError(f"{Path(path)} must be a regular file, got {kind}")


def open_data_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading; gzipped content is unzipped.

    Reading raises DataFileError if compressed data is damaged or becomes longer than
    `MAX_GZIP_RATIO` and `FREE_GZIP_BYTES` allow.
    """
    check_regular_file(path)
    # The file may have been exchanged in between: opening a pipe must not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | BINARY)
    file = os.fdopen(descriptor, "rb")
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DataFileError(f"{Path(path)} must be a regular file")
        return unzip(file)
    except BaseException:
        file.close()
        raise


def unzip(file: IO[bytes]) -> IO[bytes]:
    """Return the unzipped content of a gzipped file, or the file.

    It must be able to seek and is closed with the returned one.
    """
    zipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    return io.BufferedReader(_BoundedGzip(file, length)) if zipped else file


class _BoundedGzip(io.RawIOBase):
    """The unzipped content of a file, up to a length that depends on that of the file."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file = file
        self._zip = gzip.GzipFile(fileobj=file, mode="rb")
        self._left = max(FREE_GZIP_BYTES, MAX_GZIP_RATIO * length)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            n_read = self._zip.readinto(buffer)
        except (OSError, EOFError, zlib.error) as error:
            raise DataFileError(f"the gzip data is damaged ({error})") from error
        self._left -= n_read
        if self._left < 0:
            raise DataFileError(
                f"the gzip data becomes more than {MAX_GZIP_RATIO} times as long; "
                "priorwise.common.files.MAX_GZIP_RATIO sets that limit"
            )
        return int(n_read)

    def close(self) -> None:
        if not self.closed:
            self._zip.close()
            self._file.close()
        super().close()


_MAX_NAME = 50
"""Most characters of a file's name that the name of its hidden file repeats."""


@contextmanager
def open_whole(path: str | os.PathLike[str], content: str) -> Iterator[IO[bytes]]:
    """Open a file for writing; `content` says in errors what is written, such as "the model".

    Bytes go to a hidden file in the same folder, which takes the name when all are safely on the
    disk; after any error, also an interrupt, it is removed, and what had the name before is
    untouched. A replaced file keeps its mode and, where that is allowed, its owner and group; a
    new one follows the umask. Links are followed. A pipe or a device is written to directly.
    """
    target = Path(os.path.realpath(path))
    hidden = None
    try:
        replaced = _find_replaced(target)
        if replaced is not None and not stat.S_ISREG(replaced.st_mode):
            with open(target, "wb") as file:
                yield file
            return
        hidden = target.with_name(f".{target.name[:_MAX_NAME]}.{secrets.token_hex(4)}.part")
        # Nobody may read the new content who could not read the old.
        mode = 0o666 if replaced is None else 0o600
        with open(hidden, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replaced is not None:
            _keep_access(hidden, replaced)
        os.replace(hidden, target)
    except OSError as error:
        if error.errno is None:
            raise OSError(f"{path}: {content} cannot be written ({error})") from error
        text = f"{content} cannot be written ({error.strerror})"
        raise OSError(error.errno, text, str(path)) from error
    finally:
        if hidden is not None:
            with suppress(OSError):
                hidden.unlink()


def write_whole(path: str | os.PathLike[str], content: str, text: str) -> None:
    """Write a text in UTF-8 by `open_whole`."""
    with open_whole(path, content) as file:
        file.write(text.encode())


def _find_replaced(target: Path) -> os.stat_result | None:
    """Return what is known of the file that has the name, if any; OSError if it is protected."""
    try:
        replaced = os.stat(target)
    except FileNotFoundError:
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file of this name is read-only", str(target))
    return replaced


def _keep_access(path: Path, replaced: os.stat_result) -> None:
    """Give a file the owner, the group and the mode of another."""
    if hasattr(os, "chown"):
        for owner in (replaced.st_uid, -1):
            # Others than root may at most choose among their own groups.
            with suppress(OSError):
                os.chown(path, owner, replaced.st_gid)
                break
    path.chmod(stat.S_IMODE(replaced.st_mode))
