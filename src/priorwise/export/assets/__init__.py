"""The fixed parts of exports, in C and JavaScript."""

from importlib.resources import files


def read_asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
