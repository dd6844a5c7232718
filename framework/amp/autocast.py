"""autocast: matrix products and convolutions in a half type, everything else as it was."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from backends.dtypes import bfloat16, dtype, float16, float32
from framework.core.device import device
from framework.core.graph import Leaf
from framework.core.modes import Mode
from framework.core.state import STATE
from framework.core.tensor import Tensor
from framework.dispatch.registry import T
from framework.dispatch.schema import Entry

DEFAULT = {"cpu": bfloat16, "cuda": float16, "mps": float16}
LOWER = frozenset(
    ("add_matmul", "attention", "bilinear", "conv", "conv_bias", "conv_input", "conv_transpose", "linear", "matmul")
)


class autocast(Mode):
    """A context, or a decorator, in which float32 operands of matrix products and convolutions are cast to `dtype`.

    device_type: "cpu" (bfloat16 by default), "cuda" or "mps" (float16). enabled=False switches a surrounding autocast
    off. cache_enabled: cast a parameter once for the whole region.
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        self.device_type = device(device_type).type
        self.dtype = dtype or DEFAULT[self.device_type]
        if self.dtype not in (bfloat16, float16):
            warnings.warn(
                f"In {self.device_type} autocast, but the target dtype is not supported. Disabling autocast. "
                f"{self.device_type} Autocast only supports dtype of torch.bfloat16, torch.float16 currently.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self.enabled, self.cache_enabled = enabled, cache_enabled is not False
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}

    def __exit__(self, *exc: object) -> None:
        self.cache.clear()
        super().__exit__(*exc)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device_type, self.dtype, self.enabled, self.cache_enabled):
                return func(*args, **kwargs)

        return wrapped

    def handle(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        if entry.name not in LOWER:
            return NotImplemented
        if not self.enabled:
            return entry.call(args)  # beneath an outer autocast that would have cast
        return entry.call([self.lowered(a) if k == "Num" else a for a, k in zip(args, entry.order, strict=True)])

    def lowered(self, a: Any) -> Any:
        """A float32 operand in the lower dtype; others as they are."""
        if not isinstance(a, Tensor) or a.dtype not in (float32, float16, bfloat16) or a.dtype is self.dtype:
            return a
        if a.backend.device_type != self.device_type:
            return a
        if not (self.cache_enabled and a.level is None and type(a.node) is Leaf):
            return T.to_dtype(a, self.dtype)
        known = self.cache.get(id(a))
        if known is None or known[0] is not a:
            known = self.cache[id(a)] = (a, T.to_dtype(a, self.dtype))
        return known[1]


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether an autocast is on for this kind of device ("cuda" unless told): the innermost decides."""
    kind = device(device_type or "cuda").type
    found = [m for m in STATE.modes if isinstance(m, autocast) and m.device_type == kind]
    return bool(found) and found[-1].enabled
