"""Methods that change what a tensor's own dimensions are, in place: `t_()`, `squeeze_()`, `unsqueeze_()`,
`transpose_()`.

Nothing in memory moves: the tensor takes the place of a view of itself.
"""

from __future__ import annotations

from framework.core.graph import Leaf
from framework.core.state import STATE
from framework.core.storage import View, living, share
from framework.core.tensor import Tensor, arr


def in_place_view(name, view):
    """The method `name`, which makes a tensor what `view` of it is."""

    def method(self, *args, **kwargs):
        if STATE.grad and type(self.node) is Leaf:
            raise RuntimeError(
                f"a leaf Variable that requires grad is being used in an in-place operation ({name}). Call it under "
                "no_grad(), or on a clone."
            )
        return become(self, view(self, *args, **kwargs))

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = (
        f"In-place form of `{name[:-1]}`: this tensor itself takes the new dimensions; memory is untouched."
    )
    return method


def become(x: Tensor, y: Tensor) -> Tensor:
    """Make x the view y of itself. Other views of x keep what they show: they become views of x as it was."""
    if x.level is not None:
        x.adopt(y)  # type: ignore[attr-defined]
        return x
    if y is x:
        return x
    assert x.storage is not None and y._view is not None
    if y._view.base is not x:
        x._view = y._view
    elif others := [v for v in living(x.storage) if v is not y and v._view is not None and v._view.base is x]:
        before = share(x, arr(x), None, x.node)
        for v in (*others, y):
            assert v._view is not None
            v._view.base = before
        x._view = y._view
    else:
        x._view = View(None, None, y._view.shadow)
    x.array, x.node = y.array, y.node
    x.storage.version += 1
    return x
