"""The number of threads of the OpenBLAS library that NumPy has loaded, read and set through its exported symbols.

Two pools of threads on the same cores spin against each other and make everything several times slower. So matrix
products run on the pool of this package, and the library's own threads are put to rest.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

_SYMBOLS = (("scipy_openblas_{}_num_threads64_",), ("openblas_{}_num_threads64_",), ("openblas_{}_num_threads",))


class OpenBlas:
    """Both functions do nothing (and there is one thread, as far as anybody knows) where NumPy has another library."""

    def __init__(self) -> None:
        self.found = False
        self._get: Callable[[], int] = lambda: 1
        self._set: Callable[[int], object] = lambda n: None
        for path in _candidates():
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for (name,) in _SYMBOLS:
                get, put = getattr(library, name.format("get"), None), getattr(library, name.format("set"), None)
                if get is not None and put is not None:
                    get.restype, get.argtypes = ctypes.c_int, ()
                    put.restype, put.argtypes = None, (ctypes.c_int,)
                    self.found, self._get, self._set = True, get, put
                    return

    def threads(self) -> int:
        """How many threads the library uses for one product."""
        return int(self._get())

    def set_threads(self, n: int) -> None:
        """Make the library use `n` threads for each product, everybody's."""
        self._set(n)


def _candidates() -> list[Path]:
    """Files of the library: those in NumPy's wheel, else those that the process has mapped."""
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs", package / ".libs")
    found = [p for folder in folders if folder.is_dir() for p in sorted(folder.glob("*openblas*"))]
    if not found and sys.platform == "linux":
        with open("/proc/self/maps") as maps:
            files = {line.split(None, 5)[5].strip() for line in maps if "openblas" in line}
        found = [Path(f) for f in sorted(files)]
    return found
