"""Rows of `framework/ops/conv.py`."""

import numpy as np

from tests.references import windows as reference

from . import OpInfo, Sample

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128")
EXACT = (*FLOATS, "int64")


def _spread(value, dims):
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _batched(f, dims):
    """A reference for batches as one for single images too; lengths may be ints; a bias is added."""

    def reference(x, w, bias=None, *places, **named):
        alone = x.ndim == dims + 1
        y = f(x[None] if alone else x, w, *places, **named)
        if bias is not None:
            y = y + bias.reshape(-1, *[1] * dims)
        return y[0] if alone else y

    return reference


def _conv(dims):
    def f(x, w, stride=1, padding=0, dilation=1, groups=1):
        stride, dilation = _spread(stride, dims), _spread(dilation, dims)
        if isinstance(padding, str):
            total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, w.shape[2:], strict=True)]
            x, padding = np.pad(x, ((0, 0), (0, 0), *[(n // 2, n - n // 2) for n in total])), 0
        return reference.convolution(x, w, stride, _spread(padding, dims), dilation, groups)

    return _batched(f, dims)


def _transposed(dims):
    def f(x, w, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        stride, dilation, padding, more = (_spread(v, dims) for v in (stride, dilation, padding, output_padding))
        # without padding the whole of the transpose is there; padding cuts it, output padding cuts less on the right
        rule = zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
        size = tuple((n - 1) * s + d * (k - 1) + 1 for n, k, s, d in rule)
        y = reference.convolution_input(x, w, stride, (0,) * dims, dilation, groups, size)
        y = np.pad(y, ((0, 0), (0, 0), *[(0, m) for m in more]))
        cut = [slice(p, n + m - p) for p, n, m in zip(padding, size, more, strict=True)]
        return y[(slice(None), slice(None), *cut)]

    return _batched(f, dims)


def _convolutions(dims):
    size, kernel = (5, 4, 4)[:dims], (3, 2, 2)[:dims]

    def samples(draw):
        yield Sample((draw(2, 2, *size), draw(3, 2, *kernel), draw(3)))
        yield Sample((draw(2, *size), draw(2, 1, *kernel), None, 2, 1, 1, 2))
        yield Sample((draw(1, 1, *size), draw(2, 1, *kernel), draw(2)), {"padding": "same"})
        two = (2,) * dims
        yield Sample((draw(1, 2, *size), draw(2, 1, *two)), {"dilation": two, "groups": 2, "padding": 1})
        if draw.dtype == "float64":
            yield Sample((draw(0, 2, *size), draw(3, 2, *kernel), draw(3)))

    return samples


def _transposes(dims):
    size, kernel = (3, 2, 2)[:dims], (3, 2, 2)[:dims]

    def samples(draw):
        yield Sample((draw(2, 2, *size), draw(2, 3, *kernel), draw(3)))
        yield Sample((draw(2, *size), draw(2, 1, *kernel), None, 2, 1, 1, 2))
        long = {"stride": 2, "dilation": 3, "output_padding": 2}
        yield Sample((draw(1, 1, *size), draw(1, 2, *kernel), draw(2)), long)

    return samples


def _primitive(name, f, samples):
    return OpInfo(f"_{name}", samples, f, dtypes=EXACT, out=False)


RULES = (((1,), (0,), (1,), 1), ((2,), (1,), (1,), 2), ((1,), (2,), (2,), 1))


def _forward(draw):
    for rule in RULES:
        yield Sample((draw(2, 2, 6), draw(2, 2 // rule[3], 3), *rule))


def _biased(draw):
    for rule in RULES:
        yield Sample((draw(2, 2, 6), draw(4, 2 // rule[3], 3), draw(4), *rule))


def _with_bias(x, w, bias, *rule):
    return reference.convolution(x, w, *rule) + bias[:, None]


def _backward(draw):
    for rule, n in zip(RULES, (4, 3, 6), strict=True):
        yield Sample((draw(2, 2, n), draw(2, 2 // rule[3], 3), *rule, (6,)))


def _weight(draw):
    for rule, n in zip(RULES, (4, 3, 6), strict=True):
        yield Sample((draw(2, 2, 6), draw(2, 2, n), *rule, (3,)))


def zeros(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


X, W = zeros(2, 4, 8, 8), zeros(6, 4, 3, 3)
ERRORS = (
    ((zeros(2, 4, 8, 8, 8), W), RuntimeError, r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d"),
    ((zeros(8, 8), W), RuntimeError, r"input of size: \[8, 8\]"),
    ((X, zeros(6, 4, 3)), RuntimeError, "4-dimensional weight"),
    ((zeros(2, 3, 8, 8), W), RuntimeError, r"expected input\[2, 3, 8, 8\] to have 4 channels, but got 3 channels"),
    ((X, zeros(6, 1, 3, 3), None, 1, 0, 1, 4), RuntimeError, "expected weight to be divisible by 4 at dimension 0"),
    ((X, W, None, 1, 0, 1, 8), RuntimeError, "expected weight to be at least 8 at dimension 0"),
    ((X, W, None, 1, 0, 1, 0), RuntimeError, "non-positive groups is not supported"),
    ((X, W, None, 1, -1), RuntimeError, "negative padding is not supported"),
    ((X, W, None, 0), RuntimeError, "non-positive stride is not supported"),
    ((X, W, None, 1, 0, 0), RuntimeError, "non-positive dilation is not supported"),
    ((zeros(2, 4, 2, 2), W), RuntimeError, r"\(3 x 3\). Kernel size can't be greater than actual input"),
    ((zeros(2, 4, 2, 8), W, None, 1, 0, 3), RuntimeError, r"input size per channel: \(2 x 8\). Kernel size: \(7 x 7\)"),
    ((X, zeros(6, 4, 3, 3, dtype="float64")), RuntimeError, r"FloatTensor\) and weight type \(torch.*DoubleTensor"),
    ((X, W, zeros(6, dtype="float64")), RuntimeError, r"\(float\) and bias type \(double\) should be the same"),
    ((X, W, zeros(5)), RuntimeError, r"expected bias to be 1-dimensional with 6 elements, but got bias of size \[5\]"),
    ((X, W, zeros(6, 1)), RuntimeError, r"bias of size \[6, 1\]"),
    ((X, W, None, 2, "same"), RuntimeError, "padding='same' is not supported for strided convolutions"),
    ((X, W, None, 1, "full"), RuntimeError, "Invalid padding string: 'full'"),
    ((X, W, None, (1, 1, 1)), RuntimeError, r"expected stride to be a single integer value or a list of 2 values"),
    ((X, W, None, 1.5), TypeError, "must be int"),
    ((X, 3), TypeError, "must be Tensor, not int"),
    ((X.astype(bool), W.astype(bool)), NotImplementedError, "not implemented for 'Bool'"),
)
V = zeros(4, 6, 3, 3)
TRANSPOSED_ERRORS = (
    ((zeros(8, 8), V), RuntimeError, r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv_transpose2d"),
    ((zeros(2, 3, 8, 8), V), RuntimeError, "transposed=1, weight of size .* to have 4 channels, but got 3 channels"),
    ((X, V, zeros(5)), RuntimeError, "expected bias to be 1-dimensional with 6 elements"),
    ((X, V, None, 2, 0, 2), RuntimeError, "output padding must be smaller than either stride or dilation"),
    ((X, V, None, 2, 0, -1), RuntimeError, "negative output_padding is not supported"),
    ((X, V, None, 1, 6), RuntimeError, "Output size is too small"),
    ((X, V, None, 1, "same"), TypeError, "must be int|tuple of ints"),
)

ROWS = [
    _primitive("conv", reference.convolution, _forward),
    _primitive("conv_input", reference.convolution_input, _backward),
    _primitive("conv_weight", reference.convolution_weight, _weight),
    OpInfo("_conv_bias", _biased, _with_bias, dtypes=EXACT, out=False),
    OpInfo("conv1d", _convolutions(1), _conv(1), dtypes=FLOATS),
    OpInfo("conv2d", _convolutions(2), _conv(2), dtypes=FLOATS, errors=ERRORS),
    OpInfo("conv3d", _convolutions(3), _conv(3), dtypes=FLOATS),
    OpInfo("conv_transpose1d", _transposes(1), _transposed(1), dtypes=FLOATS),
    OpInfo("conv_transpose2d", _transposes(2), _transposed(2), dtypes=FLOATS, errors=TRANSPOSED_ERRORS),
    OpInfo("conv_transpose3d", _transposes(3), _transposed(3), dtypes=FLOATS),
]
