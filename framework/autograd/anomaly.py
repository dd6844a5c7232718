"""Anomaly detection: nodes remember the line that made them, and a backward pass that meets nan stops there and shows
it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from framework.core.graph import Node
from framework.core.state import ACTIVE, ANOMALY, STATE
from framework.core.tensor import Tensor, arr

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


class set_detect_anomaly:
    """Turn anomaly detection on or off, for all threads: at once, until the end of the block if used with `with`.

    While it is on, ops remember the line of the program that called them, and a backward pass raises RuntimeError where
    a derivative fails or (check_nan) gives nan, after a warning that shows that line. It slows every op down.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = (ANOMALY.enabled, ANOMALY.check_nan)
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _switch(*self.before)


class detect_anomaly:
    """A context with anomaly detection on: see `set_detect_anomaly`."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = (ANOMALY.enabled, ANOMALY.check_nan)
        _switch(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _switch(*self.before)


def _switch(enabled: bool, check_nan: bool) -> None:
    if enabled and not ANOMALY.enabled:
        ACTIVE.append(ANOMALY)  # ops take the slow path, which notes the line
    elif ANOMALY.enabled and not enabled:
        ACTIVE.pop()
    ANOMALY.enabled, ANOMALY.check_nan = enabled, check_nan


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return ANOMALY.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, when it is on, looks for nan."""
    return ANOMALY.check_nan


def guarded(walk: Any, n: Node, g: Any) -> Sequence[Any]:
    """Run a node's reverse; if it fails or gives nan, say which op it belongs to and where that was called."""
    before, STATE.__dict__["reversing"] = STATE.__dict__.get("reversing"), n
    try:
        out = walk.reverse(n, g)
    except Exception:
        _show(n)
        raise
    finally:
        STATE.__dict__["reversing"] = before
    if ANOMALY.check_nan:
        for i, x in enumerate(out):
            if x is not None and n.edges[i] is not None and _has_nan(walk, x):
                _show(n)
                raise RuntimeError(f"Function '{n.name()}' returned nan values in its {i}th output.")
    return out


def _has_nan(walk: Any, x: Any) -> bool:
    while isinstance(x, Tensor):
        if x.level is None:
            x = x.backend.to_numpy(arr(x))
        else:
            x = x.value  # type: ignore[attr-defined]
    a = x if isinstance(x, np.ndarray) else np.asarray(walk.backend.to_numpy(walk.backend.asarray(x)))
    return bool(np.isnan(a.astype(np.float32) if a.dtype.kind not in "fc" else a).any())


def _show(n: Node) -> None:
    lines = n.metadata.get("traceback_")
    if lines is None:
        warnings.warn(
            f"Error detected in {n.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            UserWarning,
            stacklevel=2,
        )
        return
    warnings.warn(
        f"Error detected in {n.name()}. Traceback of forward call that caused the error:\n{''.join(lines)}",
        UserWarning,
        stacklevel=2,
    )
    parent = n.metadata.get("parent_")
    while parent is not None:
        lines = parent.metadata.get("traceback_")
        where = (
            "No forward pass information available."
            if lines is None
            else "Traceback of forward call that induced the previous calculation:\n"
        )
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. {where}{''.join(lines or ())}",
            UserWarning,
            stacklevel=2,
        )
        parent = parent.metadata.get("parent_")
