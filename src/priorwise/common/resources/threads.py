"""Call a function for several items on several threads."""

from __future__ import annotations

import numpy as np

from priorwise._core import map_in_threads

__all__ = ["map_in_threads"]

# OpenBLAS allocates its buffers at the first large product, and ends the process if it can't. With
# them allocated on import, a fit that runs out of memory later raises MemoryError.
np.ones((128, 128)) @ np.ones((128, 128))
