"""Files: opened for reading, and written as a whole or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import importlib
import io
import lzma
import os
import re
import secrets
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from priorwise.common.runtime import MIB, import_extra

MAX_PACKED_RATIO = 200
"""A compressed file may become at most this many times as long when it is read."""
FREE_PACKED_BYTES = 64 * MIB
"""A compressed file may become this long whatever its own length is."""
_DAMAGES = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What libraries raise at compressed data that is damaged."""
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


def is_same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file that exists."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def open_data_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading; compressed content (`COMPRESSED`) is unpacked.

    Reading raises DataFileError if compressed data is damaged or becomes longer than
    `MAX_PACKED_RATIO` and `FREE_PACKED_BYTES` allow.
    """
    check_regular_file(path)
    # The file may have been exchanged in between: opening a pipe must not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | BINARY)
    file = os.fdopen(descriptor, "rb")
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DataFileError(f"{Path(path)} must be a regular file")
        return unpack(file)
    except BaseException:
        file.close()
        raise


def unpack(file: IO[bytes]) -> IO[bytes]:
    """Return the content of a compressed file, or the file.

    It must be able to seek and is closed with the returned one.
    """
    start = file.read(_START_BYTES)
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    for name, (magic, opener) in COMPRESSED.items():
        if re.match(magic, start, re.DOTALL):
            return io.BufferedReader(_UnpackedFile(file, opener, name, length))
    return file


def _open_gzip(file: IO[bytes]) -> IO[bytes]:
    return gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[return-value]


def _open_bzip2(file: IO[bytes]) -> IO[bytes]:
    return bz2.BZ2File(file)


def _open_xz(file: IO[bytes]) -> IO[bytes]:
    return lzma.LZMAFile(file)


def _open_zip(file: IO[bytes]) -> IO[bytes]:
    """Open the only file of a zip archive."""
    archive = zipfile.ZipFile(file)
    # Folders, and what a Mac adds.
    members = [m for m in archive.namelist() if m[-1] != "/" and not m.startswith("__MACOSX/")]
    if len(members) != 1:
        raise DataFileError(f"a zip archive must hold one file, got {len(members)}: {members[:5]}")
    return archive.open(members[0])


def _open_zstd(file: IO[bytes]) -> IO[bytes]:
    for module in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            opened: IO[bytes] = importlib.import_module(module).ZstdFile(file, mode="rb")
            return opened
    what, install = "reading files of Zstandard", "backports.zstd"
    library = import_extra("zstandard", what, install)
    reader: IO[bytes] = library.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return reader


_START_BYTES = 16
COMPRESSED: dict[str, tuple[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    "gzip": (rb"\x1f\x8b", _open_gzip),
    "bzip2": (rb"BZh[1-9]1AY&SY", _open_bzip2),
    "xz": (rb"\xfd7zXZ\x00", _open_xz),
    "Zstandard": (rb"\x28\xb5\x2f\xfd", _open_zstd),
    "zip": (rb"PK\x03\x04", _open_zip),
}
"""Of each way to compress files the pattern of their first bytes and how they are opened."""
COMPRESSED_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""What the names of compressed files end in."""


class _UnpackedFile(io.RawIOBase):
    """The content of a compressed file, up to a length that depends on that of the file."""

    def __init__(
        self, file: IO[bytes], opener: Callable[[IO[bytes]], IO[bytes]], name: str, length: int
    ) -> None:
        self._file, self._name = file, name
        try:
            self._content = opener(file)
        except _DAMAGES as error:
            raise self._error(error) from error
        self._left = max(FREE_PACKED_BYTES, MAX_PACKED_RATIO * length)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            n_read = self._content.readinto(buffer)  # type: ignore[attr-defined]
        except Exception as error:
            # Libraries of Zstandard have errors of their own.
            if isinstance(error, _DAMAGES) or "Zstd" in type(error).__name__:
                raise self._error(error) from error
            raise
        self._left -= n_read
        if self._left < 0:
            raise DataFileError(
                f"the {self._name} data becomes more than {MAX_PACKED_RATIO} times as long; "
                "priorwise.common.files.MAX_PACKED_RATIO sets that limit"
            )
        return int(n_read)

    def close(self) -> None:
        if not self.closed:
            self._content.close()
            self._file.close()
        super().close()

    def _error(self, error: Exception) -> DataFileError:
        if isinstance(error, DataFileError):
            return error
        return DataFileError(f"the {self._name} data is damaged ({error})")


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
