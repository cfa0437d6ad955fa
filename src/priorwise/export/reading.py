"""Rules of reading that exports share whose rows are tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

from priorwise.data.encoding.value_rules import ValueRules
from priorwise.data.tables.texts import TEXT
from priorwise.export.layout import ExportedModel


def require_backoff(model: ExportedModel, kind: str) -> None:
    """Raise ValueError if a row may be an error, which tables of rows have no place for."""
    if any(rules.refuses_unknown for reader in model.readers for rules in reader):
        raise ValueError(f"unseen must be 'backoff' to export a model to {kind}, got 'error'")


def refuse_texts(model: ExportedModel, kind: str) -> None:
    """Raise ValueError, which names the column, if one is read as words."""
    for rules in chain(*model.readers):
        if rules.form == TEXT:
            raise ValueError(
                f"column {rules.name!r} is read as words, which {kind} cannot do: use export_json, "
                "or leave the column out or name it in categorical_features before the model learns"
            )


def split_columns(model: ExportedModel) -> tuple[list[int], list[int]]:
    """Return the places of the columns whose codes are -1, and whose numbers are NaN, in a row of
    which nothing is known."""
    columns = model.readers[0][: len(model.columns)]
    has_codes = [rules.is_nominal and not rules.is_ordered for rules in columns]
    places = range(len(columns))
    return [i for i in places if has_codes[i]], [i for i in places if not has_codes[i]]


def require_one_kind(model: ExportedModel, kind: str) -> None:
    """Raise ValueError, which names the column, if some members of a pool read it as labels and
    others as numbers, where a column must have one type."""
    for rules in zip(*model.readers, strict=True):
        if len({one.is_nominal for one in rules}) > 1:
            raise ValueError(
                f"column {rules[0].name!r} is read as labels by some members of the pool and as "
                f"numbers by others, but must have one type in {kind}: give the pool and all "
                "members the same categorical_features and ordinal_features"
            )


SURROGATES = r"\ud800-\udfff"
"""Halves of characters, which are no characters of their own in UTF-8."""


def refuse_labels(rules: ValueRules, kind: str, letters: str) -> None:
    """Raise ValueError, which names the column, if a label has one of these letters."""
    for text in rules.texts:
        if re.search(f"[{letters}]", text):
            raise ValueError(
                f"{kind} cannot have the label {text!r} of column {rules.name!r}: replace it "
                "before the model learns"
            )


def spell_labels(rules: ValueRules) -> dict[str, float]:
    """Return the codes of a nominal feature by all texts that programs write for its labels."""
    return {text: code for key, code in rules.spell_keys().items() for text in _list_spellings(key)}


def _list_spellings(key: str) -> tuple[str, ...]:
    if re.fullmatch(r"-?\d{1,15}", key):
        return (key, f"{key}.0") if key != "0" else ("0", "0.0", "-0", "-0.0")
    return (key, key.lower(), key.upper()) if key in ("True", "False") else (key,)


def write_code(code: float, write_number: Callable[[float], str]) -> str:
    """Return the code of a label, without a fraction if it is a whole number."""
    return str(int(code)) if float(code).is_integer() else write_number(code)
