"""Daemon of Spark's workers that has imported what they need, so that they start at once.

The name of this module is the setting `spark.python.daemon.module`. Without Spark, pytest imports
it when it looks for examples.
"""

from importlib import import_module

NEEDED = ("pandas", "pyarrow.parquet", "priorwise.streaming.runners.spark")

if __name__ == "__main__":
    for name in NEEDED:
        import_module(name)
    import_module("pyspark.daemon").manager()
