"""Whether tensors are equal or close, choices by a condition, and questions about a whole tensor."""

from __future__ import annotations

from backends.dtypes import bool_, uint8
from framework.core.promotion import promote_types, scalar_type_name
from framework.core.tensor import Tensor
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Index, Num
from framework.ops.masked import nonzero

chosen = T.where


# ---------------------------------------------------------------- choices
def _where(condition, input, other):
    if not isinstance(condition, Tensor):
        not_a_tensor("where", "condition", 0, condition)
    if condition.dtype is uint8:
        condition = T.to_dtype(condition, bool_)
    if condition.dtype is not bool_:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{scalar_type_name(condition.dtype)}"
        )
    if condition.backend.name == "cpu" and not condition.ndim:
        backend = next((x.backend for x in (input, other) if isinstance(x, Tensor)), condition.backend)
        condition = condition if condition.backend is backend else T.to_device(condition, backend)
    return chosen(condition, input, other)


@op(composite=True, method=False)
def where(condition: Index, input=None, other=None):
    """`input` where the condition holds, else `other`: tensors or numbers that broadcast and promote. With the
    condition alone, the coordinates of its True elements, one vector a dimension."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError(
            "where() received an invalid combination of arguments: give the condition alone, or both input and other"
        )
    return _where(condition, input, other)


def _method_where(self: Tensor, condition: Tensor, other) -> Tensor:
    """This tensor where the condition holds, else `other`."""
    return _where(condition, self, other)


attach(where=_method_where)


# ---------------------------------------------------------------- equality
@op(composite=True)
def isclose(input: Num, other: Num, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|. Infinities are close to themselves alone; nan to nan if
    `equal_nan`.
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{scalar_type_name(input.dtype)} did not match {scalar_type_name(other.dtype)}")
    for value, name in ((rtol, "rtol"), (atol, "atol")):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    d = input.dtype
    close = T.eq(input, other)
    if equal_nan and d.category > 1:
        close = T.logical_or(close, T.logical_and(T.isnan(input), T.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if d.category < 2:
        from framework.core.defaults import get_default_dtype

        input, other = [T.astype(x, get_default_dtype()) for x in (input, other)]
    allowed = T.add(T.abs(T.mul(other, rtol)), atol)
    difference = T.abs(T.sub(input, other))
    return T.logical_or(close, T.logical_and(T.isfinite(difference), T.le(difference, allowed)))


@op(composite=True)
def allclose(input: Num, other: Num, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether `isclose` holds everywhere."""
    return bool(T.all(isclose(input, other, rtol, atol, equal_nan)))


@op(composite=True)
def equal(input: Num, other: Num):
    """Whether two tensors have the same size and elements; nan equals nothing."""
    if input.backend is not other.backend:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found {input.device} and {other.device} (equal)"
        )
    promote_types(input.dtype, other.dtype)
    return tuple(input.shape) == tuple(other.shape) and bool(T.all(T.eq(input, other)))


# ---------------------------------------------------------------- questions
@op(composite=True, method=False)
def is_tensor(obj):
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


@op(composite=True, method=False)
def is_floating_point(input: Num):
    """Whether the dtype is a floating one."""
    return input.is_floating_point()


@op(composite=True, method=False)
def is_complex(input: Num):
    """Whether the dtype is a complex one."""
    return input.is_complex()


@op(composite=True)
def is_nonzero(input: Num):
    """Whether the one element of a tensor is not zero. RuntimeError for any other number of elements."""
    count = input.numel()
    if count != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'more than one value' if count else 'no values'} is ambiguous"
        )
    return bool(input)


@op(composite=True)
def is_same_size(input: Num, other: Num):
    """Whether two tensors have the same size."""
    return tuple(input.shape) == tuple(other.shape)


@op(composite=True, method=False)
def numel(input: Num):
    """The number of elements."""
    return input.numel()
