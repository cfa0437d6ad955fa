"""Do networks learn from data that does not fit in memory: the same model, quickly, in bounds?

    python benchmarks/scale.py --folder SCRATCH [--bars 1,2,3,4] [--rows 1000000,10000000]
                               [--rival-rows 1000000,10000000] [--data LARGE_ARFF_FOLDER]
    python benchmarks/scale.py --folder SCRATCH --part databases --data ARFF_FOLDER
                               [--sets adult,mushroom] [--database-rows 10000000]
    python benchmarks/scale.py --folder SCRATCH --part flagship [--flagship-rows 10000000]
                               [--memory-rows 1000000] [--kills 20]

Bar 1: every model by `fit_dataset` against `fit` in memory, from Parquet, CSV, ARFF and Dask.
Bar 2: SkDB on splice-like rows beside XGBoost with external memory: time, memory, growth.
Bar 3: large data sets in ARFF: quality beside `fit` and XGBoost (needs --data).
Bar 4: learning from a file, Dask and Spark frames, killed at random moments and resumed.
Part databases: models learnt from DuckDB and SQLite against `fit`, and time beside a file.
Part flagship: `PriorwiseClassifier.fit_dataset` within 2 GB beside XGBoost with external memory
and a fit to fewer rows in memory; the same killed at random moments and resumed.

Every model that is timed runs in a process of its own. Times of one run; on a shared machine
trust the ratios. Files that were written are kept in the folder and used again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from scaling import databases, equality, flagship, growth, interruptions, large_sets

SETS = ("adult", "mushroom", "vehicle", "german", "hepatitis")


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def numbers(text: str) -> list[int]:
    return [int(float(word)) for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="for the data, about 50 B a row")
    parser.add_argument("--part", type=words, default=["files"], help="files, databases, flagship")
    parser.add_argument("--sets", type=words, default=list(SETS), help="of the part databases")
    parser.add_argument("--database-rows", type=numbers, help="rows of the part databases")
    parser.add_argument("--flagship-rows", type=int, default=10_000_000)
    parser.add_argument("--memory-rows", type=int, default=1_000_000, help="of the fit in memory")
    parser.add_argument("--kills", type=int, default=20, help="of bar 4 and the part flagship")
    parser.add_argument("--bars", type=numbers, default=[1, 2, 3, 4])
    parser.add_argument("--rows", type=numbers, default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--rival-rows", type=numbers, default=[1_000_000, 10_000_000])
    parser.add_argument("--data", type=Path, help="folder of the large ARFF files")
    parser.add_argument("--max-rows", type=int, default=2_000_000, help="of a set in bar 3")
    parser.add_argument("--kill-rows", type=int, default=500_000, help="rows of bar 4")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    folder = given.folder.resolve()
    if "databases" in given.part:
        rows = [max(given.rows)] if given.database_rows is None else given.database_rows
        databases.show(given.data, folder, given.sets, rows, given.jobs)
    if "flagship" in given.part:
        flagship.show(folder, given.flagship_rows, given.memory_rows, given.jobs)
        interruptions.show_flagship(folder, given.kills, given.jobs)
    if "files" not in given.part:
        return
    if 1 in given.bars:
        equality.show(folder)
    if 2 in given.bars:
        growth.show(folder, given.rows, given.jobs, given.rival_rows)
    if 3 in given.bars and given.data is not None:
        large_sets.show(given.data, folder, given.max_rows, given.jobs)
    if 4 in given.bars:
        interruptions.show(folder, given.kill_rows, given.kills, given.jobs)


if __name__ == "__main__":
    main()
