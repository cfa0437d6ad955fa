"""How one value of a feature is read, as tables that programs without this library can follow."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import MAX_WHOLE_NUMBER
from priorwise.data.tables.column_kinds import choose_columns
from priorwise.data.tables.label_keys import as_float, is_number, label_key

if TYPE_CHECKING:
    from priorwise.data.encoding.encoder import TableEncoder


@dataclass
class ValueRules:
    """The number that each value of a feature is read as.

    A text, without spaces around it, is first looked up by its key (`label_key`): in `booleans` if
    it is the word for a boolean, in `numbers` if it is how Python writes a number, else in `texts`.
    A value that no table has is `unknown` for a nominal feature; a number stands for itself in a
    numeric one, and so does a text that means a number (`parse_number`). `missing` is what missing
    values are read as, NaN if a numeric feature does not replace them. With `refuses_unknown` a
    value that is read as -1 or NaN is an error. Other texts of a numeric feature are an error too,
    or missing with `ignores_texts`. A feature that `is_ordered` is looked up as a nominal one, and
    its codes are ranks: -1, which is all that is refused, becomes `missing`.

    `source` is the column that the value stands in. One of dates has the `form` that they have as
    texts, and is read as seconds since 1970; a feature that is a `part` of a date is what
    `take_part` makes of these seconds. One of the form `TEXT` is read as its number of words, and a
    feature that is a `part` of it as 1 if that word or piece of a word is among them, else 0; with
    `scores` it is the sum of those of the `words` of the text (`WordScores`), by fold.
    """

    name: str
    is_nominal: bool
    missing: float
    refuses_unknown: bool = False
    ignores_texts: bool = False
    is_ordered: bool = False
    unknown: float = -1
    source: int = 0
    form: str | None = None
    part: str | None = None
    words: list[str] = field(default_factory=list)
    scores: NDArray[np.int32] | None = None
    texts: dict[str, float] = field(default_factory=dict)
    numbers: dict[float, float] = field(default_factory=dict)
    booleans: dict[bool, float] = field(default_factory=dict)

    def add(self, key: Hashable, value: float) -> None:
        """Add the value of a key; raise ValueError unless it is of a text, number or boolean."""
        if isinstance(key, str):
            self.texts[key] = value
        elif isinstance(key, tuple) and key[:1] == (bool,):
            self.booleans[bool(key[1])] = value
        elif isinstance(key, Integral) and abs(key) > MAX_WHOLE_NUMBER:
            raise ValueError(
                f"labels of column {self.name!r} must be at most 2**53 to be used as numbers "
                f"outside of Python, where larger ones are rounded, got {key!r}: make them texts"
            )
        elif is_number(key) and math.isfinite(as_float(key)):
            self.numbers[as_float(key)] = value
        else:
            raise ValueError(
                f"labels of column {self.name!r} must be texts, numbers or booleans to be used "
                f"outside of Python, got {key!r}"
            )

    def spell_keys(self) -> dict[str, float]:
        """Return the codes of a nominal feature by text, with one text for each number and boolean.

        Whole numbers are written without a fraction. Numbers that no text can mean are left out.
        """
        spelt = dict(self.texts)
        for number, code in self.numbers.items():
            text = np.format_float_positional(number, trim="-")
            if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", text):
                spelt["0" if number == 0.0 else text] = code
        for boolean, code in self.booleans.items():
            spelt[str(boolean)] = code
        return spelt


def describe_reading(encoder: TableEncoder, names: tuple[str, ...]) -> list[ValueRules]:
    """Return how a fitted encoder reads the values of each feature; `names` are the features'."""
    impute, strict = encoder.missing == "impute", encoder.unseen == "error"
    if strict and encoder.ignores_missing:
        raise ValueError("unseen='error' with missing='ignore' has no rules outside of Python")
    n_columns = encoder.n_features_in_
    ignores_texts = choose_columns(
        "numeric_features", encoder.numeric_features, n_columns, encoder.column_names
    )
    categories, numeric = iter(encoder.categories_), iter(range(len(encoder.cut_points_)))
    result = []
    for i, nominal in enumerate(encoder.is_nominal_.tolist()):
        if nominal:
            labels = next(categories)
            missing: float = labels.mode_code if impute and labels.labels else labels.missing_code
            unknown = labels.unknown_code
            rules = ValueRules(names[i], True, missing, strict, unknown=unknown, source=i)
            known = [label_key(label) for label in labels.labels if label is not None]
            for key in [*known, *encoder.marks, (bool, False), (bool, True), 0.0, 1.0]:
                code = labels.find(key, int(missing))
                if code != unknown or key in labels:
                    rules.add(key, code)
            result.append(rules)
            continue
        at = next(numeric)
        missing = encoder.means_[at] if impute else np.nan
        if i in encoder.forms_ or i >= n_columns:
            source, part = encoder.parts_[i - n_columns] if i >= n_columns else (i, None)
            form = encoder.forms_[source]
            strict_here = strict and not impute and not encoder.missing_seen_[at]
            rules = ValueRules(
                names[i], False, missing, strict_here, source=source, form=form, part=part
            )
            sums = encoder.scores_.get(source)
            if sums is not None and part in sums.names:
                rules.words, rules.scores = sums.words, sums.table[sums.names.index(part)]
            for key in encoder.marks:
                if isinstance(key, str):
                    rules.add(key, np.nan)
            result.append(rules)
            continue
        strict_here = strict and not impute and not encoder.missing_seen_[at]
        order = encoder.orders_.get(i)
        if order is None:
            texts_are_missing = bool(ignores_texts[i]) or (encoder.held_texts(i) and not strict)
            rules = ValueRules(names[i], False, missing, strict_here, texts_are_missing, source=i)
            for key in encoder.marks:
                rules.add(key, missing)
        else:
            missing = -1.0 if strict_here else missing
            rules = ValueRules(names[i], True, missing, strict, is_ordered=True, source=i)
            known = [label_key(label) for label in order.labels]
            for key in [*encoder.marks, *known, (bool, False), (bool, True), 0.0, 1.0]:
                code = order.find(key, -1)
                if code >= 0 or key in encoder.marks:
                    rules.add(key, code if code >= 0 else missing)
        result.append(rules)
    return result
