"""Dropout in its forms, and the other functions of a layer that draw: `rrelu`, `gumbel_softmax`."""

from __future__ import annotations

import warnings
from math import sqrt

from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num
from framework.ops.random_draw import Source, drawn, memory_order

_FUNCTIONAL = {"composite": True, "spaces": ("nn.functional",), "method": False}
ALPHA = 1.7580993408473766  # scale times alpha of SELU: minus its value at minus infinity


def _check(p, name):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p} ({name})")


def _noise(input, p, name, channels=False):
    """1 with probability 1 - p, else 0, for each element or for each channel of each example."""
    if not channels:
        return drawn(
            input.backend,
            tuple(input.shape),
            input.dtype,
            Source(name, None, "bernoulli", (1 - p,)),
            memory_order(input),
        )
    if input.ndim < 2:
        raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {input.ndim} ({name})")
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return drawn(input.backend, shape, input.dtype, Source(name, None, "bernoulli", (1 - p,)))


def _times(input, noise, inplace):
    return input.mul_(noise) if inplace else input * noise


def _dropped(name, input, p, training, inplace, channels=False):
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return _times(input, T.full((), 0, T.like(input)), inplace)
    return _times(input, _noise(input, p, name, channels) / (1 - p), inplace)


def _alpha_dropped(name, input, p, training, inplace, channels=False):
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return _times(input, T.full((), 0, T.like(input)), inplace)
    noise = _noise(input, p, name, channels)
    scale = 1 / sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    shift = (noise - 1) * (ALPHA * scale) + ALPHA * scale * p
    out = _times(input, noise * scale, inplace)
    return out.add_(shift) if inplace else out + shift


@op(**_FUNCTIONAL)
def dropout(input: Num, p=0.5, training=True, inplace=False):
    """Each element zero with probability `p`, else over 1 - p, in training; `input` itself otherwise (Hinton et al.
    2012).

    ValueError for a `p` outside [0, 1].
    """
    _check(p, "dropout")
    return _dropped("dropout", input, p, training, inplace)


@op(**_FUNCTIONAL)
def alpha_dropout(input: Num, p=0.5, training=False, inplace=False):
    """Dropout to SELU's lowest value instead of zero, then scaled and shifted to keep mean 0 and variance 1 (Klambauer
    et al. 2017).
    """
    _check(p, "alpha_dropout")
    return _alpha_dropped("alpha_dropout", input, p, training, inplace)


@op(**_FUNCTIONAL)
def feature_alpha_dropout(input: Num, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels (dimension 1)."""
    _check(p, "feature_alpha_dropout")
    return _alpha_dropped("feature_alpha_dropout", input, p, training, inplace, channels=True)


@op(**_FUNCTIONAL)
def dropout1d(input: Num, p=0.5, training=True, inplace=False):
    """`dropout` of whole channels of (N, C, L) or (C, L). RuntimeError for other numbers of dimensions."""
    _check(p, "dropout1d")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _of_channels("dropout1d", input, p, training, inplace, input.ndim == 2)


@op(**_FUNCTIONAL)
def dropout2d(input: Num, p=0.5, training=True, inplace=False):
    """`dropout` of whole channels of (N, C, H, W). A 3-D input is (N, C, L), with a warning."""
    _check(p, "dropout2d")
    if input.ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an "
            "error in a future release. To retain the behavior and silence this warning, please use dropout instead.",
            stacklevel=3,
        )
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L), where C is the channel dim. Please use dropout1d "
            "instead.",
            stacklevel=3,
        )
    return _of_channels("dropout2d", input, p, training, inplace)


@op(**_FUNCTIONAL)
def dropout3d(input: Num, p=0.5, training=True, inplace=False):
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check(p, "dropout3d")
    if input.ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an "
            "error in a future release. To retain the behavior and silence this warning, please use dropout instead.",
            stacklevel=3,
        )
    return _of_channels("dropout3d", input, p, training, inplace, input.ndim == 4)


def _of_channels(name, input, p, training, inplace, alone=False):
    x = T.unsqueeze(input, (0,)) if alone else input
    out = _dropped(name, x, p, training, inplace, channels=True)
    return T.squeeze(out, (0,)) if alone else out


def _show(name, dropped, channels, alpha=False):
    """`torch.name(input, p, train)` and its in-place form."""

    def function(input, p, train):
        _check(p, name)
        return dropped(name, input, p, train, False, channels)

    def function_(input, p, train):
        _check(p, name)
        return dropped(name, input, p, train, True, channels)

    function.__name__, function_.__name__ = name, name + "_"
    function.__doc__ = (
        f"`nn.functional.{name}` with `train` in place of `training`."
        if name != "feature_dropout"
        else "`dropout` of whole channels."
    )
    function_.__doc__ = f"In-place form of `{name}`."
    PUBLIC.setdefault("", {}).update({name: function, name + "_": function_})


for _name, _dropped_by, _channels in (
    ("dropout", _dropped, False),
    ("feature_dropout", _dropped, True),
    ("alpha_dropout", _alpha_dropped, False),
    ("feature_alpha_dropout", _alpha_dropped, True),
):
    _show(_name, _dropped_by, _channels)


# ---------------------------------------------------------------- other draws


@op(composite=True, spaces=("", "nn.functional"), method=False)
def rrelu(input: Num, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """input where it is positive, else a input: a drawn for each element from [lower, upper) in training, else their
    mean (Xu et al. 2015)."""
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound: got {lower} and {upper} (rrelu)"
        )
    functional = PUBLIC["nn.functional"]
    if not training:
        return functional["leaky_relu"](input, (lower + upper) / 2, inplace)
    slopes = drawn(input.backend, tuple(input.shape), input.dtype, Source("rrelu", None, "uniform", (lower, upper)))
    factors = T.where(input.detach() > 0, T.full((), 1, T.like(input)), slopes)
    return _times(input, factors, inplace)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """In-place form of `rrelu`."""
    return rrelu(input, lower, upper, training, True)


PUBLIC["nn.functional"]["rrelu_"] = PUBLIC[""]["rrelu_"] = rrelu_


@op(**_FUNCTIONAL)
def gumbel_softmax(logits: Num, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution: softmax of (logits + noise) / tau (Jang et al. 2016).

    With `hard` it is one-hot in value, with the gradient of the soft sample.
    """
    noise = -T.log(
        drawn(
            logits.backend,
            tuple(logits.shape),
            logits.dtype,
            Source("gumbel_softmax", None, "exponential", (1.0,)),
            memory_order(logits),
        )
    )
    soft = T.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    top = T.eq(soft, T.amax(soft, (dim if dim >= 0 else dim + soft.ndim,), True))
    return T.astype(top, soft.dtype) - soft.detach() + soft
