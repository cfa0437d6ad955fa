"""Rows of a Spark frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from priorwise.data.sources.part import Part, import_arrow
from priorwise.data.tables.column_kinds import column_families

DEFAULT_PARTITIONS = 64
"""Number of partitions that is planned with where Spark does not say how many there are."""


@dataclass(frozen=True)
class SparkPart(Part):
    """All rows of a Spark data frame, in partitions that its workers read."""

    frame: Any
    name: str = "Spark frame"

    @property
    def n_partitions(self) -> int:
        """Number of partitions of the frame."""
        try:
            return int(self.frame.rdd.getNumPartitions())
        except Exception:  # a client of Spark Connect cannot see it
            return DEFAULT_PARTITIONS

    def select(self, names: list[str]) -> Any:
        """Return the frame with some of its columns."""
        return self.frame.select(*("`" + name.replace("`", "``") + "`" for name in names))

    def families(self) -> dict[str, str]:
        import_arrow("a Spark frame")
        from pyspark.sql.pandas.types import to_arrow_schema

        return column_families(to_arrow_schema(self.frame.schema).empty_table())

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        """Bring all rows here as one Arrow table."""
        yield self.select(names).toArrow()

    def identity(self, names: list[str], batch_rows: int, target: str | None) -> list[Any]:
        """The numbers of rows and partitions and the sum of a hash of each row."""
        from pyspark.sql import functions

        rows = self.select(names)
        hashes = functions.xxhash64(*rows.columns).cast("decimal(38,0)")
        (row,) = rows.agg(functions.count("*"), functions.sum(hashes)).collect()
        return [row[0], str(row[1]), self.n_partitions]
