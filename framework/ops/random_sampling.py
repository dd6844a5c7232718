"""Sampling by the values of tensors: means of normals, probabilities of events, weights of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from framework.core.generator import generator_for
from framework.core.shape import as_int, broadcast_shapes
from framework.core.tensor import Tensor
from framework.dispatch.out import write_out
from framework.dispatch.registry import ENTRIES, T, op
from framework.dispatch.schema import Index, Num

from .bounds import check_bernoulli, check_normal, probability
from .creation import sizes
from .random import factory, floating
from .random_draw import Source, drawn, inverse, memory_order, with_batch_axes


@op(composite=True, method=False)
def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):  # fmt: skip
    """Normal numbers: `normal(mean, std, size)` for numbers, else one for each element of the tensors, broadcast.

    The result has the dtype of `mean`, if that is a tensor, else of `std`. Its gradient is zero. RuntimeError for a
    negative or complex `std`.
    """
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is not None:
            raise TypeError("normal() received an invalid combination of arguments: `size` goes with numbers only")
        value = _normal_around(mean, std, generator)
        return value if out is None else write_out(ENTRIES["normal"], out, value)
    if size is None:
        raise TypeError("normal() received an invalid combination of arguments: numbers need a `size`")
    source = Source("normal", generator, "normal", (float(mean), float(std)))
    return factory("normal", floating(source, sizes((size,)), check_normal), out, dtype, device, requires_grad)


def _normal_around(mean: Any, std: Any, generator: Any) -> Tensor:
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    d, spread = tensors[0].dtype, 1.0
    if not isinstance(std, Tensor):
        spread = float(std)
    elif std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif std.level is None and bool((std.detach() < 0).any()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    check_normal(d, 0.0, spread)
    shape = broadcast_shapes([tuple(t.shape) for t in tensors], "normal")
    value = drawn(tensors[0].backend, shape, d, Source("normal", generator, "normal", (0.0, spread)))
    if isinstance(std, Tensor):
        value = T.astype(value * std.detach(), d)
    value = T.astype(value + (mean.detach() if isinstance(mean, Tensor) else mean), d)
    for t in tensors:
        if t.requires_grad:  # on the tape, with a gradient of zero
            value = T.overwrite(T.astype(T.expand(t, shape), d), value)
    return value


def _zero(xp: Any, g: Any) -> Any:
    return xp.full(tuple(g.shape), 0, xp.like(g))


@op(random=True, opaque=True, exact=True, accept="f", spaces=(), vjp=(_zero,),
    jvp=lambda xp, tangents, out, *args: _zero(xp, out))  # fmt: skip
def bernoulli_tensor(xp, input: Num, generator=None, order=None):
    """1 with the probability that the element says, else 0, in the dtype of `input`; drawn in memory order."""
    p = xp.to_numpy(input)
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError(
            "bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true, but got false: an element is no probability"
        )
    stream = generator_for(xp, generator, "bernoulli")
    if order is None:
        found = stream.bernoulli_tensor(p)
    else:
        order = with_batch_axes(order, p.ndim)
        found = stream.bernoulli_tensor(p.transpose(order)).transpose(inverse(order))
    return xp.asarray(found, xp.dtype_of(input))


@op(composite=True)
def bernoulli(input: Num, p=None, *, generator=None, out=None):
    """1 with a probability, else 0: with the one that each element of `input` says, or with `p` for every element.

    The result has the shape and dtype of `input`, in row-major memory; its gradient is zero. RuntimeError for what is
    no probability, NotImplementedError for probabilities that are not of a floating dtype.
    """
    shape = tuple(input.shape)
    if p is None:
        value = bernoulli_tensor(input, generator)
    elif isinstance(p, Tensor):
        value = T.astype(bernoulli_tensor(T.expand(p, shape), generator), input.dtype)
    else:
        check_bernoulli(input.dtype)
        source = Source("bernoulli", generator, "bernoulli", (probability(p),))
        value = drawn(input.backend, shape, input.dtype, source)
    return value if out is None else write_out(ENTRIES["bernoulli"], out, value)


@op(random=True, opaque=True, dtype=None, spaces=())
def multinomial_rows(xp, input: Index, num_samples, replacement=False, generator=None, order=None):
    """Indices drawn by the weights in each row along the last dimension."""
    weights = xp.to_numpy(input)
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("multinomial(): probability tensor contains either `inf`, `nan` or element < 0")
    if (replacement or num_samples == 1) and not (weights > 0).any(-1).all():
        raise RuntimeError("multinomial(): invalid multinomial distribution (sum of probabilities <= 0)")
    stream = generator_for(xp, generator, "multinomial")
    if order is not None:
        order = with_batch_axes(order, weights.ndim)
    return xp.asarray(stream.multinomial(weights, num_samples, replacement, xp.dtype_of(input), order))


@op(composite=True)
def multinomial(input: Num, num_samples, replacement=False, *, generator=None, out=None):
    """int64 indices of `num_samples` categories, drawn by the weights in each row of `input`.

    input: (categories,) or (rows, categories), floating; weights need not sum to 1. RuntimeError for weights that are
    negative, infinite, nan or all zero, and for more draws without replacement than there are categories.
    """
    count = as_int(num_samples, "num_samples")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"multinomial(): prob_dist must be 1 or 2 dim, got {input.ndim}")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    if count <= 0:
        raise RuntimeError(f"multinomial(): cannot sample n_sample <= 0 samples, got {count}")
    categories = input.shape[-1]
    if not replacement and count > categories:
        raise RuntimeError("multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement, "
                           f"got {count} of {categories}")  # fmt: skip
    if categories > 2**24:
        raise RuntimeError("multinomial(): number of categories cannot exceed 2^24")
    value = multinomial_rows(input.detach(), count, bool(replacement), generator, memory_order(input))
    return value if out is None else write_out(ENTRIES["multinomial"], out, value)
