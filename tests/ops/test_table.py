"""Every row of `tests/opinfo` through every mechanism: forward, reverse, forward mode, second order, vmap, in-place,
out=, strides.
"""

from __future__ import annotations

import numpy as np
import pytest

import framework
from framework.autograd import grad
from framework.core.tensor import Tensor
from framework.dispatch.recording import Recording
from framework.dispatch.registry import ENTRIES
from framework.func import grad as func_grad
from framework.func import jvp, vmap
from tests.opinfo import Draw, OpInfo, rows

from .checks import as_function, close, convert, loss_of, numeric_gradients, resolve, tensor, tensors_of, values

ROWS = rows()
every = pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
differentiable = pytest.mark.parametrize("row", [r for r in ROWS if r.grad], ids=lambda r: r.id)
HOST_ONLY = {"mlx:cpu": {"complex128"}}  # dtypes that a device's arrays cannot hold


def samples(row: OpInfo, dtype: str):
    return list(row.samples(Draw(sum(map(ord, row.name)), dtype)))


def wide(device: str, row: OpInfo) -> str:
    """The dtype of derivative tests: float64 where a device computes in it."""
    return "float32" if device.startswith("mlx") else row.dtypes[0]


def tolerance(device: str, row: OpInfo) -> float:
    return row.tolerance * (20 if device.startswith("mlx") else 4)


def cases(device: str, row: OpInfo):
    dtype = wide(device, row)
    for sample in samples(row, dtype if dtype in row.dtypes else row.dtypes[0]):
        yield dtype, sample


@every
def test_forward(row: OpInfo, device: str) -> None:
    op = resolve(row.name)
    for dtype in row.dtypes:
        if dtype in HOST_ONLY.get(device, ()):
            continue
        for sample in samples(row, dtype):
            half = dtype in ("float16", "bfloat16")
            args = convert(sample.args, lambda a, d=dtype: tensor(a, device, d))
            host = convert(
                sample.args,
                lambda a, d=dtype, h=half: (
                    values(tensor(a, "cpu", d)).astype("float32") if h and a.dtype.kind == "f" else a
                ),
            )
            with np.errstate(all="ignore"):
                want = row.reference(*host, **sample.kwargs)
            if any(
                str(getattr(w, "dtype", None)) in HOST_ONLY.get(device, ())
                for w in (want if isinstance(want, (tuple, list)) else (want,))
            ):
                continue
            got = op(*args, **convert(sample.kwargs, lambda a: tensor(a, device)))
            close(values(got), want, dtype, row.tolerance * (8 if device.startswith("mlx") else 1))


@differentiable
def test_reverse(row: OpInfo, device: str) -> None:
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        xs = [tensor(a, device, dtype, requires_grad=True) for a in leaves]
        loss_of(f(*xs)).backward()
        host = as_function(row, sample, "cpu")[0]
        want = numeric_gradients(
            lambda *a, h=host: loss_of(h(*[tensor(x, "cpu") for x in a])).item(),
            [a.astype("complex128" if a.dtype.kind == "c" else "float64") for a in leaves],
        )
        for x, w in zip(xs, want, strict=True):
            close(values(x.grad), w, "float32" if dtype == "float32" else "float16", 10 if dtype == "float32" else 1e-4)


@differentiable
def test_reverse_on_tensors_equals_reverse_on_arrays(row: OpInfo, device: str) -> None:
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        xs = [tensor(a, device, dtype, requires_grad=True) for a in leaves]
        arrays = grad(loss_of(f(*xs)), xs, allow_unused=True)
        tensors = grad(loss_of(f(*xs)), xs, create_graph=True, allow_unused=True)
        close(values(tensors), values(arrays), dtype, tolerance(device, row))


@differentiable
def test_jvp_is_the_transpose_of_vjp(row: OpInfo, device: str) -> None:
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        xs = tuple([tensor(a, device, dtype) for a in leaves])
        rng = np.random.default_rng(1)
        ts = tuple([tensor(rng.uniform(-1, 1, a.shape).astype(a.dtype), device, dtype) for a in leaves])
        _, directional = jvp(lambda *a, f=f: loss_of(f(*a)), xs, ts)
        ys = [tensor(a, device, dtype, requires_grad=True) for a in leaves]
        gs = grad(loss_of(f(*ys)), ys, allow_unused=True)
        want = sum(
            [float(np.real(np.conj(values(g)) * values(t)).sum()) for g, t in zip(gs, ts, strict=True) if g is not None]
        )
        close(values(directional), np.float64(want), dtype, tolerance(device, row) * 10)


@pytest.mark.parametrize("row", [r for r in ROWS if r.grad and r.second], ids=lambda r: r.id)
def test_second_order(row: OpInfo, device: str) -> None:
    """Reverse over reverse against forward over reverse."""
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        rng = np.random.default_rng(2)
        ts = [tensor(rng.uniform(-1, 1, a.shape).astype(a.dtype), device, dtype) for a in leaves]
        xs = [tensor(a, device, dtype, requires_grad=True) for a in leaves]
        gs = grad(loss_of(f(*xs)), xs, create_graph=True, allow_unused=True)
        total = sum([loss_of(g * t) for g, t in zip(gs, ts, strict=True) if g is not None])
        twice = (
            grad(total, xs, allow_unused=True)
            if isinstance(total, Tensor) and total.requires_grad
            else [None] * len(xs)
        )

        def once(*a, f=f):
            return func_grad(lambda *b: loss_of(f(*b)), tuple(range(len(a))))(*a)

        if any(a.dtype.kind == "c" for a in leaves):
            continue  # conjugation makes the two orders transposes of each other, not equal
        weighted = jvp(
            lambda *a, n=once: n(*a),
            tuple([tensor(a, device, dtype) for a in leaves]),
            tuple([_weights(t) for t in ts]),
        )[1]
        for a, b in zip(twice, weighted, strict=True):
            close(
                values(a) if a is not None else np.zeros(tuple(b.shape)), values(b), dtype, tolerance(device, row) * 25
            )


def _weights(t: Tensor) -> Tensor:
    """The direction that `loss_of(g * t)` weighs the gradient with."""
    w = np.random.default_rng(5).uniform(0.5, 1.5, tuple(t.shape))
    return t * tensor(np.asarray(w), str(t.device), t.dtype.name)


@pytest.mark.parametrize("row", [r for r in ROWS if r.vmap], ids=lambda r: r.id)
def test_vmap_is_a_loop(row: OpInfo, device: str) -> None:
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        if not leaves:
            continue
        scale = (1.0, 0.9, 1.05)
        stacks = [np.stack([a * s for s in scale]).astype(a.dtype) for a in leaves]
        for dims in {(0,) * len(leaves), (0,) + (None,) * (len(leaves) - 1), (None,) * (len(leaves) - 1) + (0,)}:
            given = [tensor(s if d == 0 else a, device, dtype) for s, a, d in zip(stacks, leaves, dims, strict=True)]
            got = values(vmap(f, dims)(*given))
            loop = [
                values(
                    f(
                        *[
                            tensor(s[i] if d == 0 else a, device, dtype)
                            for s, a, d in zip(stacks, leaves, dims, strict=True)
                        ]
                    )
                )
                for i in range(3)
            ]
            want = (
                [np.stack(parts) for parts in zip(*loop, strict=True)] if isinstance(loop[0], list) else np.stack(loop)
            )
            close(got, want, dtype, tolerance(device, row))


@pytest.mark.parametrize("row", [r for r in ROWS if r.grad and r.vmap], ids=lambda r: r.id)
def test_vmap_of_grad_keeps_a_gradient_for_each_example(row: OpInfo, device: str) -> None:
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        stack = np.stack([leaves[0], leaves[0] * np.asarray(0.9).astype(leaves[0].dtype)])
        dims = (0,) + (None,) * (len(leaves) - 1)
        every_input = tuple(range(len(leaves)))
        g = func_grad(lambda *a, f=f: loss_of(f(*a)), every_input)
        got = vmap(g, dims)(tensor(stack, device, dtype), *[tensor(a, device, dtype) for a in leaves[1:]])
        for i in range(2):
            one = g(tensor(stack[i], device, dtype), *[tensor(a, device, dtype) for a in leaves[1:]])
            close([v[i] for v in values(got)], values(one), dtype, tolerance(device, row) * 4)


@pytest.mark.parametrize("row", [r for r in ROWS if r.inplace], ids=lambda r: r.id)
def test_inplace(row: OpInfo, device: str) -> None:
    op = resolve(row.name)
    for dtype, sample in cases(device, row):
        args = convert(sample.args, lambda a, d=dtype: tensor(a, device, d))
        want = op(*args)
        if tuple(want.shape) != tuple(args[0].shape) or want.dtype is not args[0].dtype:
            continue
        target = framework.cat([args[0].reshape(1, -1)] * 2, 0)
        view = target[1].reshape(tuple(args[0].shape))
        assert getattr(view, row.name.split(".")[-1] + "_")(*args[1:]) is view
        close(values(view), values(want), dtype)
        close(values(target[1].reshape(tuple(want.shape))), values(want), dtype)
        close(values(target[0].reshape(tuple(want.shape))), values(args[0]), dtype)


@pytest.mark.parametrize("row", [r for r in ROWS if r.out and not r.name.startswith("_")], ids=lambda r: r.id)
def test_out(row: OpInfo, device: str) -> None:
    op = resolve(row.name)
    for dtype, sample in cases(device, row):
        args = convert(sample.args, lambda a, d=dtype: tensor(a, device, d))
        kwargs = convert(sample.kwargs, lambda a: tensor(a, device))
        want = op(*args, **kwargs)
        if not isinstance(want, Tensor):
            continue
        out = framework.empty_like(want)
        assert op(*args, **kwargs, out=out) is out
        close(values(out), values(want), dtype)


@pytest.mark.parametrize("row", [r for r in ROWS if r.strided], ids=lambda r: r.id)
def test_strided_operands(row: OpInfo, device: str) -> None:
    """Transposed and sliced operands give what contiguous ones give."""
    for dtype, sample in cases(device, row):
        f, leaves = as_function(row, sample, device)
        want = values(f(*[tensor(a, device, dtype) for a in leaves]))
        strided = []
        for a in leaves:
            wide_array = np.repeat(a.T[..., None], 2, -1)
            strided.append(tensor(wide_array, device, dtype)[..., 0].permute(tuple(range(a.ndim))[::-1]))
        close(values(f(*strided)), want, dtype)


@pytest.mark.parametrize("row", [r for r in ROWS if r.errors], ids=lambda r: r.id)
def test_errors(row: OpInfo, device: str) -> None:
    op = resolve(row.name)
    for args, kind, text in row.errors:
        with pytest.raises(kind, match=text):
            op(*convert(args, lambda a: tensor(a, device)))


def test_every_entry_is_reached() -> None:
    """Every op that is no composite of others runs in some row."""
    with Recording() as record:
        for row in ROWS:
            for sample in samples(row, row.dtypes[0]):
                resolve(row.name)(
                    *convert(sample.args, lambda a: tensor(a, "cpu")),
                    **convert(sample.kwargs, lambda a: tensor(a, "cpu")),
                )
    called = {c.name for c in record.calls}
    missing = sorted(n for n, e in OWN.items() if n not in called and not e.composite and n not in INTERNAL)
    assert not missing, f"no row in tests/opinfo calls {missing}"


OWN = dict(ENTRIES)  # tests of dispatch register ops of their own later
INTERNAL = {"alias", "overwrite", "write_view", "to_device"}  # tested through the mechanisms that use them


@every
def test_tensors_of_counts_leaves(row: OpInfo) -> None:
    """A differentiable row has something to differentiate."""
    assert not row.grad or any(
        tensors_of(convert(s.args, lambda a: tensor(a, "cpu"))) for s in samples(row, row.dtypes[0])
    )
