"""Models as one file of C99, for devices without Python."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from priorwise.common.documents import Document
from priorwise.common.files import write_whole
from priorwise.data.tables.label_keys import SPACES
from priorwise.export.assets import read_asset
from priorwise.export.c_arrays import join_items, write_array, write_comment, write_string
from priorwise.export.c_steps import CSteps
from priorwise.export.layout import ExportedModel
from priorwise.export.reading import refuse_texts, require_one_kind, split_columns


def export_c(
    model: Any, path: str | os.PathLike[str] | None = None, *, prefix: str = "model"
) -> str:
    """Write a classifier as a C99 file that needs only the standard library.

    A row begins as ``struct model_row row = model_MISSING_ROW;``, since a number that C sets by
    default is 0, which is not missing. The file has three public names::

        struct model_row { double age; const char *colour; };
        extern const struct model_row model_MISSING_ROW;
        double model_predict_proba(const struct model_row *row, double *proba);

    A row has a double for each numeric column, NAN if missing, for dates the seconds since 1970 in
    UTC, and a text in UTF-8 for each other feature, a null pointer if missing: labels that are
    numbers or booleans are given as text too. A comment says which feature each member is; names
    that are keywords, or have capital letters alone as macros have, begin with ``x_``. The function
    writes one probability for each class, those of `predict_proba` to 1e-9, and returns the
    largest. Where `predict_proba` raises an error, as for an infinite number, all are NAN. It
    allocates nothing and has no state.

    To call it from other files, of C or C++, define ``model_DECLARATIONS`` and include the file:
    only the declarations remain. Link with -lm.

    Parameters
    ----------
    model : classifier
        Any fitted classifier of this library, or a pool of such classifiers.
    path : path, optional
        File to write.
    prefix : str
        Prefix of the public names of the file, a C identifier.

    Returns
    -------
    str
        Text of the file; its bare value shows the beginning only.

    Examples
    --------
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], [0, 0, 1, 1]
    >>> text = export_c(NaiveBayesClassifier().fit(X, y))
    >>> "double model_predict_proba(const struct model_row *row, double *proba);" in text
    True
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", prefix):
        raise ValueError(f"prefix must be a C identifier, got {prefix!r}")
    exported = ExportedModel(model)
    require_one_kind(exported, "C")
    refuse_texts(exported, "C")
    writer = CSteps(exported, prefix)
    last = writer.add_step(exported.step)
    reading = writer.add_reading()
    code = "\n".join([*writer.bodies, *reading])
    text = "\n".join(
        [
            *_declare(exported, prefix, writer.fields),
            # At every level one part is taken from the stack and at most two are put back.
            f"enum {{ SOFT_STACK = {writer.soft_depth + 2}, MAX_LEVELS = {writer.max_levels} }};\n",
            f"typedef {writer.rank_type} rank_t;\n" if writer.rank_type else "",
            *choose_sections(code),
            *writer.lines,
            _PREDICT.format(
                prefix=prefix,
                n_readers=len(exported.readers),
                answer=_answer(exported, last),
                reading="\n".join(reading),
            ),
            f"#endif /* {prefix}_DECLARATIONS */\n",
        ]
    )
    if path is not None:
        write_whole(path, "the C file", text)
    return Document(text, path)


_PREFETCH = """
/* Asks for memory that is read soon. */
#ifdef __GNUC__
#define PREFETCH(place) __builtin_prefetch(place)
#else
#define PREFETCH(place) ((void)(place))
#endif
"""

_PREDICT = """
double {prefix}_predict_proba(const struct {prefix}_row *row, double *proba)
{{
    double x[{n_readers}][N_FEATURES], largest;
    int is_good = 1, y;
{reading}
    if (!is_good) {{
        for (y = 0; y < N_CLASSES; ++y) proba[y] = NAN;
        return NAN;
    }}
{answer}
    largest = proba[0];
    for (y = 1; y < N_CLASSES; ++y)
        if (proba[y] > largest) largest = proba[y];
    return largest;
}}
"""


_BLANK = """    {{
        static const double blank[] = {shares};
        static const unsigned char has_code[] = {has_code};
        int i = 0;
        while (i < {n_columns} && (has_code[i] ? x[0][i] < 0.0 : x[0][i] != x[0][i])) ++i;
        if (i == {n_columns})
            for (y = 0; y < N_CLASSES; ++y) proba[y] = blank[y];
        else
            {step}
    }}"""


def _answer(model: ExportedModel, step: int) -> str:
    """Return the code that sets `proba`: to the shares of the classes if nothing is known."""
    call = f"step_{step}((const double (*)[N_FEATURES])x, proba);"
    if model.blank_proba is None:
        return f"    {call}"
    codes, n_columns = split_columns(model)[0], len(model.columns)
    has_code = np.isin(np.arange(n_columns), codes).astype(int)
    return _BLANK.format(
        shares=write_array(model.blank_proba, 0), has_code=write_array(has_code, 0),
        n_columns=n_columns, step=call,
    )  # fmt: skip


def _declare(model: ExportedModel, prefix: str, members: list[str]) -> Iterable[str]:
    n_columns, n_classes = len(model.columns), len(model.classes)
    yield "/* Class probabilities of rows, written by priorwise."
    yield f"   Begin each row with `struct {prefix}_row row = {prefix}_MISSING_ROW;`. Without it, a"
    yield "   number that is not set is 0, which is a value and not missing."
    yield from (f"   class {k}: {write_comment(label)}" for k, label in enumerate(model.classes))
    yield "*/"
    yield f"#ifndef {prefix}_ROW\n#define {prefix}_ROW"
    yield f"enum {{ {prefix}_N_FEATURES = {n_columns}, {prefix}_N_CLASSES = {n_classes} }};\n"
    yield f"struct {prefix}_row {{"
    for rules, member in zip(model.readers[0], members, strict=False):
        kind, of_date = "const char *" if rules.is_nominal else "double ", ""
        if rules.form is not None:
            of_date = ", in seconds since 1970"
        yield f"    {kind}{member}; /* {write_comment(rules.name)}{of_date} */"
    yield "};\n"
    yield '#ifdef __cplusplus\nextern "C" {\n#endif'
    yield f"extern const struct {prefix}_row {prefix}_MISSING_ROW;"
    yield f"double {prefix}_predict_proba(const struct {prefix}_row *row, double *proba);"
    yield "#ifdef __cplusplus\n}\n#endif\n#endif\n"
    yield f"#ifndef {prefix}_DECLARATIONS"
    yield "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
    n_features = len(model.features)
    yield f"enum {{ N_FEATURES = {n_features}, N_CLASSES = {n_classes} }};\n"
    missing = ["0" if rules.is_nominal else "NAN" for rules in model.readers[0][:n_columns]]
    yield f"const struct {prefix}_row {prefix}_MISSING_ROW = {join_items(missing)};"
    yield _PREFETCH


def choose_sections(calls: str) -> list[str]:
    """Return the parts of the fixed C code whose functions are called, also by other parts."""
    code = "".join(map(read_asset, ("values.c", "dates.c", "trees.c", "networks.c", "linear.c")))
    code = code.replace("{SPACES}", join_items([write_string(one.encode()) for one in SPACES]))
    chosen: list[str] = []
    # Parts call functions of those before them.
    for text in re.split(r"^/\* == .+ == \*/\n", code, flags=re.MULTILINE)[:0:-1]:
        names = re.findall(r"^static [^=;]*?(\w+)\(", text, flags=re.MULTILINE)
        if any(re.search(rf"\b{name}\(", calls) for name in names):
            chosen.insert(0, text.strip("\n") + "\n")
            calls += text
    return chosen
