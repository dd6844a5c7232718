"""The matrix of im2col in tiles of bounded size, in names that NumPy and CuPy share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

__all__ = ["Columns", "Ints", "Sliding", "Tile", "empty_as", "is_channels_last", "tiles"]

Ints = tuple[int, ...]


class Sliding(NamedTuple):
    """The parameters of a convolution, one number a spatial dimension; `size` and `out` are input and output sizes.

    A window may reach beyond the input on either side, whatever `padding` says; there it sees zeros.
    """

    size: Ints
    kernel: Ints
    out: Ints
    stride: Ints
    padding: Ints
    dilation: Ints

    @property
    def pointwise(self) -> bool:
        """Whether windows are the input's own positions, one by one."""
        return set(self.kernel) | set(self.stride) == {1} and not any(self.padding) and self.size == self.out


class Tile(NamedTuple):
    """A block of the output: channel groups, images, and a box of window positions.

    A box that is not the whole output comes with a single image, and its positions are consecutive in row-major order.
    """

    groups: slice
    images: slice
    box: tuple[slice, ...]
    start: int  # the box's positions as a range within the image
    stop: int

    @property
    def shape(self) -> Ints:
        """(groups, images, *positions)"""
        return tuple(s.stop - s.start for s in (self.groups, self.images, *self.box))

    def of(self, channels: int) -> tuple[slice, ...]:
        """The key of the tile's part of an output (N, groups*channels, *out)."""
        return self.images, slice(self.groups.start * channels, self.groups.stop * channels), *self.box


class Window(NamedTuple):
    """What a tile's windows see of an image: its key in the input, its key in the window (which may reach beyond the
    input), the window's size, and whether all of the window lies in the input.
    """

    source: tuple[slice, ...]
    target: tuple[slice, ...]
    spans: Ints
    complete: bool


def tiles(images: int, out: Ints, groups: int, position_bytes: int, workspace: int) -> Iterator[Tile]:
    """Cover groups x images x out by tiles of at most `workspace` bytes (or of one position of one group, if that is
    more), with `position_bytes` for a position of a group. Groups are divided first: a matrix product likes long rows.
    """
    if not images * prod(out) * groups:
        return
    some = min(images * prod(out), 4096)
    step = max(1, min(groups, workspace // (position_bytes * some)))
    positions = max(1, workspace // (position_bytes * step))
    whole = tuple(slice(0, n) for n in out)
    for first in range(0, groups, step):
        chosen = slice(first, min(first + step, groups))
        if positions >= prod(out):
            many = positions // prod(out)
            for n in range(0, images, many):
                yield Tile(chosen, slice(n, min(n + many, images)), whole, 0, prod(out))
        else:
            for n in range(images):
                for start, box in _boxes(out, positions):
                    yield Tile(chosen, slice(n, n + 1), box, start, start + prod(b.stop - b.start for b in box))


def _boxes(out: Ints, positions: int) -> Iterator[tuple[int, tuple[slice, ...]]]:
    """Cut `out` into runs of at most `positions` consecutive places, each a box; with the number of its first place."""
    row = prod(out[1:])
    if row > positions:
        for i in range(out[0]):
            for start, box in _boxes(out[1:], positions):
                yield i * row + start, (slice(i, i + 1), *box)
        return
    whole = tuple(slice(0, n) for n in out[1:])
    pieces = -(-out[0] * row // positions)
    rows = -(-out[0] // pieces)  # pieces of the same size, if possible
    rows = rows if rows * row <= positions else positions // row
    for i in range(0, out[0], rows):
        yield i * row, (slice(i, min(i + rows, out[0])), *whole)


class Columns:
    """The matrix whose row p holds the elements that window p sees in the channels of its group, one tile at a time.

    `gather` fills it from an input, `scatter` is the transpose: it adds the matrix to an input. There are two layouts,
    so that both run along contiguous memory: (groups, channels, *kernel, images, *positions) for row-major arrays and
    (groups, images, *positions, *kernel, channels) for channels-last ones. Either is seen as matrices (groups,
    positions, elements), for BLAS takes a transposed matrix as it is; `weight` brings a weight into the same order.
    """

    def __init__(self, np: Any, x: Any, geometry: Sliding, groups: int, run: int) -> None:
        """For inputs like `x`. A channels-last input gets its own layout if `run`, the number of neighbours that stay
        together in a copy then, is worth it.
        """
        self.np, self.geometry, self.groups, self.dtype = np, geometry, groups, x.dtype
        self.images, self.channels = x.shape[0], x.shape[1] // groups
        self.elements = self.channels * prod(geometry.kernel)
        self.channels_last = run >= 16 and is_channels_last(np, x)
        # the matrix of a pointwise convolution is the input itself, if BLAS can read it and an image gives rows enough
        self.is_input = geometry.pointwise and (
            self.channels_last or (x.flags.c_contiguous and (x.shape[0] == 1 or prod(geometry.out) >= 128))
        )
        self.buffer = self.margin = np.empty(0, x.dtype)
        self.windows: dict[tuple[int, int], Window] = {}
        self.views: dict[tuple[Ints, Ints], tuple[Any, Any, Any, Any]] = {}

    def tiles(self, outputs: int, workspace: int, positions: int) -> Iterator[Tile]:
        """The tiles, for `outputs` output channels in a group: a tile's share of the output counts as workspace too.

        They have `workspace` bytes, or as much more, up to 32 times, as it takes to have `positions` positions.
        """
        out, images, groups = self.geometry.out, self.images, self.groups
        if self.is_input and images:
            whole = tuple(slice(0, n) for n in out)
            for n in (0,) if self.channels_last else range(images):
                yield Tile(slice(0, groups), slice(n, images if self.channels_last else n + 1), whole, 0, prod(out))
            return
        position_bytes = (self.elements + outputs + 1) * self.dtype.itemsize
        workspace = max(workspace, min(32 * workspace, positions * position_bytes))
        yield from tiles(images, out, groups, position_bytes, workspace)

    def weight(self, w: Any) -> Any:
        """The weight (O, channels of a group, *kernel) as matrices (groups, elements, O/groups)."""
        if self.channels_last:
            w = self.np.moveaxis(w, 1, -1)
        return self.np.swapaxes(w.reshape(self.groups, w.shape[0] // self.groups, self.elements), 1, 2)

    def weight_back(self, matrices: Any) -> Any:
        """The inverse of `weight`, contiguous."""
        np, kernel = self.np, self.geometry.kernel
        w = np.swapaxes(matrices, 1, 2)
        outputs = w.shape[0] * w.shape[1]
        if self.channels_last:
            return np.ascontiguousarray(np.moveaxis(w.reshape(outputs, *kernel, self.channels), -1, 1))
        return np.ascontiguousarray(w.reshape(outputs, self.channels, *kernel))

    def empty(self, tile: Tile) -> Any:
        """Room for the tile's matrices (groups, positions, elements): the same memory at every call."""
        groups, places = tile.shape[0], prod(tile.shape[1:])
        self.buffer = self._enough(self.buffer, groups * places * self.elements)
        room = self.buffer[: groups * places * self.elements]
        if self.channels_last:
            return room.reshape(groups, places, self.elements)
        return self.np.swapaxes(room.reshape(groups, self.elements, places), 1, 2)

    def gather(self, x: Any, tile: Tile) -> Any:
        """The tile's matrices of the input `x` (N, C, *size); they stay valid until the next call."""
        if self.is_input:
            return self._input(x, tile)
        window = self._window(tile)
        seen = x[(*tile.of(self.channels)[:2], *window.source)]
        shape, key = tile.shape, (tile.shape, window.spans)
        if window.complete and (self.channels_last or seen.strides[-1] == x.itemsize):
            matrices = self.empty(tile)
            elements = self._elements(matrices, shape)
            elements[...] = self._strided(seen, elements.shape)
            return matrices
        if key not in self.views:
            matrices = self.empty(tile)
            elements, padded = self._elements(matrices, shape), self._padded((*seen.shape[:2], *window.spans))
            self.views[key] = matrices, elements, padded, self._strided(padded, elements.shape)
        matrices, elements, padded, windows = self.views[key]
        if not window.complete:
            padded[...] = 0
        padded[window.target] = seen
        elements[...] = windows
        return matrices

    def scatter(self, matrices: Any, x: Any, tile: Tile) -> None:
        """Add the tile's matrices to the elements of `x` (N, C, *size) that they were gathered from.

        The sums run in a window with one plane for each residue of the position modulo the stride, so that every
        addition is a contiguous one; the planes are then interleaved.
        """
        window, g = self._window(tile), self.geometry
        groups, images, *positions = tile.shape
        rows = tuple(-(-n // s) for n, s in zip(window.spans, g.stride, strict=True))
        planes = self._planes(groups * self.channels, images, rows)
        planes[...] = 0
        elements = self._elements(matrices, tile.shape)
        elements = elements.reshape(groups * self.channels, *elements.shape[2:])
        for tap in product(*map(range, g.kernel)):
            offset = [k * d for k, d in zip(tap, g.dilation, strict=True)]
            plane = tuple(o % s for o, s in zip(offset, g.stride, strict=True))
            place = tuple(slice(o // s, o // s + n) for o, s, n in zip(offset, g.stride, positions, strict=True))
            planes[(slice(None), *plane, slice(None), *place)] += elements[(slice(None), *tap)]
        whole = x[(*tile.of(self.channels)[:2], *window.source)]
        for residue in product(*map(range, g.stride)):
            into, out_of = [], []
            for r, s, t in zip(residue, g.stride, window.target[2:], strict=True):
                first = -(-(t.start - r) // s)  # the plane's first row inside the input
                into.append(slice(first * s + r - t.start, None, s))
                out_of.append(slice(first, max(first, -(-(t.stop - r) // s))))
            part = planes[(slice(None), *residue, slice(None), *out_of)]
            whole[(slice(None), slice(None), *into)] += self.np.swapaxes(part, 0, 1)

    def _input(self, x: Any, tile: Tile) -> Any:
        part, (groups, images, *positions) = x[tile.of(self.channels)], tile.shape
        if self.channels_last:
            rows = self.np.moveaxis(part, 1, -1).reshape(images * prod(positions), groups, self.channels)
            return rows.transpose(1, 0, 2)
        return self.np.swapaxes(part.reshape(groups, self.channels, prod(positions)), 1, 2)

    def _window(self, tile: Tile) -> Window:
        key = tile.start, tile.stop
        if key not in self.windows:
            source, target, spans = [], [slice(None), slice(None)], []
            for size, kernel, _, stride, padding, dilation, box in zip(*self.geometry, tile.box, strict=True):
                start = box.start * stride - padding
                stop = (box.stop - 1) * stride - padding + (kernel - 1) * dilation + 1
                low = min(max(0, start), size)
                high = max(low, min(size, stop))
                source.append(slice(low, high))
                target.append(slice(low - start, high - start))
                spans.append(stop - start)
            complete = all(s.stop - s.start == n for s, n in zip(source, spans, strict=True))
            self.windows[key] = Window(tuple(source), tuple(target), tuple(spans), complete)
        return self.windows[key]

    def _strided(self, window: Any, shape: Ints) -> Any:
        """A window (images, channels, *spans) seen as (groups, channels, *kernel, images, *positions)."""
        image, channel, *step = window.strides
        unit = (b * d for b, d in zip(step, self.geometry.dilation, strict=True))
        hop = (b * s for b, s in zip(step, self.geometry.stride, strict=True))
        strides = channel * self.channels, channel, *unit, image, *hop
        return self.np.lib.stride_tricks.as_strided(window, shape, strides)

    def _padded(self, shape: Ints) -> Any:
        """Room for a window (images, channels, *spans), laid out like the columns."""
        self.margin = self._enough(self.margin, prod(shape))
        room = self.margin[: prod(shape)]
        if self.channels_last:
            return self.np.moveaxis(room.reshape(shape[0], *shape[2:], shape[1]), -1, 1)
        return room.reshape(shape)

    def _planes(self, channels: int, images: int, rows: Ints) -> Any:
        """Room for sums, (channels, *stride, images, *rows)."""
        stride = self.geometry.stride
        count = channels * images * prod(stride) * prod(rows)
        self.margin = self._enough(self.margin, count)
        room = self.margin[:count]
        if self.channels_last:
            return self.np.moveaxis(room.reshape(*stride, images, *rows, channels), -1, 0)
        return room.reshape(channels, *stride, images, *rows)

    def _enough(self, buffer: Any, count: int) -> Any:
        if buffer.size >= count:
            return buffer
        self.views.clear()  # they show the old one
        return self.np.empty(count, self.dtype)

    def _elements(self, matrices: Any, shape: Ints) -> Any:
        """Matrices seen as (groups, channels, *kernel, images, *positions)."""
        kernel, dims = self.geometry.kernel, len(self.geometry.kernel)
        if self.channels_last:
            whole = matrices.reshape(*shape, *kernel, self.channels)
            return whole.transpose(0, 2 + 2 * dims, *range(2 + dims, 2 + 2 * dims), *range(1, 2 + dims))
        return self.np.swapaxes(matrices, 1, 2).reshape(shape[0], self.channels, *kernel, *shape[1:])


def empty_as(np: Any, x: Any, shape: Ints, dtype: Any) -> Any:
    """An empty array (N, C, *S) like x: row-major, or channels-last if x is and S has more than one size."""
    if len(shape) > 3 and is_channels_last(np, x):
        return np.moveaxis(np.empty((shape[0], *shape[2:], shape[1]), dtype), -1, 1)
    return np.empty(shape, dtype)


def is_channels_last(np: Any, x: Any) -> bool:
    """Whether x (N, C, *S) lies in memory as (N, *S, C), and not as (N, C, *S) too."""
    return not x.flags.c_contiguous and bool(np.moveaxis(x, 1, -1).flags.c_contiguous)
