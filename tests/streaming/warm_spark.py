"""Daemon of Spark's workers that has imported what they need, so that they start at once.

The name of this module is the setting `spark.python.daemon.module`.
"""

import pandas
import pyarrow.parquet
from pyspark.daemon import manager

from priorwise.streaming.runners import spark

__all__ = ["manager", "pandas", "pyarrow", "spark"]

if __name__ == "__main__":
    manager()
