"""Opening files of data that may be anything: regular files only, and gzip within bounds."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from typing import IO

GZIP_MAGIC = b"\x1f\x8b"
MAX_GZIP_RATIO = 200
"""A gzipped file may become at most this many times as long when it is read."""
FREE_GZIP_BYTES = 1 << 26
"""A gzipped file may become this long whatever its own length is."""
_BINARY = getattr(os, "O_BINARY", 0)
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
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
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
                "priorwise.common.data_file.MAX_GZIP_RATIO sets that limit"
            )
        return int(n_read)

    def close(self) -> None:
        if not self.closed:
            self._zip.close()
            self._file.close()
        super().close()
