"""Print the oldest supported version of each required dependency, as requirements of pip."""

import re
import tomllib
from pathlib import Path


def oldest_versions(project: Path) -> list[str]:
    """Requirements such as ``numpy==1.26.*``, from the lower bounds in pyproject.toml."""
    dependencies = tomllib.loads(project.read_text())["project"]["dependencies"]
    bounds = [re.fullmatch(r"([\w-]+)>=([\d.]+)", text) for text in dependencies]
    if None in bounds:
        raise ValueError(f"dependencies need a lower bound and nothing else, got {dependencies}")
    return [f"{bound[1]}=={bound[2]}.*" for bound in bounds if bound]


if __name__ == "__main__":
    print("\n".join(oldest_versions(Path(__file__).parents[1] / "pyproject.toml")))
