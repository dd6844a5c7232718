"""NumPy's floating-point error state: division by zero, overflow and invalid values give inf and nan without a warning.

Setting it for every operation costs as much as three additions, so it is set once per context (thread, or task of an
event loop) and only tested afterwards: `state() is QUIET`. A state the user chose with `numpy.seterr` or
`numpy.errstate` is left alone outside our own calls; `quiet()` then sets ours for the duration of one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any

import numpy as np
from numpy._core.umath import _extobj_contextvar as _variable  # type: ignore[attr-defined, unused-ignore]

state = _variable.get
_DEFAULT: Any = Context().run(state)
with np.errstate(all="ignore"):
    QUIET: Any = state()


def keep_quiet() -> None:
    """Make the quiet state that of this context, unless the user has chosen another."""
    if state() is _DEFAULT:
        _variable.set(QUIET)


@contextmanager
def quiet() -> Iterator[None]:
    """Run a block in the quiet state and leave the user's own as it was."""
    keep_quiet()
    if state() is QUIET:
        yield
        return
    with np.errstate(all="ignore"):
        yield
