"""States of passes kept in a folder, so that interrupted work is continued and not repeated."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.common.private_folder import PrivateFolder
from priorwise.common.runtime import warn_user
from priorwise.data.sources import Source
from priorwise.streaming.states import STATES

BATCHES_BETWEEN_SAVES = 16
_ABOUT = "about.safetensors"

find_version = cache(version)  # reads the files of the package


@dataclass(frozen=True)
class Saved:
    """A merged state, the number of batches and rows in it, and whether these are all."""

    title: str  # title of the pass
    state: Any
    n_batches: int
    n_rows: int
    complete: bool  # whether the source has no further batch
    # number of rows of each partition, where the source has partitions
    lengths: dict[int, int] | None = None


class Checkpoint:
    """The merged state of each pass, saved while it grows and when it is complete.

    The files are containers (`priorwise.common.container`) in a folder that only its owner can use,
    and a lock keeps a second process out. What happens between passes follows from their results,
    so the model of resumed work is that of work that was never interrupted. A file that is damaged
    is recognised by its digest, and its pass is done again.

    The folder is made if necessary. It must be empty or hold interrupted work of the same
    `identity`, a digest of data and parameters, and by the same version of this library; `finish`
    leaves it empty. The `seed` and the `plan`, the sizes that a memory limit allows, of interrupted
    work replace the given ones, and `cache_name` is a random name by which resumed work finds the
    folder of coded rows again.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, identity: str, seed: int, plan: Sequence[int]
    ) -> None:
        self._folder = PrivateFolder(folder, role="checkpoint")
        try:
            self._folder.lock()
            self._folder.remove_unfinished()
            about: dict[str, Any] = {
                "identity": identity,
                "version": find_version("priorwise"),
                "seed": seed,
                "plan": list(plan),
                "cache": f"rows-{secrets.token_hex(8)}",
            }
            if _ABOUT in self._folder.names():
                about = self._check_about(about)
            elif self._folder.names():
                raise ValueError(
                    f"checkpoint must be an empty folder or one of interrupted work, got "
                    f"{str(self._folder.path)!r} with other files in it"
                )
            else:
                self._folder.write(_ABOUT, to_bytes(about, kind="checkpoint"))
        except BaseException:
            self._folder.close()
            raise
        self.seed: int = about["seed"]
        self.plan: list[int] = about["plan"]
        self.cache_name: str = about["cache"]

    def load(self, number: int, title: str) -> Saved | None:
        """Read what is saved of a pass:

        None if nothing is, or, with a warning, if the file is damaged.
        """
        name = _file_name(number)
        if name not in self._folder.names():
            return None
        path = str(self._folder.path / name)
        try:
            content = self._folder.read(name)
            fields = from_bytes(content, kind=_kind(number), states=STATES, source=path)
            return _check_saved(fields, title, path)
        except (ContainerError, OSError) as error:
            warn_user(
                f"a file of the checkpoint is damaged, pass {number + 1} is done again ({error})"
            )
            self._folder.remove(name)
            return None

    def save(self, number: int, saved: Saved) -> None:
        """Save the state of a pass in place of an earlier one."""
        try:
            content = to_bytes(vars(saved), kind=_kind(number), states=STATES)
        except TypeError as error:
            raise TypeError(f"checkpoint cannot hold the labels of these data: {error}") from error
        self._folder.write(_file_name(number), content)

    def finish(self) -> None:
        """Remove what was saved, at the end of the work."""
        for name in self._folder.names():
            if name == _ABOUT or name.startswith("pass-"):
                self._folder.remove(name)

    def close(self) -> None:
        """Let other processes use the folder."""
        self._folder.close()

    def _check_about(self, expected: dict[str, Any]) -> dict[str, Any]:
        path = self._folder.path
        try:
            about = from_bytes(self._folder.read(_ABOUT), kind="checkpoint", source=_ABOUT)
            if not isinstance(about, dict) or {k: type(v) for k, v in about.items()} != {
                k: type(v) for k, v in expected.items()
            }:
                raise ContainerError("the fields are wrong", _ABOUT)
            if len(about["plan"]) != len(expected["plan"]) or not all(
                type(size) is int and size >= 1 for size in about["plan"]
            ):
                raise ContainerError("the plan of memory is wrong", _ABOUT)
            if os.path.basename(about["cache"]) != about["cache"]:
                raise ContainerError("the name of the cache is no name", _ABOUT)
        except (ContainerError, OSError) as error:
            raise ValueError(
                f"checkpoint {str(path)!r} is damaged: remove it to begin again ({error})"
            ) from error
        if about["version"] != expected["version"]:
            raise ValueError(
                f"checkpoint {str(path)!r} holds the work of version {about['version']} of "
                f"priorwise: resume with that version, or name another folder"
            )
        if about["identity"] != expected["identity"]:
            raise ValueError(
                f"checkpoint {str(path)!r} holds the work on other data or with other "
                "parameters or limits: resume with the same ones, or name another folder"
            )
        return about


def _file_name(number: int) -> str:
    return f"pass-{number}.safetensors"


def _kind(number: int) -> str:
    """The kind of a pass's file: that of another pass under its name is refused."""
    return f"state of pass {number + 1}"


def _check_saved(fields: Any, title: str, path: str) -> Saved:
    try:
        saved = Saved(**fields)
        valid = (
            saved.title == title
            and all(type(n) is int and n >= 0 for n in (saved.n_batches, saved.n_rows))
            and type(saved.complete) is bool
            and isinstance(saved.lengths, dict | None)
            and (saved.state is not None or not saved.complete)
        )
    except TypeError:
        valid = False
    if not valid:
        raise ContainerError(f"the file does not hold a state of the pass {title!r}", path)
    return saved


def identify_work(model: Any, source: Source, limits: list[Any]) -> str:
    """Return a digest of all that the states of passes depend on.

    `model` holds the name and the parameters of a model, nested in lists, tuples and dictionaries;
    TypeError if one cannot be identified, such as a function without a name.
    """
    described = [_describe(model), source.fingerprint(), _describe(limits)]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def _describe(value: Any) -> Any:
    """JSON that is equal for equal parameters only."""
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if value is None or isinstance(value, bool | int | str):
        return [name, value]
    if isinstance(value, float):
        return [name, repr(value)]
    if isinstance(value, list | tuple):
        return [name, [_describe(item) for item in value]]
    if isinstance(value, dict):
        return [name, [[_describe(key), _describe(item)] for key, item in value.items()]]
    if isinstance(value, np.random.RandomState):
        return [name, _describe(value.get_state(legacy=True))]
    if isinstance(value, np.ndarray | np.generic):
        return [name, value.dtype.str, _describe(value.tolist())]
    if hasattr(value, "get_params"):
        # The parameters of an estimator are listed by their own names.
        return [name]
    if is_dataclass(value) and not isinstance(value, type):
        return [name, [_describe(getattr(value, field.name)) for field in fields(value)]]
    if isinstance(value, type) or inspect.isroutine(value):
        place = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', '<')}"
        if "<" not in place:
            return [name, place]
    elif hasattr(value, "tolist"):
        return [name, _describe(value.tolist())]
    raise TypeError(
        f"checkpoint needs parameters that can be identified, got one of type {name}: {value!r:.80}"
    )
