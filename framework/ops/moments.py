"""Variance, standard deviation, covariance; sums of exponentials; sums that pass over nan; counts and traces."""

from __future__ import annotations

import warnings
from math import prod as _count

from backends.dtypes import bool_
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_ints, wrap_dims
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Cast, Dims, Ints, Num
from framework.ops.reduce import spread


# ---------------------------------------------------------------- variance
def _freedom(shape, dim, correction):
    """The number of elements less the correction."""
    return _count([shape[d] for d in (range(len(shape)) if dim is None else dim)]) - correction


def _squares(xp, x):
    return xp.real(x) * xp.real(x) + xp.imag(x) * xp.imag(x) if xp.dtype_of(x).is_complex else x * x


def _centred(xp, x, dim):
    count = _freedom(tuple(x.shape), dim, 0)
    return x - xp.sum(x, dim, True) / count if count else x


def _var_vjp(xp, g, input, shape, dim, correction, keepdim):
    free = _freedom(shape, dim, correction)
    return spread(xp, g, shape, dim, keepdim) * (2 / free if free else float("inf")) * _centred(xp, input, dim)


def _std_vjp(xp, g, input, out, shape, dim, correction, keepdim):
    """0 where the deviation is 0."""
    flat = out == 0
    half = xp.where(flat, xp.full((), 0, xp.like(out)), g / (2 * xp.where(flat, xp.full((), 1, xp.like(out)), out)))
    return _var_vjp(xp, half, input, shape, dim, correction, keepdim)


_MOMENT = dict(batch="dims", dtype="real", accept="fc", spaces=())


@op(vjp=(_var_vjp,), **_MOMENT)
def var(xp, input: Num, dim: Dims, correction, keepdim):
    """The sum of squared distances from the mean over the number of elements less `correction`."""
    total = xp.sum(_squares(xp, _centred(xp, input, dim)), dim, keepdim)
    free = _freedom(tuple(input.shape), dim, correction)
    return total / free if free > 0 else total / xp.full((), 0, xp.like(total))


@op(vjp=(_std_vjp,), **_MOMENT)
def std(xp, input: Num, dim: Dims, correction, keepdim):
    """The square root of the variance; its gradient is 0 where it is 0."""
    total = xp.sum(_squares(xp, _centred(xp, input, dim)), dim, keepdim)
    free = _freedom(tuple(input.shape), dim, correction)
    return xp.sqrt(total / free if free > 0 else total / xp.full((), 0, xp.like(total)))


variance, deviation = T.var, T.std


def _given(name, input, dim, unbiased, correction):
    """(dims or None, correction) of the two ways to call: `var(dim, unbiased)` or `var(dim, correction=)`; `var(False)`
    too.
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if input.dtype.category < 2:
        raise RuntimeError(
            f"{name}(): std and var only support floating point and complex dtypes, got {scalar_type_name(input.dtype)}"
        )
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}(): give unbiased or correction, not both")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    dim = None if dim is None or dim == () or dim == [] else wrap_dims(dim, input.ndim)
    if _freedom(tuple(input.shape), dim, correction) <= 0:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            UserWarning,
            stacklevel=4,
        )
    return dim, correction


@op(composite=True)
def var(input: Num, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance over `dim` (all by default): squared distances from the mean over the count less `correction`
    (1).
    """
    dim, correction = _given("var", input, dim, unbiased, correction)
    return variance(input, dim, correction, keepdim)


@op(composite=True)
def std(input: Num, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation over `dim` (all by default), with the count less `correction` (1). Its gradient is 0 where
    it is 0.
    """
    dim, correction = _given("std", input, dim, unbiased, correction)
    return deviation(input, dim, correction, keepdim)


@op(composite=True, method=False)
def var_mean(input: Num, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(variance, mean) over `dim`."""
    dim, correction = _given("var_mean", input, dim, unbiased, correction)
    return variance(input, dim, correction, keepdim), T.mean(input, dim, keepdim)


@op(composite=True, method=False)
def std_mean(input: Num, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """(standard deviation, mean) over `dim`."""
    dim, correction = _given("std_mean", input, dim, unbiased, correction)
    return deviation(input, dim, correction, keepdim), T.mean(input, dim, keepdim)


# ---------------------------------------------------------------- covariance
def _weights(name, w, count, integral):
    if w.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions"
        )
    if integral != (w.dtype.category < 2) or integral and not w.dtype.category:
        raise RuntimeError(
            f"cov(): expected {name} to have {'integral' if integral else 'floating point'} dtype but got {name} with "
            f"{scalar_type_name(w.dtype)} dtype"
        )
    if w.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{w.numel()} != {count}"
        )
    if count and bool(T.any(T.lt(w, 0))):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@op(composite=True)
def cov(input: Num, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of the rows of `input`, whose columns are observations.

    fweights: how often each observation was made, integers; aweights: how much each counts. The sum of weights less
    `correction` divides (with both kinds, less `correction` times the mean of aweights).
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = T.reshape(input, (1, -1)) if input.ndim < 2 else input
    count = x.shape[1]
    if fweights is not None:
        _weights("fweights", fweights, count, True)
    if aweights is not None:
        _weights("aweights", aweights, count, False)
    w = fweights if aweights is None else aweights if fweights is None else T.mul(fweights, aweights)
    if w is None:
        total = count
        mean = T.mean(T.mul(x, 1.0) if x.dtype.category < 2 else x, 1, True)
    else:
        total = T.sum(w)
        if count and bool(T.eq(total, 0)):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = T.div(T.sum(T.mul(x, w), 1, True), total)
    if w is None or aweights is None or not correction:
        norm = total - correction
    else:
        norm = T.sub(total, T.div(T.mul(T.sum(T.mul(w, aweights)), correction), total))
    if w is None:
        if norm <= 0:
            warnings.warn(
                "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
                "observations.",
                UserWarning,
                stacklevel=3,
            )
        norm = float(norm) if norm > 0 else 0.0
    elif bool(T.le(norm, 0)):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
            stacklevel=3,
        )
        norm = T.mul(norm, 0)
    centred = T.sub(x, mean)
    weighted = T.mul(centred, w) if w is not None else centred
    product = T.matmul(centred, T.conj(T.mT(T.astype(weighted, centred.dtype))))
    out = T.div(product, norm)
    return T.reshape(out, ()) if input.ndim < 2 else out


@op(composite=True)
def corrcoef(input: Num):
    """The correlation coefficients of the rows of `input`, whose columns are observations."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return T.div(c, c)
    deviations = T.sqrt(T.diagonal(c, 0, 0, 1))
    deviations = T.real(deviations) if c.dtype.is_complex else deviations
    c = T.div(T.div(c, T.unsqueeze(deviations, (1,))), T.unsqueeze(deviations, (0,)))
    if c.dtype.is_complex:
        return T.complex(T.clamp(T.real(c), -1, 1), T.clamp(T.imag(c), -1, 1))
    return T.clamp(c, -1, 1)


# ---------------------------------------------------------------- sums of exponentials
def _finite_extreme(xp, x, dim):
    """The largest real part over `dim`, or 0 where it is infinite or there is none."""
    size = xp.real(x) if xp.dtype_of(x).is_complex else x
    if 0 in x.shape:
        return xp.sum(size, dim, True)
    m = xp.amax(size, dim, True)
    return xp.where(xp.isfinite(m), m, xp.full((), 0, xp.like(m)))


def _logsumexp_vjp(xp, g, input, out, shape, dim, keepdim):
    total = spread(xp, out, shape, dim, keepdim)
    if not xp.dtype_of(out).is_complex:
        total = xp.where(total == float("-inf"), xp.full((), 0, xp.like(total)), total)
    return spread(xp, g, shape, dim, keepdim) * xp.conj(xp.exp(input - total))


@op(batch="dims", dtype="float", vjp=(_logsumexp_vjp,), spaces=("", "special"))
def logsumexp(xp, input: Num, dim: Dims, keepdim=False):
    """The logarithm of the sum of exponentials over `dim`, without overflow."""
    m = _finite_extreme(xp, input, dim)
    out = xp.log(xp.sum(xp.exp(input - m), dim, True)) + m
    return out if keepdim else xp.squeeze(out, tuple(range(len(input.shape))) if dim is None else dim)


# ---------------------------------------------------------------- passing over nan; counts
def _numbers(input):
    return T.where(T.isnan(input), T.full((), 0, input), input)


@op(composite=True)
def nansum(input: Num, dim=None, keepdim=False, *, dtype: Cast = None):
    """The sum over `dim` with nan taken as 0."""
    if input.dtype.is_complex:
        raise RuntimeError("nansum does not support complex inputs")
    return T.sum(_numbers(input) if input.dtype.is_floating_point else input, dim, keepdim, dtype=dtype)


@op(composite=True)
def nanmean(input: Num, dim=None, keepdim=False, *, dtype: Cast = None):
    """The mean over `dim` of the elements that are not nan."""
    if input.dtype.category < 2:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {scalar_type_name(input.dtype)}"
        )
    counted = T.logical_not(T.isnan(input))
    return T.div(T.sum(_numbers(input), dim, keepdim, dtype=dtype), T.sum(counted, dim, keepdim))


@op(composite=True)
def count_nonzero(input: Num, dim=None):
    """How many elements over `dim` are not zero."""
    return T.sum(T.ne(input, 0), None if dim == () else dim)


@op(composite=True)
def trace(input: Num):
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if not input.dtype.category:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return T.sum(T.diagonal(input, 0, 0, 1))


@op(composite=True, spaces=("method",))
def sum_to_size(self: Num, size: Ints):
    """The tensor summed to a shape that broadcasts to its own."""
    shape, size = tuple(self.shape), as_ints(size)
    lead = len(shape) - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, shape[lead:], strict=True)):
        raise RuntimeError(f"size {list(size)} is not expandable to size {list(shape)}.")
    dims = tuple(range(lead)) + tuple([lead + i for i, n in enumerate(size) if n == 1 and shape[lead + i] != 1])
    out = T.sum(self, dims, True) if dims or not size else self
    return T.reshape(out, size) if lead else out
