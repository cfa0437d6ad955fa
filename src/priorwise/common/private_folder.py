"""Folders that only their owner can use, for files that are read again later."""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from priorwise.common.files import BINARY

_LOCK = "lock"
_PART = ".part"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_AT_FOLDER = os.open in os.supports_dir_fd and os.unlink in os.supports_dir_fd
_HAS_OWNERS = hasattr(os, "geteuid")


class PrivateFolder:
    """A folder with the owner's rights alone, used through one open descriptor.

    A new folder has the mode 0700, and so has an empty one that is taken over; a folder with files
    in it must already belong to the user and must not be writable by others. Its files have the
    mode 0600. They are written under a random name and renamed when they are complete, so a name
    that is there stands for a whole file; if `durable`, it is on the disk when `write` returns.
    Symbolic links are not followed, neither for the folder nor for a file in it. Whoever exchanges
    the folder later has no effect on an open one. Messages call the folder by its `role`.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, role: str = "folder", durable: bool = True
    ) -> None:
        self.path = Path(path)
        self.durable = durable
        self._role = role
        self._lock: int | None = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
        self._folder = self._open_folder()
        try:
            self._check_rights()
        except BaseException:
            self.close()
            raise

    def names(self) -> list[str]:
        """Return the names of the files, sorted; unfinished ones and the lock are left out."""
        found = os.listdir(self.path if self._folder is None else self._folder)
        return sorted(name for name in found if name != _LOCK and not name.endswith(_PART))

    def read(self, name: str) -> bytes:
        """Return the content of a file; links and other than regular files are refused."""
        flags = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | BINARY
        with open(self._open(name, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(f"{self.path / name} must be a regular file")
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file in place of an earlier one of that name, if any."""
        unfinished = f"{secrets.token_hex(8)}{_PART}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | BINARY
        try:
            with open(self._open(unfinished, flags), "wb") as file:
                file.write(content)
                file.flush()
                if self.durable:
                    os.fsync(file.fileno())
            os.replace(
                self._place(unfinished),
                self._place(name),
                **self._at("src_dir_fd"),
                **self._at("dst_dir_fd"),
            )
        except BaseException as error:
            with suppress(OSError):
                self.remove(unfinished)
            if not isinstance(error, OSError):
                raise
            problem = f"{self._role} cannot be written: {error.strerror}"
            raise OSError(error.errno, problem, str(self.path / name)) from error
        if self.durable and self._folder is not None:
            os.fsync(self._folder)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self._place(name), **self._at("dir_fd"))

    def remove_unfinished(self) -> None:
        """Remove files that interrupted work has left half written."""
        for name in os.listdir(self.path if self._folder is None else self._folder):
            if name.endswith(_PART):
                self.remove(name)

    def clear(self) -> None:
        """Remove all files, as far as possible."""
        with suppress(OSError):
            for name in os.listdir(self.path if self._folder is None else self._folder):
                self.remove(name)

    def remove_all(self) -> None:
        """Remove all files and the folder, as far as possible, and close it."""
        self.clear()
        self.close()
        with suppress(OSError):
            os.rmdir(self.path)

    def lock(self) -> None:
        """Keep other processes out until `close`, or until this process ends.

        Raises RuntimeError naming the process that holds the lock; that of a process of this
        computer that has ended is taken over.
        """
        while True:
            descriptor = self._open(_LOCK, os.O_RDWR | os.O_CREAT | _NO_FOLLOW | BINARY)
            try:
                taken = _try_lock(descriptor)
                holder = _read_holder(descriptor)
                here = holder.get("host", socket.gethostname()) == socket.gethostname()
                if taken is None:
                    taken = not _is_alive(holder.get("pid"))
                if not taken or not here:
                    raise RuntimeError(self._describe_holder(holder))
                if not self._is_lock(descriptor):
                    # The last holder has removed the file in between.
                    os.close(descriptor)
                    continue
                about = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
                os.ftruncate(descriptor, 0)
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, json.dumps(about).encode())
            except BaseException:
                os.close(descriptor)
                raise
            self._lock = descriptor
            return

    def close(self) -> None:
        """Let others use the folder; what is in it stays."""
        if self._lock is not None:
            self.remove(_LOCK)
            os.close(self._lock)
            self._lock = None
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def _open_folder(self) -> int | None:
        if self.path.is_symlink() or not self.path.is_dir():
            raise ValueError(
                f"{self._role} must be a folder and no symbolic link, got {str(self.path)!r}"
            )
        if not _AT_FOLDER:
            return None
        return os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW)

    def _check_rights(self) -> None:
        if self._folder is None or not _HAS_OWNERS:
            return
        if os.fstat(self._folder).st_uid != os.geteuid():
            raise ValueError(f"{self._role} must be a folder of your own, got {str(self.path)!r}")
        if not os.listdir(self._folder):
            os.fchmod(self._folder, 0o700)
        mode = stat.S_IMODE(os.fstat(self._folder).st_mode)
        if mode & 0o022:
            raise ValueError(
                f"{self._role} must be a folder that nobody else can write to, got "
                f"{str(self.path)!r} with the mode {mode:o}"
            )

    def _is_lock(self, descriptor: int) -> bool:
        """Whether an open file is still the one that has the name of the lock."""
        try:
            named = os.stat(self._place(_LOCK), follow_symlinks=False, **self._at("dir_fd"))
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(descriptor))

    def _describe_holder(self, holder: dict[str, Any]) -> str:
        since = holder.get("since")
        when = ""
        if isinstance(since, int | float) and 0 <= since < 2**33:
            when = time.strftime(" since %Y-%m-%d %H:%M:%S", time.localtime(since))
        return (
            f"{self._role} {str(self.path)!r} is in use by process {holder.get('pid', '?')} on "
            f"{holder.get('host', 'this computer')}{when}: wait for it, name another folder, or, "
            f"if that process is gone, remove {str(self.path / _LOCK)!r}"
        )

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._place(name), flags, 0o600, **self._at("dir_fd"))

    def _place(self, name: str) -> str:
        if not name or os.sep in name or name in (".", ".."):
            raise ValueError(f"name must be that of a file in the folder, got {name!r}")
        return str(self.path / name) if self._folder is None else name

    def _at(self, parameter: str) -> dict[str, Any]:
        return {} if self._folder is None else {parameter: self._folder}


def _try_lock(descriptor: int) -> bool | None:
    """Lock an open file: False if another process has locked it, None if there are no locks."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _try_lock_on_windows(descriptor: int) -> bool:
    import msvcrt

    # A byte far behind the text, which others may then still read.
    os.lseek(descriptor, 2**30, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


def _is_alive(pid: Any) -> bool:
    if not isinstance(pid, int) or not 0 < pid < 2**31 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def _read_holder(descriptor: int) -> dict[str, Any]:
    """Who has written the lock; nothing is known if it is just being written."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        holder = json.loads(os.read(descriptor, 4096))
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}
