"""Random tensor programs: views, slices, in-place writes and backward, written once and run by any library with
PyTorch's methods.

A program is a list of steps of small integers, so that hypothesis can shrink it; every number is taken modulo what is
possible.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SHAPES = ((4,), (2, 3), (3, 4), (2, 3, 4), (1, 3), (3, 1, 2), ())
step = st.tuples(*[st.integers(0, 11) for _ in range(5)])
programs = st.tuples(st.sampled_from(SHAPES), st.booleans(), st.lists(step, min_size=1, max_size=14))


def _slice(x: Any, a: int, b: int, c: int) -> Any:
    if not x.ndim:
        return x[...]
    d = a % x.ndim
    n = x.shape[d]
    start = b % max(n, 1)  # never empty: what PyTorch says of writes to empty views depends on their history
    return x[(slice(None),) * d + (slice(start, start + 1 + c % (n + 1), 1 + c % 2),)]


def _select(x: Any, a: int, b: int, c: int) -> Any:
    d = a % x.ndim if x.ndim else 0
    return x[(slice(None),) * d + (b % x.shape[d] - (x.shape[d] if c % 2 else 0),)] if x.ndim and x.shape[d] else x[...]


def _permute(x: Any, a: int, b: int, c: int) -> Any:
    dims = list(range(x.ndim))
    if x.ndim > 1:
        i, j = a % x.ndim, b % x.ndim
        dims[i], dims[j] = dims[j], dims[i]
    return x.permute(dims)


def _newaxis(x: Any, a: int, b: int, c: int) -> Any:
    return x[(slice(None),) * (a % (x.ndim + 1)) + (None,)] if x.ndim < 4 else x[...]


def _reshape(x: Any, a: int, b: int, c: int) -> Any:
    return x.reshape((-1,)) if a % 2 else x.reshape((1, *x.shape)) if x.ndim < 4 else x.reshape(tuple(x.shape))


def _expand(x: Any, a: int, b: int, c: int) -> Any:
    return x.expand((2, *x.shape)) if x.ndim < 4 else x.expand(tuple(x.shape))


VIEWS = (_slice, _select, _permute, _newaxis, _reshape, _expand)


def fitting(x: Any, pool: list[Any], a: int) -> Any:
    """A copy of some tensor of the pool that broadcasts to x; x's own copy if there is none. (Overlapping reads are
    undefined.)
    """
    n = len(pool)
    for i in range(n):
        y = pool[(a + i) % n]
        if y.ndim <= x.ndim and all(
            [p in (1, q) for p, q in zip(tuple(y.shape)[::-1], tuple(x.shape)[::-1], strict=False)]
        ):
            return y.clone()
    return x.clone()


def _write(x: Any, pool: list[Any], a: int, b: int) -> None:
    kind = a % 7
    if kind == 4 and any([s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True)]):
        # PyTorch writes zeros to an expanded tensor, but cannot differentiate through it; other writes are refused
        kind = 0
    if kind == 0:
        x.mul_(1.25)
    elif kind == 1:
        x.add_(fitting(x, pool, b))
    elif kind == 2:
        x.mul_(fitting(x, pool, b))
    elif kind == 3:
        x.copy_(fitting(x, pool, b))
    elif kind == 4:
        x.zero_()
    elif kind == 5 and x.ndim and x.shape[0]:
        x[b % x.shape[0]] = 0.5
    else:
        x.tanh_()


def _compute(x: Any, pool: list[Any], a: int, b: int) -> Any:
    kind = a % 5
    if kind == 0:
        return x * 1.5
    if kind == 1:
        return x * fitting(x, pool, b)
    if kind == 2:
        return x.tanh()
    if kind == 3:
        return x.sum(b % x.ndim, True) if x.ndim else x.sum()
    return (x * 0.25).exp()


def run(program: Any, make: Any, no_grad: Any) -> tuple[list[Any], list[Any], str]:
    """Run a program: (tensors of its pool, leaves, class of the error that ended it or "").

    make(shape, seed): a new leaf; no_grad: the library's context manager.
    """
    shape, tracked, steps = program
    leaves = [make(shape, 1), make(shape[-1:], 2)]
    for t in leaves:
        t.requires_grad_(tracked)
    # All tracked or none: PyTorch refuses writes to a view whose base became tracked after the view was made.
    pool = [leaves[0] * 1.0, leaves[1].clone(), leaves[0] * 0.5]
    try:
        for kind, a, b, c, d in steps:
            i = a % len(pool)
            if kind < 5:
                pool.append(VIEWS[b % len(VIEWS)](pool[i], c, d, kind))
            elif kind < 9:
                _write(pool[i], pool, b, c)
            elif kind < 11:
                pool.append(_compute(pool[i], pool, b, c))
            else:
                with no_grad():
                    _write(pool[i], pool, b, c)
        total = sum([(t * t).sum() for t in pool])
        if tracked and total.requires_grad:
            total.backward()
    except (RuntimeError, IndexError, ValueError) as error:
        return pool, leaves, "IndexError" if isinstance(error, IndexError) else "RuntimeError"
    return pool, leaves, ""
