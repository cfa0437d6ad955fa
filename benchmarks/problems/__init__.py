"""Data sets that benchmarks and tests generate."""
