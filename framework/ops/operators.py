"""Python's operators that write in place, and old spellings of others."""

from __future__ import annotations

from framework.core.tensor import Tensor
from framework.dispatch.registry import T, attach

attach(
    __iadd__=Tensor.add_, __isub__=Tensor.sub_, __imul__=Tensor.mul_, __itruediv__=Tensor.div_, __idiv__=Tensor.div_,
    __ifloordiv__=Tensor.floor_divide_, __imod__=Tensor.remainder_, __ipow__=Tensor.pow_, __iand__=Tensor.bitwise_and_,
    __ior__=Tensor.bitwise_or_, __ixor__=Tensor.bitwise_xor_, __ilshift__=Tensor.bitwise_left_shift_,
    __irshift__=Tensor.bitwise_right_shift_, __div__=T.div, __rdiv__=T.rdiv,
)  # fmt: skip
