"""Tables of the page of results that show the flagship beside other libraries."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np


def draw_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def describe_foundation_models(path: Path) -> list[str]:
    """Log-loss of the flagship beside the published figures of foundation models."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = ["priorwise", "TabPFN-3", "TabPFN-2.5"]
    losses = np.array([[float(row[name]) for name in names] for row in rows])
    won = [int((losses[:, 0] < losses[:, i]).sum()) for i in (1, 2)]
    body = [
        [row["dataset"], f"{int(row['rows']):,}", *(f"{loss:.4f}" for loss in own), row["seconds"]]
        for row, own in zip(rows, losses, strict=True)
    ]
    body.append(["mean", "", *(f"{loss:.4f}" for loss in losses.mean(axis=0)), ""])
    return [
        "## The flagship beside foundation models",
        "",
        "Log-loss of the flagship, mean over five stratified splits into 80 % to learn from and",
        "20 % to judge by, beside the published log-loss of two foundation models on one such",
        "split, whose rows are not known. So single data sets differ by chance, and the splits are",
        f"not the same. The flagship is lower than TabPFN-3 on {won[0]} of the {len(rows)} data",
        f"sets and lower than TabPFN-2.5 on {won[1]}. Seconds are those of one fit of the flagship",
        "on one processor core. Written by `benchmarks/foundation_models.py`.",
        "",
        *draw_table(["data set", "rows", *names, "seconds"], body),
    ]


def describe_equal_time(path: Path) -> list[str]:
    """The flagship beside boosting libraries that search for as long as it learns."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    models = list(dict.fromkeys(row["model"] for row in rows))
    names = list(dict.fromkeys(row["set"] for row in rows))
    cell = {(row["set"], row["model"]): row for row in rows}
    loss = np.array([[float(cell[name, m]["log_loss"]) + 1e-3 for m in models] for name in names])
    ratio, won = np.exp(np.log(loss[:, :1] / loss).mean(axis=0)), (loss[:, :1] < loss).sum(axis=0)
    compared = "; ".join(
        f"{model} {ratio[i]:.3f}, lower on {won[i]} of {len(names)}"
        for i, model in enumerate(models)
        if i > 0
    )
    body = [
        [name, f"{int(cell[name, models[0]]['rows']):,}",
         *(f"{float(cell[name, m]['rmse']):.4f} / {float(cell[name, m]['log_loss']):.4f}"
           for m in models),
         ", ".join(f"{float(cell[name, m]['fit']):.1f}" for m in models),
         ", ".join(f"{float(cell[name, m]['predict']):.2f}" for m in models)]
        for name in names
    ]  # fmt: skip
    return [
        "## The flagship beside boosting libraries with the same time",
        "",
        "Each data set is split once, 70 % of the rows to learn from. XGBoost and LightGBM search",
        "for settings at random within the time that the flagship takes to learn, one setting at",
        "least; CatBoost has 1,000 rounds and its defaults, whatever time that takes. RMSE and",
        "log-loss of the other rows; seconds to fit and to predict them, in the order of the",
        "models, with two threads.",
        "Geometric means of the ratios of the flagship's log-loss to the others', 0.001 added to",
        f"each: {compared}. Written by `benchmarks/equal_time.py`.",
        "",
        *draw_table(["data set", "rows", *models, "fit, s", "predict, s"], body),
    ]
