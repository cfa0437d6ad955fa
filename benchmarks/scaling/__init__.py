"""The parts of ``scale.py``, one file for each question."""
