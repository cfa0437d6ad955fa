"""Bayesian networks in files of the Bayesian Network Interchange Format (BIF)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.files import open_data_file, open_whole

MAX_TABLE_CELLS = 16_000_000
"""Most probabilities that one table may have: a short file can declare a long table."""
MAX_PARENTS = 31
"""Most parents of a variable: the table has an axis for each."""
MAX_SUM_ERROR = 0.01
"""A row of probabilities may miss a sum of one by this much; it is then divided by its sum."""
ROUNDING = 1e-9
"""A row whose sum is closer to one than this is taken as it is."""
TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?(?:\*/|\Z)                      # left out
    |property\s(?:"[^"]*(?:"|\Z)|[^;"])*(?:;|\Z)         # left out
    |(?P<quoted>"[^"]*")|(?P<mark>[{}()\[\],;|])|(?P<word>[^\s{}()\[\],;|"]+)""",
    re.VERBOSE | re.DOTALL,
)
PLAIN = re.compile(r"(?!//|/\*|property\b)[^\s{}()\[\],;|\"]+")
"""Names that need no quotation marks."""


class BifError(ValueError):
    """A BIF file that cannot be read; the message names the file, the line and what is wrong."""


@dataclass(frozen=True)
class BifVariable:
    """A variable of a network: its states, its parents and its table.

    The table has one axis for each parent, in their order, and one for the states at the end.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: NDArray[np.float64]


def read_bif_variables(path: str | os.PathLike[str]) -> list[BifVariable]:
    """Read the variables of a BIF file, which may be gzipped, in the order of the file."""
    with open_data_file(path) as file:
        try:
            text = file.read().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BifError(f"{path}: {error}") from error
    return _Parser(text, str(path)).parse()


def write_bif_variables(variables: Sequence[BifVariable], path: str | os.PathLike[str]) -> None:
    """Write variables to a BIF file; the numbers are read back as they are."""
    with open_whole(path, "the network") as file:
        for line in _format_lines(variables):
            file.write(line.encode("utf-8"))


def _format_lines(variables: Sequence[BifVariable]) -> Iterator[str]:
    states = {variable.name: variable.states for variable in variables}
    yield "network unknown {\n}\n"
    for variable in variables:
        listed = ", ".join(map(_quote, variable.states))
        n_states = len(variable.states)
        yield f"variable {_quote(variable.name)} {{\n"
        yield f"  type discrete [ {n_states} ] {{ {listed} }};\n}}\n"
    for variable in variables:
        rows = variable.table.reshape(-1, len(variable.states)).tolist()
        if not variable.parents:
            yield f"probability ( {_quote(variable.name)} ) {{\n"
            yield f"  table {', '.join(map(repr, rows[0]))};\n}}\n"
            continue
        parents = ", ".join(map(_quote, variable.parents))
        yield f"probability ( {_quote(variable.name)} | {parents} ) {{\n"
        contexts = product(*(map(_quote, states[parent]) for parent in variable.parents))
        for context, row in zip(contexts, rows, strict=True):
            yield f"  ({', '.join(context)}) {', '.join(map(repr, row))};\n"
        yield "}\n"


def _quote(name: str) -> str:
    if PLAIN.fullmatch(name):
        return name
    if '"' in name:
        raise ValueError(f"names of a BIF file must have no quotation mark, got {name!r}")
    return f'"{name}"'


class _Parser:
    """One file, token by token."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._place = 0  # where the next token starts
        self._read = 0  # where the last token that was taken ends
        self._token: str | None = None
        self._quoted = False
        self._advance()

    def parse(self) -> list[BifVariable]:
        states: dict[str, tuple[str, ...]] = {}
        tables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
        while self._token is not None:
            word = self._name("a block")
            if word == "network":
                self._skip_block()
            elif word == "variable":
                name, own = self._variable()
                if name in states:
                    raise self._error(f"variable {name!r} is declared twice")
                states[name] = own
            elif word == "probability":
                name, parents, table = self._probability(states)
                if name in tables:
                    raise self._error(f"variable {name!r} has two tables")
                tables[name] = parents, table
            else:
                raise self._error(f"expected network, variable or probability, got {word!r:.40}")
        if not states:
            raise self._error("it has no variable")
        for name in states:
            if name not in tables:
                raise self._error(f"variable {name!r} has no table")
        try:
            TopologicalSorter({name: parents for name, (parents, _) in tables.items()}).prepare()
        except CycleError:
            raise self._error("the variables depend on each other in a circle") from None
        return [BifVariable(name, own, *tables[name]) for name, own in states.items()]

    def _variable(self) -> tuple[str, tuple[str, ...]]:
        name = self._name("a name")
        self._expect("{")
        states: tuple[str, ...] = ()
        while not self._accept("}"):
            if self._name("type") != "type" or self._name("discrete") != "discrete":
                raise self._error(f"variable {name!r} must have a 'type discrete'")
            self._expect("[")
            n_states = self._name("a number of states")
            self._expect("]")
            self._expect("{")
            states = tuple(self._list("}"))
            self._expect(";")
            if n_states != str(len(states)):
                raise self._error(f"variable {name!r} has {len(states)} states, not {n_states!r}")
        if not states or len(set(states)) < len(states):
            raise self._error(f"variable {name!r} must have states, each once")
        return name, states

    def _probability(
        self, states: dict[str, tuple[str, ...]]
    ) -> tuple[str, tuple[str, ...], NDArray[np.float64]]:
        self._expect("(")
        name = self._name("a name")
        parents: tuple[str, ...] = ()
        if self._accept("|"):
            parents = tuple(self._list(")"))
        else:
            self._expect(")")
        for one in (name, *parents):
            if one not in states:
                raise self._error(f"variable {one!r} of a table is not declared before it")
        if len({name, *parents}) <= len(parents):
            raise self._error(f"the table of {name!r} must name each variable once")
        if len(parents) > MAX_PARENTS:
            raise self._error(f"{name!r} must have at most {MAX_PARENTS} parents")
        shape = [len(states[one]) for one in (*parents, name)]
        if math.prod(shape) > MAX_TABLE_CELLS:
            raise self._error(f"the table of {name!r} must have at most {MAX_TABLE_CELLS} cells")
        table = np.full(shape, np.nan)
        places = [{state: i for i, state in enumerate(states[one])} for one in parents]
        default: list[float] | None = None
        self._expect("{")
        while not self._accept("}"):
            if self._accept("("):
                context = self._list(")")
                if len(context) != len(parents):
                    raise self._error(f"a row of {name!r} needs {len(parents)} states")
                for state, place, parent in zip(context, places, parents, strict=True):
                    if state not in place:
                        raise self._error(f"{parent!r} has no state {state!r:.60}")
                at = tuple(place[s] for s, place in zip(context, places, strict=True))
                if not np.isnan(table[at]).all():
                    raise self._error(f"a context of {name!r} is given twice")
                table[at] = self._numbers(shape[-1])
                continue
            word = self._name("a row")
            if word == "table":
                # The variable itself changes slowest, its last parent fastest.
                flat = np.reshape(self._numbers(table.size), [shape[-1], *shape[:-1]])
                table = np.ascontiguousarray(np.moveaxis(flat, 0, -1))
            elif word == "default":
                default = self._numbers(shape[-1])
            else:
                raise self._error(f"expected table, default or a context, got {word!r:.40}")
        if default is not None:
            table[np.isnan(table).any(axis=-1)] = default
        return name, parents, self._normalise(table, name)

    def _normalise(self, table: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        if np.isnan(table).any():
            raise self._error(f"the table of {name!r} lacks contexts")
        sums = table.sum(axis=-1, keepdims=True)
        if (np.abs(sums - 1.0) > MAX_SUM_ERROR).any():
            raise self._error(f"the probabilities of {name!r} must sum to one in each context")
        return np.where(np.abs(sums - 1.0) > ROUNDING, table / sums, table)

    def _numbers(self, n_numbers: int) -> list[float]:
        numbers = []
        for word in self._list(";"):
            try:
                number = float(word)
            except ValueError:
                number = math.nan
            if not 0.0 <= number <= 1.0 + MAX_SUM_ERROR:
                raise self._error(f"expected a probability, got {word!r:.40}")
            numbers.append(number)
        if len(numbers) != n_numbers:
            raise self._error(f"expected {n_numbers} probabilities, got {len(numbers)}")
        return numbers

    def _list(self, end: str) -> list[str]:
        """Read names up to the token `end`; commas between them may be left out."""
        names = [self._name("a name")]
        while not self._accept(end):
            self._accept(",")
            names.append(self._name("a name"))
        return names

    def _skip_block(self) -> None:
        while not self._accept("{"):
            self._name("a name of the network")
        while not self._accept("}"):
            self._require_token()
            self._advance()

    def _name(self, what: str) -> str:
        token = self._require_token()
        if not self._quoted and token in "{}()[],;|":
            raise self._error(f"expected {what}, got {token!r}")
        self._advance()
        return token

    def _accept(self, mark: str) -> bool:
        if self._token != mark or self._quoted:
            return False
        self._advance()
        return True

    def _expect(self, mark: str) -> None:
        token = self._require_token()
        if not self._accept(mark):
            raise self._error(f"expected {mark!r}, got {token!r:.40}")

    def _require_token(self) -> str:
        if self._token is None:
            raise self._error("the file ends too early")
        return self._token

    def _advance(self) -> None:
        self._read = self._place
        while self._place < len(self._text):
            match = TOKEN.match(self._text, self._place)
            if match is None:
                raise self._error("a quotation mark is not closed")
            self._place = match.end()
            if match.lastgroup is not None:
                self._quoted = match.lastgroup == "quoted"
                token: Any = match.group(match.lastgroup)
                self._token = token[1:-1] if self._quoted else token
                return
        self._token = None

    def _error(self, message: str) -> BifError:
        line = self._text.count("\n", 0, self._read) + 1
        return BifError(f"{self._source}, line {line}: {message}")
