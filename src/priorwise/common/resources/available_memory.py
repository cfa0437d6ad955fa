"""How much memory the machine, or the container, has left."""

from __future__ import annotations

import os
from pathlib import Path


def measure_available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may still take; None if the system does not say.

    On Linux, the least of what the machine has available and what the control groups of the process
    allow; on other systems the memory of the machine. `root` holds the folders proc and sys.
    """
    rooms = [_read_machine(root), *map(_read_group, _list_groups(root))]
    known = [room for room in rooms if room is not None]
    return max(0, min(known)) if known else None


def _read_machine(root: Path) -> int | None:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _list_groups(root: Path) -> list[Path]:
    """Return the folders of the control groups of the process (version 2), then those above."""
    top = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        if line.startswith("0::/"):
            group = top / line[4:]
            return [folder for folder in (group, *group.parents) if folder.is_relative_to(top)]
    return [top]


def _read_group(folder: Path) -> int | None:
    """Return what a control group allows besides what its processes take; None for no limit."""
    limit, taken = _read(folder / "memory.max").strip(), _read(folder / "memory.current").strip()
    if not (limit.isdigit() and taken.isdigit()):
        return None
    statistics = dict(line.split(None, 1) for line in _read(folder / "memory.stat").splitlines())
    # Pages of files that nothing uses are given back when memory is short.
    return int(limit) - int(taken) + int(statistics.get("inactive_file", 0))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
