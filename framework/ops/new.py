"""Tensors made like another one: on its device, of its dtype; and empty tensors with strides of one's own."""

from __future__ import annotations

from framework.core.defaults import as_dtype, get_default_dtype
from framework.core.device import backend_of
from framework.core.shape import as_ints
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import T, attach, op
from framework.ops.conversion import tensor
from framework.ops.creation import finished, sizes


def _made(self, size, value, dtype, device, requires_grad, name):
    backend = self.backend if device is None else backend_of(device)
    d = as_dtype(dtype, name) or self.dtype
    return finished(make(backend, backend.full(sizes(size), value, d), d), requires_grad)


def _size(size, keywords):
    return size or (keywords.pop("size"),)


def new_zeros(
    self: Tensor, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **named
) -> Tensor:
    """Zeros of the given size, of this tensor's dtype and device unless given."""
    return _made(self, _size(size, named), 0, dtype, device, requires_grad, "new_zeros")


def new_ones(
    self: Tensor, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **named
) -> Tensor:
    """Ones of the given size, of this tensor's dtype and device unless given."""
    return _made(self, _size(size, named), 1, dtype, device, requires_grad, "new_ones")


def new_empty(
    self: Tensor, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **named
) -> Tensor:
    """A tensor of the given size whose elements nobody promises, of this tensor's dtype and device unless given."""
    return _made(self, _size(size, named), 0, dtype, device, requires_grad, "new_empty")


def new_full(
    self: Tensor, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """A number in the given size, of this tensor's dtype and device unless given."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    return _made(self, (size,), fill_value, dtype, device, requires_grad, "new_full")


def new_tensor(
    self: Tensor, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """A new tensor with the values of `data`, of this tensor's dtype and device unless given."""
    where = self.device if device is None else device
    return tensor(data, dtype=dtype or self.dtype, device=where, requires_grad=requires_grad)


def strided(size, stride, dtype, backend) -> Tensor:
    """Zeros with the given strides, in a storage just large enough."""
    size, stride = as_ints(size), as_ints(stride, "stride")
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"empty_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    count = 0 if 0 in size else 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    flat = make(backend, backend.full((count,), 0, dtype), dtype)
    return T.strided(flat, size, stride, 0, ((count,), (1,), 0, count, False)).detach()


@op(composite=True, method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of the given size and strides whose elements nobody promises."""
    d = as_dtype(dtype, "empty_strided") or get_default_dtype()
    return finished(strided(size, stride, d, backend_of(device)), requires_grad)


@op(composite=True, method=False)
def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor of the given size whose elements nobody promises, with its dimensions in that order in memory, the
    slowest first.
    """
    size, order = as_ints(size), as_ints(physical_layout, "physical_layout")
    if len(order) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    if any(not 0 <= d < len(size) for d in order):
        raise RuntimeError(
            f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {list(order)})"
        )
    if len(set(order)) != len(order):
        raise RuntimeError(f"Duplicate dim not allowed in physical_layout {list(order)}")
    from framework.core.memory_format import strides_in_order

    d = as_dtype(dtype, "empty_permuted") or get_default_dtype()
    return finished(strided(size, strides_in_order(size, order), d, backend_of(device)), requires_grad)


def new_empty_strided(
    self: Tensor, size, stride, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
) -> Tensor:
    """A tensor of the given size and strides whose elements nobody promises, of this tensor's dtype and device unless
    given.
    """
    backend = self.backend if device is None else backend_of(device)
    return finished(strided(size, stride, as_dtype(dtype, "new_empty_strided") or self.dtype, backend), requires_grad)


attach(new_zeros=new_zeros, new_ones=new_ones, new_empty=new_empty, new_full=new_full, new_tensor=new_tensor,
       new_empty_strided=new_empty_strided)  # fmt: skip
