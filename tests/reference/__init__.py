"""Slow, obvious twins of the kernels: plain Python and NumPy, one noun per file."""
