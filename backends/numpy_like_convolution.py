"""Convolution for the libraries that speak NumPy: im2col in bounded memory and one matrix product a tile."""

from __future__ import annotations

from itertools import product
from math import gcd, prod
from typing import Any

from .im2col import Columns, Ints, Sliding, Tile, empty_as, is_channels_last
from .windows import conv_output_size

__all__ = ["Convolution"]


class Convolution:
    """The three products of a convolution in 1, 2 or 3 spatial dimensions, over `self.np` (NumPy or CuPy).

    With x (N, C, *S), w (O, C/groups, *K), g (N, O, *out), and everything else a tuple with a number a dimension,

        conv(x, w, stride, padding, dilation, groups)
            y[n,o,p] = sum_{c,k} w[o,c,k] x[n,c,p*stride - padding + k*dilation]
        conv_input(g, w, stride, padding, dilation, groups, size)
            the transpose in x, which has the spatial size `size`
        conv_weight(x, g, stride, padding, dilation, groups, kernel)
            the transpose in w, which has the kernel size `kernel`

    are linear in each of their first two operands (nothing is conjugated), and one trilinear form defines them all:

        sum(conv(x, w) * g) == sum(x * conv_input(g, w)) == sum(w * conv_weight(x, g))

    So each has the other two as its transposes, and derivatives of any order need no fourth function. With cotangent t,

        conv(x, w):         of x  conv_input(t, w)     of w  conv_weight(x, t)
        conv_input(g, w):   of g  conv(t, w)           of w  conv_weight(t, g)
        conv_weight(x, g):  of x  conv_input(g, t)     of g  conv(x, t)

    Results are row-major; those of `conv` and `conv_input` in two and three dimensions are channels-last (the strides
    of an (N, *S, C) array) if an operand is.
    """

    np: Any
    conv_workspace = 1 << 20
    """Bytes that a tile aims at: a second-level cache. It takes up to 32 times as many if its matrices are too thin."""

    def conv(self, x: Any, w: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
        """The convolution (a cross-correlation, as the field has it) of x (N, C, *S) and w (O, C/groups, *K)."""
        return self.conv_bias(x, w, None, stride, padding, dilation, groups)

    def conv_bias(self, x: Any, w: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
        """`conv` plus bias (O,), which is added while a tile of the result is still in the cache."""
        size, kernel = x.shape[2:], w.shape[2:]
        out = conv_output_size(size, kernel, stride, padding, dilation)
        y = self._conv_result((x.shape[0], w.shape[0], *out), x, w)
        self._correlate(x, w, Sliding(size, kernel, out, stride, padding, dilation), groups, y, bias)
        return y

    def conv_weight(
        self, x: Any, g: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int, kernel: Ints
    ) -> Any:
        """The transpose of `conv` in w: (O, C/groups, *kernel) from x (N, C, *S) and g (N, O, *out)."""
        np, outputs = self.np, g.shape[1] // groups
        columns = gathering(np, x, Sliding(x.shape[2:], kernel, g.shape[2:], stride, padding, dilation), groups)
        # BLAS is the faster with the longer side first, but a large weight takes long to transpose
        outputs_first = outputs > columns.elements or x.shape[0] * prod(g.shape[2:]) < 2048
        shape = (outputs, columns.elements) if outputs_first else (columns.elements, outputs)
        total = np.zeros((groups, *shape), x.dtype)
        for tile in columns.tiles(outputs, self.conv_workspace, 1024):
            matrices, rows = columns.gather(x, tile), self._rows(g, tile, groups)
            a, b = (rows, matrices) if outputs_first else (matrices, rows)
            if tile.images.start == tile.start == 0:
                np.matmul(np.swapaxes(a, 1, 2), b, out=total[tile.groups])
            else:
                total[tile.groups] += np.matmul(np.swapaxes(a, 1, 2), b)
        return columns.weight_back(np.swapaxes(total, 1, 2) if outputs_first else total)

    def conv_input(self, g: Any, w: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Ints) -> Any:
        """The transpose of `conv` in x: (N, C, *size) from g (N, O, *out) and w (O, C/groups, *K)."""
        outputs, channels = g.shape[1] // groups, w.shape[1]
        x = self._conv_result((g.shape[0], channels * groups, *size), g, w)
        geometry = Sliding(size, w.shape[2:], g.shape[2:], stride, padding, dilation)
        if outputs <= 2 * channels or geometry.pointwise:
            self._correlate_back(g, w, geometry, groups, x)
        else:
            x[...] = 0
            self._add_columns(g, w, geometry, groups, x)
        return x

    def _correlate(self, x: Any, w: Any, geometry: Sliding, groups: int, y: Any, bias: Any = None) -> None:
        """Write the convolution of x and w, plus bias, into y (N, O, *out), which may have any strides."""
        np, outputs, places = self.np, w.shape[0] // groups, prod(geometry.out)
        columns = gathering(np, x, geometry, groups)
        weight = as_matrix(np, columns.weight(w))
        last = is_channels_last(np, y) and outputs >= 8
        if bias is not None:
            bias = bias.reshape((groups, 1, outputs) if last else (groups, outputs, 1))
        if last:
            whole = np.moveaxis(y, 1, -1).reshape(x.shape[0] * places, groups, outputs).transpose(1, 0, 2)
        elif y.flags.c_contiguous:
            whole = y.reshape(x.shape[0], groups, outputs, places)
        for tile in columns.tiles(outputs, self.conv_workspace, 256):
            matrices, chosen = columns.gather(x, tile), weight[tile.groups]
            if last:
                at = slice(tile.images.start * places + tile.start, (tile.images.stop - 1) * places + tile.stop)
                part = np.matmul(matrices, chosen, out=whole[tile.groups, at])
            elif y.flags.c_contiguous and tile.shape[1] == 1:
                into = whole[tile.images.start, tile.groups, :, tile.start : tile.stop]
                part = np.matmul(np.swapaxes(chosen, 1, 2), np.swapaxes(matrices, 1, 2), out=into)
            else:
                part = np.matmul(np.swapaxes(chosen, 1, 2), np.swapaxes(matrices, 1, 2))
            if bias is not None:
                part += bias[tile.groups]
            if not (last or y.flags.c_contiguous and tile.shape[1] == 1):
                part = part.reshape(tile.shape[0] * outputs, *tile.shape[1:])
                y[tile.of(outputs)] = np.swapaxes(part, 0, 1)

    def _correlate_back(self, g: Any, w: Any, geometry: Sliding, groups: int, x: Any) -> None:
        """Write the transposed convolution into x (N, C, *size): for each residue of the position modulo the stride,
        the convolution of g with those elements of the kernel that reach it, turned round.
        """
        np, outputs, channels = self.np, g.shape[1] // groups, w.shape[1]
        turned = np.swapaxes(w.reshape(groups, outputs, channels, *geometry.kernel), 1, 2)
        for residue in product(*map(range, geometry.stride)):
            taps, padding, dilation, target = [], [], [], []
            for r, size, kernel, _, s, p, d in zip(residue, *geometry, strict=True):
                # x[i*s + r] meets w[k] where i*s + r + p - k*d is a multiple of s: every `step`-th k from `first` on
                step = s // gcd(s, d)
                first = next((k for k in range(min(step, kernel)) if (r + p - k * d) % s == 0), kernel)
                count = len(range(first, kernel, step))
                taps.append(slice(first, None, step))
                dilation.append(step * d // s)
                padding.append((count - 1) * dilation[-1] - (r + p - first * d) // s if count else 0)
                target.append(slice(r, size, s))
            part, some = x[(slice(None), slice(None), *target)], turned[(slice(None), slice(None), slice(None), *taps)]
            if not some.size:
                part[...] = 0
                continue
            some = np.flip(some, tuple(range(3, some.ndim))).reshape(groups * channels, outputs, *some.shape[3:])
            ones = (1,) * len(padding)
            back = Sliding(geometry.out, some.shape[2:], part.shape[2:], ones, tuple(padding), tuple(dilation))
            self._correlate(g, some, back, groups, part)

    def _add_columns(self, g: Any, w: Any, geometry: Sliding, groups: int, x: Any) -> None:
        """Add the transposed convolution to x: the product of g and the weight is the result's im2col matrix, which is
        added up. The better way where x has far fewer channels than g.
        """
        np, outputs = self.np, g.shape[1] // groups
        columns = Columns(np, x, geometry, groups, w.shape[1])
        weight = as_matrix(np, columns.weight(w))
        for tile in columns.tiles(outputs, 4 * self.conv_workspace, 256):
            matrices, rows = columns.empty(tile), self._rows(g, tile, groups)
            if columns.channels_last:
                np.matmul(rows, np.swapaxes(weight[tile.groups], 1, 2), out=matrices)
            else:
                np.matmul(weight[tile.groups], np.swapaxes(rows, 1, 2), out=np.swapaxes(matrices, 1, 2))
            columns.scatter(matrices, x, tile)

    def _conv_result(self, shape: Ints, a: Any, b: Any) -> Any:
        return empty_as(self.np, b if is_channels_last(self.np, b) else a, shape, a.dtype)

    def _rows(self, g: Any, tile: Tile, groups: int) -> Any:
        """The tile's part of g (N, O, *out) as matrices (groups, positions, O/groups)."""
        np, outputs = self.np, g.shape[1] // groups
        part, places = g[tile.of(outputs)], prod(tile.shape[1:])
        if is_channels_last(np, g):
            rows = np.moveaxis(part, 1, -1).reshape(places, tile.shape[0], outputs).transpose(1, 0, 2)
        else:
            rows = np.swapaxes(np.swapaxes(part, 0, 1).reshape(tile.shape[0], outputs, places), 1, 2)
        return as_matrix(np, rows)


def gathering(np: Any, x: Any, geometry: Sliding, groups: int) -> Columns:
    """The columns of x, to gather: a channels-last copy keeps channels together, and a row of the kernel if it can."""
    together = groups == geometry.dilation[-1] == 1
    return Columns(np, x, geometry, groups, x.shape[1] // groups * (geometry.kernel[-1] if together else 1))


def as_matrix(np: Any, a: Any) -> Any:
    """`a`, or a copy of it if its last two dimensions are no matrix that BLAS can read (NumPy is then slow by far)."""
    (rows, columns), (row, column), unit = a.shape[-2:], a.strides[-2:], a.itemsize
    ready = (column == unit and row >= columns * unit) or (row == unit and column >= rows * unit)
    return a if ready else np.ascontiguousarray(a)
