"""PyTorch's API in Python you can read: tensors and autograd on NumPy, CuPy and MLX."""

import math as _math
from importlib import import_module as _import_module

from framework import _shadow_check

_shadow_check.check()  # before the first import of `backends`

from backends.dtypes import (
    bfloat16, bool_, complex64, complex128, dtype, float16, float32, float64, int8, int16, int32, int64, uint8, uint16,
    uint32, uint64,
)  # fmt: skip
from framework.core.defaults import get_default_dtype, set_default_dtype
from framework.core.dtype_info import finfo, iinfo
from framework.core.device import device, get_default_device, set_default_device
from framework.core.memory_format import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from framework.core.shape import Size
from framework.core.tensor import Tensor
from framework.core.threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads

from . import ops as _ops
from . import autograd, func, linalg, special
from .autograd import (
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .autograd.grad_mode import is_inference
from .core.promotion import can_cast, promote_types
from .core import representation as _representation
from .core.printing import set_printoptions
from .dispatch.registry import PUBLIC as _PUBLIC
from .ops.conversion import as_tensor, asarray, from_numpy, result_type, scalar_tensor, tensor

globals().update(_PUBLIC[""])
from .history import explain
from . import random
from .random import (
    Generator, default_generator, get_rng_state, initial_seed, manual_seed, random_mode, seed, set_rng_state,
)  # fmt: skip

bool = bool_
float, double, half, long, int, short, cfloat, cdouble = (
    float32,
    float64,
    float16,
    int64,
    int32,
    int16,
    complex64,
    complex128,
)
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None
__version__ = "0.1.0"

_ABOVE = ("accelerator", "amp", "backends", "config", "cuda", "nn", "optim", "utils")


def __getattr__(name: str):
    """The layers above this one, imported when first used: they import this one, which must not import them."""
    if name in _ABOVE:
        return _import_module(f"framework.{name}")
    raise AttributeError(f"module 'framework' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_ABOVE})
