"""What `import` costs in fresh interpreters: the import statement alone, after a first one has left bytecode."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from tests.benchmarks.cases import case

imports = partial(case, "import", self_timed=True)


def seconds_to_import(name: str) -> float:
    code = f"import time; start = time.perf_counter(); import {name}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return float(done.stdout)


@imports("import (asked: under 350 ms)", numpy=lambda: partial(seconds_to_import, "numpy"))
def _(t):
    return partial(seconds_to_import, t.__name__)
