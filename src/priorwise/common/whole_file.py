"""Files that are whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def open_whole(path: Path, content: str) -> Iterator[IO[bytes]]:
    """Open a file for writing; `content` says in errors what is written, such as "the model".

    Bytes go to a hidden file in the same folder, which takes the name when all are safely on the
    disk; after any error, also an interrupt, it is removed, and what had the name before is
    untouched.
    """
    hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(hidden, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, path)
    except OSError as error:
        if error.errno is None:
            raise OSError(f"{path}: {content} cannot be written ({error})") from error
        text = f"{content} cannot be written ({error.strerror})"
        raise OSError(error.errno, text, str(path)) from error
    finally:
        with suppress(OSError):
            hidden.unlink()
