"""What convolutions and poolings share: numbers a dimension, dtype names in errors, moving the batch axis of vmap."""

from __future__ import annotations

from framework.core.promotion import scalar_type_name
from framework.core.shape import as_ints
from framework.dispatch.registry import T

SHORT = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int"}


def numbers(value, dims: int, name: str) -> tuple[int, ...]:
    """One int a spatial dimension, from an int or a sequence of one or `dims` ints; None where there are others."""
    found = as_ints(value, name)
    if len(found) == 1:
        found *= dims
    return found if len(found) == dims else None


def type_name(t) -> str:
    """The name of a tensor's type in error texts: torch.FloatTensor, torch.cuda.DoubleTensor."""
    place = "" if t.backend.device_type == "cpu" else f"{t.backend.device_type}."
    return f"torch.{place}{scalar_type_name(t.dtype)}Tensor"


def short_name(t) -> str:
    """The name of a tensor's dtype in other error texts: float, double."""
    name = scalar_type_name(t.dtype)
    return SHORT.get(name, name)


def join_axis(x, at: int, groups: int = 1):
    """(B, ..., groups*D, ...) with the axis of examples joined to dimension `at` of each: (..., groups*B*D, ...)."""
    size, *shape = x.shape
    x = T.reshape(x, (size, *shape[:at], groups, shape[at] // groups, *shape[at + 1 :]))
    x = T.permute(x, (*range(1, at + 2), 0, *range(at + 2, x.ndim)))
    return T.reshape(x, (*shape[:at], size * shape[at], *shape[at + 1 :]))


def split_axis(x, at: int, size: int, groups: int = 1):
    """The inverse of `join_axis`, for `size` examples."""
    shape = tuple(x.shape)
    x = T.reshape(x, (*shape[:at], groups, size, shape[at] // (groups * size), *shape[at + 1 :]))
    x = T.permute(x, (at + 1, *range(at + 1), *range(at + 2, x.ndim)))
    return T.reshape(x, (size, *shape[:at], shape[at] // size, *shape[at + 1 :]))


def examples_as_images(fn, size, flags, args):
    """The batching rule of functions of one (N, C, *S): images of all examples are images."""
    out = fn(join_axis(args[0], 0), *args[1:])
    return tuple([split_axis(o, 0, size) for o in out]) if isinstance(out, tuple) else split_axis(out, 0, size)
