"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

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
