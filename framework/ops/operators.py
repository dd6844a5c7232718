"""Python's operators, those that write in place, and old spellings of others."""

from __future__ import annotations

from framework.core.tensor import Tensor
from framework.dispatch.operators import operator
from framework.dispatch.registry import T, attach

_SHARED = {
    "add": T.add,
    "mul": T.mul,
    "and": T.bitwise_and,
    "or": T.bitwise_or,
    "xor": T.bitwise_xor,
}  # reflected, they are themselves
_ORDERED = {
    "pow": T.pow,
    "floordiv": T.floor_divide,
    "mod": T.remainder,
    "matmul": T.matmul,
    "lshift": T.bitwise_left_shift,
    "rshift": T.bitwise_right_shift,
}
_COMPARED = {"eq": T.eq, "ne": T.ne, "lt": T.lt, "le": T.le, "gt": T.gt, "ge": T.ge}

attach(**{f"__{name}__": operator(f) for name, f in (_SHARED | _ORDERED | _COMPARED).items()})
attach(**{f"__r{name}__": operator(f) for name, f in _SHARED.items()})
attach(**{f"__r{name}__": operator(f, reflected=True) for name, f in _ORDERED.items()})
attach(
    __sub__=operator(T.sub),
    __rsub__=operator(T.rsub),
    __truediv__=operator(T.div),
    __rtruediv__=operator(T.rdiv),
    __div__=operator(T.div),
    __rdiv__=operator(T.rdiv),
    __neg__=T.neg,
    __pos__=T.positive,
    __abs__=T.abs,
    __invert__=T.bitwise_not,
    __hash__=object.__hash__,
)

attach(
    __iadd__=Tensor.add_,
    __isub__=Tensor.sub_,
    __imul__=Tensor.mul_,
    __itruediv__=Tensor.div_,
    __idiv__=Tensor.div_,
    __ipow__=Tensor.pow_,
    __ifloordiv__=Tensor.floor_divide_,
    __imod__=Tensor.remainder_,
    __iand__=Tensor.bitwise_and_,
    __ior__=Tensor.bitwise_or_,
    __ixor__=Tensor.bitwise_xor_,
    __ilshift__=Tensor.bitwise_left_shift_,
    __irshift__=Tensor.bitwise_right_shift_,
)
