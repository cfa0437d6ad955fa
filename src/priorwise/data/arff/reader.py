"""ARFF files, the format of Weka and OpenML."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.files import DataFileError, open_data_file, unpack
from priorwise.common.runtime import import_extra
from priorwise.common.texts import count
from priorwise.common.validation import check_choice
from priorwise.data.arff.syntax import ArffError, Attribute, parse_attribute, read_rows

FRAME_KINDS = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, repr=False)
class ArffData:
    """The content of an ARFF file, one array per attribute.

    Parameters
    ----------
    relation : str
        Name of the relation.
    attributes : tuple of Attribute
        Names, kinds and declared categories of the attributes.
    columns : tuple of arrays
        Values of each attribute: float64 with NaN if numeric, int32 codes of its categories with
        -1 for missing values if nominal, objects with None if text or dates.
    weights : array or None
        Weights of the rows, or None if no row has a weight.

    Examples
    --------
    >>> from io import StringIO
    >>> text = "@relation r\\n@attribute a {x,y}\\n@attribute b real\\n@data\\ny,?"
    >>> data = read_arff(StringIO(text))
    >>> data.names, data.n_rows
    (('a', 'b'), 1)
    """

    relation: str
    attributes: tuple[Attribute, ...]
    columns: tuple[NDArray[Any], ...]
    weights: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        n_rows = count(len(self.columns[0]) if self.columns else 0, "row")
        return f"<ArffData {self.relation!r:.60}, {n_rows}, {len(self.attributes)} attributes>"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    @hook
    def index(self, attribute: str | int) -> int:
        """Find the position, from 0, of an attribute by its name or index."""
        if isinstance(attribute, str):
            if attribute not in self.names:
                raise ValueError(f"attribute must be one of {list(self.names)}, got {attribute!r}")
            return self.names.index(attribute)
        if not -len(self.names) <= attribute < len(self.names):
            raise ValueError(f"attribute must index {len(self.names)} attributes, got {attribute}")
        return attribute % len(self.names)

    def values(self, attribute: str | int) -> NDArray[Any]:
        """Return one column as values.

        Parameters
        ----------
        attribute : str or int
            Name or index of the attribute.

        Returns
        -------
        array of shape (n_rows,)
            Numbers with NaN, or objects with None for missing values.
        """
        j = self.index(attribute)
        if self.attributes[j].kind != "nominal":
            return self.columns[j]
        # The code -1 of a missing value picks the None at the end.
        return np.array([*(self.attributes[j].categories or ()), None], dtype=object)[
            self.columns[j]
        ]

    def to_frame(self, kind: str = "pandas", attributes: Sequence[int] | None = None) -> Any:
        """Return the rows as a frame, in which nominal columns are categorical.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"}
            Library of the frame.
        attributes : sequence of int, optional
            Positions of the columns; by default all.

        Returns
        -------
        frame
            The rows.
        """
        check_choice("kind", kind, FRAME_KINDS)
        chosen = range(len(self.attributes)) if attributes is None else attributes
        extra = "arrow" if kind == "pyarrow" else kind
        library = import_extra(kind, f"to_frame({kind!r})", f"priorwise[{extra}]")
        build = {"pandas": _pandas_column, "polars": _polars_column, "pyarrow": _arrow_column}[kind]
        columns = {
            self.names[j]: build(library, self.attributes[j], self.columns[j]) for j in chosen
        }
        if kind == "pyarrow":
            return library.table(columns)
        return library.DataFrame(columns)

    def to_X_y(  # noqa: N802
        self, target: str | int = -1, kind: str = "auto", missing_target: str = "error"
    ) -> tuple[Any, NDArray[Any]]:
        """Return features and target.

        Parameters
        ----------
        target : str or int
            Name or index of the target; by default the last attribute.
        kind : {"auto", "pandas", "polars", "pyarrow", "numpy"}
            Library of the frame, or "numpy" for an array of objects. "auto" is the first library
            that is installed, else "numpy".
        missing_target : {"error", "drop"}
            What to do with rows without a target: raise, or leave them out.

        Returns
        -------
        X : frame or array
            All other attributes.
        y : array of shape (n_rows,)
            Values of the target.

        Examples
        --------
        >>> import io
        >>> text = "@relation r\\n@attribute a real\\n@attribute c {x,y}\\n@data\\n1,x\\n2.5,y"
        >>> X, y = read_arff(io.StringIO(text)).to_X_y(kind="numpy")
        >>> X.tolist(), y.tolist()
        ([[1.0], [2.5]], ['x', 'y'])
        """
        check_choice("missing_target", missing_target, ("error", "drop"))
        j = self.index(target)
        features = [i for i in range(len(self.attributes)) if i != j]
        y = self.values(j)
        present = np.array([value is not None and value == value for value in y], dtype=bool)
        if not present.all():
            if missing_target == "error":
                n_missing = int((~present).sum())
                raise ValueError(f"target {self.names[j]!r} is missing in {n_missing} rows")
            columns = tuple(column[present] for column in self.columns)
            return replace(self, columns=columns, weights=None).to_X_y(j, kind)
        if kind == "auto":
            kind = choose_frame_kind(FRAME_KINDS, "numpy")
        if kind == "numpy":
            X = np.empty((self.n_rows, len(features)), dtype=object)
            for position, i in enumerate(features):
                X[:, position] = self.values(i)
            return X, y
        return self.to_frame(kind, features), y


def read_arff(source: str | os.PathLike[str] | IO[str] | IO[bytes]) -> ArffData:
    """Read an ARFF file, plain or gzipped, from a path or an open file.

    Dense and sparse rows, quoted values, comments, missing values (a bare ``?``) and weights are
    read. In a sparse row, attributes that are not listed are zero or have the first category. Lines
    of commas alone are skipped. The text is UTF-8, or else Latin-1. Relational attributes are not
    supported.

    Parameters
    ----------
    source : path or open file
        The file, plain or gzipped.

    Returns
    -------
    ArffData
        Its content.

    Raises
    ------
    ArffError
        If the file is not ARFF; the error names the file and the line.

    Examples
    --------
    >>> import io
    >>> text = '''@relation weather
    ... @attribute outlook {sunny, 'light rain'}
    ... @attribute wind numeric
    ... @data
    ... 'light rain', 3.5
    ... ?, 2'''
    >>> data = read_arff(io.StringIO(text))
    >>> data.names, data.columns[1].tolist(), data.values("outlook").tolist()
    (('outlook', 'wind'), [3.5, 2.0], ['light rain', None])
    """
    text, name = _read_text(source)
    # Not str.splitlines, which also breaks at characters that may stand inside a value.
    lines = io.StringIO(text, newline=None).read().split("\n")
    relation, attributes, first = read_header(lines, name)
    # Line numbers start at one, and the list of lines at zero.
    columns, weights = read_rows(lines[first:], attributes, first_line=first + 1, source=name)
    return ArffData(relation, tuple(attributes), tuple(columns), weights)


def _read_text(source: str | os.PathLike[str] | IO[str] | IO[bytes]) -> tuple[str, str]:
    name = str(source if isinstance(source, str | os.PathLike) else getattr(source, "name", ""))
    try:
        if isinstance(source, str | os.PathLike):
            file = open_data_file(source)
        else:
            content = source.read()
            if isinstance(content, str):
                return content, name
            file = unpack(io.BytesIO(content))
        with file:
            text = file.read()
    except DataFileError as error:
        raise ArffError(str(error), name) from error
    try:
        return text.decode("utf-8-sig"), name
    except UnicodeDecodeError:
        return text.decode("latin-1"), name


def read_header(lines: Iterable[str], source: str) -> tuple[str, list[Attribute], int]:
    """Relation, attributes, and the index of the first line of data."""
    relation, attributes, names = "", [], set()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text[0] == "%":
            continue
        keyword, rest = (*text.split(maxsplit=1), "")[:2]
        if keyword.lower() == "@relation":
            relation = rest.strip().strip("'\"")
        elif keyword.lower() == "@attribute":
            try:
                attribute = parse_attribute(rest)
            except ArffError as error:
                raise ArffError(error.problem, source, number) from None
            if attribute.name in names:
                raise ArffError(
                    f"attribute {attribute.name[:60]!r} is declared twice", source, number
                )
            names.add(attribute.name)
            attributes.append(attribute)
        elif keyword.lower() == "@data":
            if not attributes:
                raise ArffError("there is no @attribute before @data", source, number)
            return relation, attributes, number
        else:
            raise ArffError(
                f"expected @relation, @attribute or @data, got {text[:60]!r}", source, number
            )
    raise ArffError("there is no @data line", source)


def choose_frame_kind(
    kinds: Sequence[str] = ("pyarrow", "polars", "pandas"), default: str = "pyarrow"
) -> str:
    """The first of these libraries that is installed."""
    found = (kind for kind in kinds if importlib.util.find_spec(kind) is not None)
    return next(found, default)


def _pandas_column(pandas: Any, attribute: Attribute, column: NDArray[Any]) -> Any:
    if attribute.kind == "nominal":
        categories = pandas.Index(list(attribute.categories or ()), dtype=object)
        return pandas.Categorical.from_codes(column, categories=categories)
    return column


def _polars_column(polars: Any, attribute: Attribute, column: NDArray[Any]) -> Any:
    if attribute.kind == "nominal":
        categories = list(attribute.categories or ())
        words = np.array([*categories, None], dtype=object)[column]
        return polars.Series(words.tolist(), dtype=polars.Enum(categories))
    if attribute.kind == "numeric":
        return polars.Series(column, nan_to_null=True)
    return polars.Series(column.tolist(), dtype=polars.String)


def _arrow_column(pyarrow: Any, attribute: Attribute, column: NDArray[Any]) -> Any:
    if attribute.kind == "nominal":
        codes = pyarrow.array(column, mask=column < 0)
        dictionary = pyarrow.array(list(attribute.categories or ()), type=pyarrow.string())
        return pyarrow.DictionaryArray.from_arrays(codes, dictionary)
    if attribute.kind == "numeric":
        return pyarrow.array(column, mask=np.isnan(column))
    return pyarrow.array(column.tolist(), type=pyarrow.string())
