"""Convolution and pooling by loops over windows, in NumPy. Arrays are batches (N, C, *S); lengths are tuples."""

from __future__ import annotations

from itertools import product

import numpy as np


def windows(size, kernel, stride, padding, dilation, ceil_mode=False):
    """Each window: its place in the output, and (tap, place in the input) of each of its elements inside the input."""
    outs = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        places = range(-p, n + p, s)
        whole = [a for a in places if a + d * (k - 1) + 1 <= n + p]
        # one more window than fits whole if something is left over for it, and if it starts before the right padding
        partial = [a for a in places if a < n and a - s + d * (k - 1) + 1 < n + p]
        outs.append(partial if ceil_mode and len(partial) > len(whole) else whole)
    for place in product(*[range(len(o)) for o in outs]):
        corner = [o[i] for o, i in zip(outs, place, strict=True)]
        found = []
        for tap in product(*map(range, kernel)):
            at = tuple(c + k * d for c, k, d in zip(corner, tap, dilation, strict=True))
            if all(0 <= i < n for i, n in zip(at, size, strict=True)):
                found.append((tap, at))
        yield place, found


def output_size(size, kernel, stride, padding, dilation, ceil_mode=False):
    """How many windows there are along each dimension."""
    places = [place for place, _ in windows(size, kernel, stride, padding, dilation, ceil_mode)]
    return tuple(max((p[i] for p in places), default=-1) + 1 for i in range(len(size)))


def _bilinear(size, kernel, stride, padding, dilation):
    """Triples (output place, tap, input place) that a convolution joins."""
    for place, found in windows(size, kernel, stride, padding, dilation):
        for tap, at in found:
            yield (slice(None), slice(None), *place), (slice(None), slice(None), *tap), (slice(None), slice(None), *at)


def convolution(x, w, stride, padding, dilation, groups):
    """y[n,o,p] = sum_{c,k} w[o,c,k] x[n,c,p*stride - padding + k*dilation]"""
    out = output_size(x.shape[2:], w.shape[2:], stride, padding, dilation)
    y = np.zeros((x.shape[0], groups, w.shape[0] // groups, *out), np.result_type(x, w))
    x = x.reshape(x.shape[0], groups, w.shape[1], *x.shape[2:])
    v = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    for place, tap, at in _bilinear(x.shape[3:], w.shape[2:], stride, padding, dilation):
        y[(slice(None), *place)] += (x[(slice(None), *at)][:, :, None] * v[(slice(None), *tap)]).sum(-1)
    return y.reshape(x.shape[0], w.shape[0], *out)


def convolution_input(g, w, stride, padding, dilation, groups, size):
    """The transpose of `convolution` in x."""
    x = np.zeros((g.shape[0], groups, w.shape[1], *size), np.result_type(g, w))
    h = g.reshape(g.shape[0], groups, g.shape[1] // groups, *g.shape[2:])
    v = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    for place, tap, at in _bilinear(size, w.shape[2:], stride, padding, dilation):
        x[(slice(None), *at)] += (h[(slice(None), *place)][..., None] * v[(slice(None), *tap)]).sum(-2)
    return x.reshape(g.shape[0], groups * w.shape[1], *size)


def convolution_weight(x, g, stride, padding, dilation, groups, kernel):
    """The transpose of `convolution` in w."""
    channels, outputs = x.shape[1] // groups, g.shape[1] // groups
    w = np.zeros((groups, outputs, channels, *kernel), np.result_type(x, g))
    h = g.reshape(g.shape[0], groups, outputs, *g.shape[2:])
    x = x.reshape(x.shape[0], groups, channels, *x.shape[2:])
    for place, tap, at in _bilinear(x.shape[3:], kernel, stride, padding, dilation):
        w[(slice(None), *tap)] += (h[(slice(None), *place)][..., None] * x[(slice(None), *at)][:, :, None]).sum(0)
    return w.reshape(groups * outputs, channels, *kernel)


def largest(x, kernel, stride, padding, dilation, ceil_mode):
    """Maximum of each window and its place in the plane: the first of equals, the last nan."""
    size = x.shape[2:]
    out = output_size(size, kernel, stride, padding, dilation, ceil_mode)
    values, index = np.empty((*x.shape[:2], *out), x.dtype), np.empty((*x.shape[:2], *out), np.int64)
    for place, found in windows(size, kernel, stride, padding, dilation, ceil_mode):
        for n, c in np.ndindex(x.shape[:2]):
            best = found[0][1]
            for _, at in found[1:]:
                a, b = x[(n, c, *at)], x[(n, c, *best)]
                if a > b or a != a:
                    best = at
            values[(n, c, *place)] = x[(n, c, *best)]
            index[(n, c, *place)] = np.ravel_multi_index(best, size)
    return values, index


def sums(x, kernel, stride, padding, ceil_mode):
    """The sum of each window."""
    ones = (1,) * len(kernel)
    y = np.zeros((*x.shape[:2], *output_size(x.shape[2:], kernel, stride, padding, ones, ceil_mode)), x.dtype)
    for place, found in windows(x.shape[2:], kernel, stride, padding, ones, ceil_mode):
        for _, at in found:
            y[(slice(None), slice(None), *place)] += x[(slice(None), slice(None), *at)]
    return y


def spread(g, kernel, stride, padding, ceil_mode, size):
    """The transpose of `sums`."""
    x = np.zeros((*g.shape[:2], *size), g.dtype)
    for place, found in windows(size, kernel, stride, padding, (1,) * len(kernel), ceil_mode):
        for _, at in found:
            x[(slice(None), slice(None), *at)] += g[(slice(None), slice(None), *place)]
    return x


def adaptive_windows(size, out):
    """Each window of an adaptive pooling: its place, and the key of its elements."""
    for place in product(*map(range, out)):
        yield place, tuple(slice(i * n // o, -(-(i + 1) * n // o)) for i, n, o in zip(place, size, out, strict=True))
