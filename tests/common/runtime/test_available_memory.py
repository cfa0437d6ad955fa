"""How much memory the machine or the container has left."""

from pathlib import Path

import pytest

from priorwise.common.runtime import measure_available_memory


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MACHINE = {"proc/meminfo": "MemTotal: 9000 kB\nMemFree: 100 kB\nMemAvailable: 4000 kB\n"}


def test_the_machine_says_what_is_available(tmp_path: Path) -> None:
    assert measure_available_memory(write(tmp_path, MACHINE)) == 4000 * 1024


@pytest.mark.parametrize("folder", ["", "job/", "job/part/"])
def test_a_control_group_of_the_process_or_above_it_allows_less(
    tmp_path: Path, folder: str
) -> None:
    files = {
        "proc/self/cgroup": "0::/job/part\n",
        f"sys/fs/cgroup/{folder}memory.max": "1000000\n",
        f"sys/fs/cgroup/{folder}memory.current": "700000\n",
        f"sys/fs/cgroup/{folder}memory.stat": "anon 500000\ninactive_file 200000\n",
    }
    assert measure_available_memory(write(tmp_path, MACHINE | files)) == 500_000


def test_a_control_group_without_a_limit_or_of_another_process_changes_nothing(
    tmp_path: Path,
) -> None:
    files = {
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/memory.max": "max\n",
        "sys/fs/cgroup/job/memory.current": "700000\n",
        "sys/fs/cgroup/other/memory.max": "1000\n",
        "sys/fs/cgroup/other/memory.current": "700\n",
    }
    assert measure_available_memory(write(tmp_path, MACHINE | files)) == 4000 * 1024


def test_a_group_above_its_limit_leaves_nothing(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "2000\n"}
    assert measure_available_memory(write(tmp_path, MACHINE | files)) == 0


def test_this_machine_has_memory_left() -> None:
    available = measure_available_memory()
    assert available is None or available > 0
