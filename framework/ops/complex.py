"""Complex numbers: their parts, made from parts, read as pairs of reals; conjugates."""

from __future__ import annotations

from backends.dtypes import float16, float32, float64
from framework.core.defaults import get_default_dtype
from framework.core.promotion import scalar_type_name
from framework.core.tensor import Tensor
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.registry import T, attach, op, unary
from framework.dispatch.schema import Num

FIRST, SECOND = (..., 0), (..., 1)
real_part = T.real


def _own(fn, size, flags, args):
    return fn(*args)


# ---------------------------------------------------------------- pairs of reals
def _pairs(xp, g):
    return xp.complex(xp.slice(g, FIRST), xp.slice(g, SECOND))


@op(view=True, opaque=True, linear="each", dtype=None, batch=_own, spaces=(), vjp=(_pairs,))
def as_pairs(xp, input: Num):
    """Complex numbers as pairs of reals along a new last dimension, in the same memory; a copy where arrays do not
    alias.
    """
    return xp.view_as_real(input)


@op(view=True, opaque=True, linear="each", dtype=None, batch=_own, spaces=(), vjp=(lambda xp, g: xp.view_as_real(g),))
def from_pairs(xp, input: Num):
    """Pairs of reals along the last dimension as complex numbers, in the same memory; a copy where arrays do not
    alias.
    """
    return xp.view_as_complex(input)


T.view_as_real = T.as_pairs


@op(composite=True)
def view_as_real(input: Num):
    """Complex numbers as pairs of reals along a new last dimension, sharing memory (a copy where arrays do not
    alias).
    """
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return T.as_pairs(input)


@op(composite=True)
def view_as_complex(input: Num):
    """Pairs of reals along the last dimension, of size 2 and stride 1, as complex numbers, sharing memory (a copy where
    arrays do not alias). The other strides and the offset must be even."""
    if input.dtype not in (float32, float64):
        raise RuntimeError(
            f"view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: "
            f"{scalar_type_name(input.dtype)}"
        )
    if not input.ndim or input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = input.stride()
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s, n in zip(strides[:-1], input.shape[:-1], strict=True) if n > 1):
        raise RuntimeError(f"Tensor must have a stride divisible by 2 for all but last dimension, got {list(strides)}")
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return T.from_pairs(input)


# ---------------------------------------------------------------- parts
@op(
    opaque=True,
    elementwise=True,
    exact=True,
    dtype=lambda d: d.to_real(),
    spaces=(),
    linear="each",
    vjp=(lambda g: g * 1j,),
)
def imag_part(xp, input: Num):
    """The imaginary part of complex numbers."""
    return xp.imag(input)


@op(composite=True)
def real(input: Num):
    """The real part, as a view (a copy where arrays do not alias); a real tensor is returned as it is."""
    if not input.is_complex():
        return input
    return T.slice(T.as_pairs(input), FIRST)


@op(composite=True)
def imag(input: Num):
    """The imaginary part, as a view (a copy where arrays do not alias). RuntimeError for a real tensor."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return T.slice(T.as_pairs(input), SECOND)


def _set_part(view):
    def write(self, value):
        part = view(self)
        if self.backend.aliasing:
            part.copy_(value)
        else:
            other = T.imag_part(self) if view is real else real_part(self)
            part = T.clone(part).copy_(value)
            self.copy_(T.complex(part, other) if view is real else T.complex(other, part))

    return write


def _same_floats(name, a, b, dtypes):
    for x, what, i in ((a, "real", 0), (b, "imag", 1)):
        if not isinstance(x, Tensor):
            not_a_tensor(name, what, i, x)
    if a.dtype not in dtypes or b.dtype not in dtypes:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {scalar_type_name(a.dtype)} and "
            f"{scalar_type_name(b.dtype)}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_type_name(a.dtype)} but got scalar type "
            f"{scalar_type_name(b.dtype)} for second argument"
        )


FLOATS = (float16, float32, float64)


@op(opaque=True, elementwise=True, accept="f", dtype=lambda d: d.to_complex(), linear="jointly", method=False,
    check=lambda real, imag: _same_floats("complex", real, imag, FLOATS), vjp=(lambda xp, g: xp.real(g), lambda xp, g: xp.imag(g)))  # fmt: skip
def complex(xp, real: Num, imag: Num):
    """Complex numbers of these real and imaginary parts, which have one floating dtype."""
    return xp.complex(real, imag)


T.imag = lambda x: T.imag_part(x) if x.dtype.is_complex else T.full(tuple(x.shape), 0, x)


@op(composite=True, method=False)
def polar(abs: Num, angle: Num):
    """Complex numbers of this absolute value and angle, which have one floating dtype."""
    _same_floats("polar", abs, angle, FLOATS)
    return T.complex(T.mul(abs, T.cos(angle)), T.mul(abs, T.sin(angle)))


def _angle_vjp(xp, g, input):
    if not xp.dtype_of(input).is_complex:
        return xp.full(tuple(input.shape), 0, xp.like(input))
    size = xp.real(input) * xp.real(input) + xp.imag(input) * xp.imag(input)
    nowhere = size == 0
    turn = xp.complex(-xp.imag(input), xp.real(input)) / xp.where(nowhere, xp.full((), 1, xp.like(size)), size)
    return xp.where(nowhere, xp.full((), 0, xp.like(turn)), g * turn)


def _angle_dtype(d):
    return d.to_real() if d.category > 1 else get_default_dtype()


angle = unary(
    "angle",
    doc="The angle of a complex number in radians, in (-pi, pi]; 0 or pi for a real one.",
    dtype=_angle_dtype,
    vjp=(_angle_vjp,),
    inplace=False,
)

# ---------------------------------------------------------------- conjugates: always computed, so nothing is ever
# pending
conjugated = T.conj


@op(composite=True)
def conj(input: Num):
    """The complex conjugate. A real tensor is returned as it is."""
    return conjugated(input) if input.is_complex() else input


@op(composite=True, inplace=True)
def conj_physical(input: Num):
    """The complex conjugate. A real tensor is returned as it is."""
    return conjugated(input) if input.is_complex() else input


@op(composite=True)
def resolve_conj(input: Num):
    """The tensor itself: conjugates are computed at once."""
    return input


@op(composite=True)
def resolve_neg(input: Num):
    """The tensor itself: negation is computed at once."""
    return input


@op(composite=True)
def is_conj(input: Num):
    """False: conjugates are computed at once."""
    return False


@op(composite=True)
def is_neg(input: Num):
    """False: negation is computed at once."""
    return False


@op(composite=True)
def isreal(input: Num):
    """Where the imaginary part is zero."""
    return T.eq(T.imag_part(input), 0) if input.is_complex() else T.eq(T.full(tuple(input.shape), 0, input), 0)


attach(real=property(real, _set_part(real)), imag=property(imag, _set_part(imag)))
