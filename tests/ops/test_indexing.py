"""Reading and writing by index beyond the table: aliasing, history, batched indices, half types, subclasses, errors."""

from __future__ import annotations

import numpy as np
import pytest

import framework
from backends.numpy.rows import add_rows
from framework.core.tensor import Tensor
from framework.func import grad as func_grad
from framework.func import jvp, vmap

from .checks import values


def make(a, device, **options):
    return framework.tensor(np.asarray(a), device=device, **options)


def ones(like, *size):
    return framework.ones(*size, dtype=like.dtype, device=like.device)


def x23(device):
    return make(np.arange(6.0, dtype=np.float32).reshape(2, 3), device)


# ------------------------------------------------------------------------------------------------------------- aliasing
WRITES = {
    "int": lambda x: x.__setitem__(1, 9.0),
    "slice": lambda x: x.__setitem__(slice(1, None), 9.0),
    "tensor": lambda x: x.__setitem__(make([1], x.device), 9.0),
    "mask": lambda x: x.__setitem__(x > 2, 9.0),
    "pair": lambda x: x.__setitem__(([0, 1], [2, 2]), 9.0),
    "index_put_": lambda x: x.index_put_((make([1], x.device),), make(np.float32([9, 9, 9]), x.device), True),
    "index_add_": lambda x: x.index_add_(0, make([1, 1], x.device), ones(x, 2, 3), alpha=2),
    "index_copy_": lambda x: x.index_copy_(1, make([2], x.device), ones(x, 2, 1)),
    "index_fill_": lambda x: x.index_fill_(1, make([-1], x.device), 5),
    "scatter_": lambda x: x.scatter_(1, make([[2], [0]], x.device), 4.0),
    "scatter_add_": lambda x: x.scatter_add_(1, make([[2, 2], [0, 1]], x.device), ones(x, 2, 2)),
    "scatter_reduce_": lambda x: x.scatter_reduce_(1, make([[2], [0]], x.device), 80 * ones(x, 2, 1), "amax"),
    "masked_fill_": lambda x: x.masked_fill_(x > 2, 7.0),
    "masked_scatter_": lambda x: x.masked_scatter_(x > 3, make(-np.arange(6, dtype=np.float32), x.device)),
    "put_": lambda x: x.put_(make([0, -1], x.device), make(np.float32([7, 8]), x.device)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_a_write_shows_through_every_alias_and_counts_once(name, device):
    whole = make(np.arange(24.0, dtype=np.float32).reshape(4, 6), device)
    x, before = whole[1:3, ::2], values(whole)
    alone = x.clone()
    version = whole._version
    WRITES[name](x)
    WRITES[name](alone)
    assert whole._version == version + 1
    want = before.copy()
    want[1:3, ::2] = values(alone)
    assert values(whole).tolist() == want.tolist()
    assert values(x).tolist() == values(alone).tolist()
    assert not (want == before).all()


@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_a_leaf_that_requires_grad_is_refused(name, device):
    x = x23(device).requires_grad_()
    with pytest.raises(RuntimeError, match=r"leaf Variable that requires grad"):
        WRITES[name](x)
    with framework.no_grad():
        WRITES[name](x)
    assert x.requires_grad


@pytest.mark.parametrize("name", [n for n in WRITES if n not in ("int", "slice")])
def test_a_saved_tensor_notices_a_write(name, device):
    x = x23(device).requires_grad_()
    y = x * 1
    z = y * y
    WRITES[name](y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_untracked_write_leaves_the_rest_of_the_memory_alone():
    x = x23("cpu")
    array = x.array
    for write in WRITES.values():
        write(x)
        assert x.array is array


def test_augmented_assignment_adds_once_for_a_repeated_index(device):
    x = make(np.zeros(3, np.float32), device)
    x[[0, 0, 2]] += 1
    assert x.tolist() == [1, 0, 1]
    x.index_put_((make([0, 0], device),), make(np.float32([1, 1]), device), accumulate=True)
    assert x.tolist() == [3, 0, 1]


def test_deleting_is_refused(device):
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x23(device)[0]


# --------------------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [("int64", 1.7, 1), ("int64", -1.7, -1), ("uint8", -1, 255), ("bool", 2, True), ("float32", True, 1.0),
     ("complex64", 1j, 1j), ("float16", 2, 2.0), ("bfloat16", 1.5, 1.5), ("int8", np.float32(3.5), 3),
     ("float32", np.int8(3), 3.0)],
)  # fmt: skip
def test_numbers_are_stored_as_the_dtype_holds_them(device, dtype, value, stored):
    for key in (0, slice(0, 1), [0], [True, False]):
        x = framework.zeros(2, dtype=getattr(framework, dtype + "_" * (dtype == "bool")), device=device)
        x[key] = value
        assert x.tolist() == [stored, 0]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("uint8", 300),
        ("uint8", -256),
        ("int8", 128.0),
        ("int64", float("nan")),
        ("int64", 1j),
        ("float32", 1e300),
        ("float32", 1j),
    ],
)
def test_numbers_that_do_not_fit_are_refused(device, dtype, value):
    for key in (0, [0], [True, False]):
        x = framework.zeros(2, dtype=getattr(framework, dtype), device=device)
        with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
            x[key] = value
        assert x.tolist() == [0, 0]


@pytest.mark.parametrize("value", [[1, 2, 3], np.ones(3), None, "a"], ids=repr)
def test_only_numbers_and_tensors_are_assigned(device, value):
    for key in (0, [0]):
        with pytest.raises(TypeError, match="can't assign a"):
            x23(device)[key] = value


def test_a_slice_is_cast_into_but_index_tensors_want_the_dtype(device):
    x = x23(device)
    x[0] = make([7, 8, 9], device)
    assert x[0].tolist() == [7, 8, 9]
    with pytest.raises(RuntimeError, match=r"the source and destination dtypes match, got Float .* Long"):
        x[[0]] = make([7, 8, 9], device)
    x[x > 7] = make([[1]], device)  # one value through a mask is cast
    assert x[0].tolist() == [7, 1, 1]


def test_a_write_to_itself_reads_first(device):
    x = make(np.arange(4.0), device)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2]
    x[[3, 2, 1, 0]] = x
    assert x.tolist() == [2, 1, 0, 0]


def test_an_expanded_tensor_is_not_written(device):
    x = make(np.zeros((1, 3), np.float32), device).expand(2, 3)
    for key in (slice(None), [0], x == 0):
        with pytest.raises(RuntimeError, match="refers to a single memory location"):
            x[key] = 1.0


# ------------------------------------------------------------------------------------------------------------- batching
READS = [
    (lambda x, i: x[i], ((), (2,), (2, 2))),
    (lambda x, i: x[:, i], ((), (2,), (2, 2))),
    (lambda x, i: x[i, :, i], ((), (2,), (2, 2))),
    (lambda x, i: x[i, None, [0, 1]], ((), (2,))),
    (lambda x, i: x.index_select(1, i), ((), (2,))),
    (lambda x, i: framework.take_along_dim(x, i.expand(1, 3, 4), 0), ((), (1, 1, 1))),
    (lambda x, i: x.take(i), ((), (2,), (2, 2))),
]


@pytest.mark.parametrize(("read", "count"), [(f, count) for f, counts in READS for count in counts])
@pytest.mark.parametrize("x_batched", [True, False])
def test_batched_indices(device, read, count, x_batched):
    rng = np.random.default_rng(0)
    x = make(rng.random((3, 2, 3, 4) if x_batched else (2, 3, 4)).astype(np.float32), device)
    i = make(rng.integers(0, 2, (3, *count)), device)
    want = [values(read(x[k] if x_batched else x, i[k])) for k in range(3)]
    got = vmap(read, (0 if x_batched else None, 0))(x, i)
    assert values(got).tolist() == np.stack(want).tolist()


@pytest.mark.parametrize("write", ["index_add", "index_copy", "index_put", "scatter_add"])
@pytest.mark.parametrize("batched", [(1, 1, 1), (0, 1, 1), (1, 1, 0), (0, 1, 0)])
def test_batched_indices_of_writes(device, write, batched):
    rng = np.random.default_rng(1)
    shapes = [(2, 3, 4), (2,), (2, 2, 4)] if write != "scatter_add" else [(2, 3, 4), (2, 2, 4), (2, 2, 4)]
    x, _, src = [make(rng.random((3, *s) if b else s).astype(np.float32), device) for s, b in zip(shapes, batched)]
    index = np.stack([rng.permutation(3)[:2] for _ in range(3)])
    if write == "scatter_add":
        index = rng.integers(0, 3, (3, 2, 2, 4))
    i = make(index, device)

    def f(x, i, src):
        if write == "index_put":
            return x.index_put((None, i), src)
        return getattr(x, write)(1, i, src)

    got = vmap(f, tuple([0 if b else None for b in batched]))(x, i, src)
    want = [values(f(*[t[k] if b else t for t, b in zip((x, i, src), batched)])) for k in range(3)]
    np.testing.assert_allclose(values(got), np.stack(want), rtol=1e-6)


def test_a_mask_of_each_example_has_no_result_of_one_shape(device):
    x = make(np.arange(6.0).reshape(2, 3), device)
    for f in (lambda r: r[r > 1], lambda r: r.nonzero(), lambda r: r.masked_select(r > 1)):
        with pytest.raises(RuntimeError, match=r"vmap: the number of elements that are not zero"):
            vmap(f)(x)
    filled = vmap(lambda r: r.clone().masked_fill_(r > 1, 0.0))(x)
    assert filled.tolist() == [[0, 1, 0], [0, 0, 0]]


def test_an_index_out_of_range_in_any_example_raises(device):
    x, i = make(np.arange(6.0).reshape(2, 3), device), make([[0], [3]], device)
    with pytest.raises(IndexError, match="out of bounds"):
        vmap(lambda r, k: r[k])(x, i)


def test_gradients_through_chains_of_reads_and_writes(device):
    x = make(np.array([0.5, -1.0, 2.0], np.float32), device)
    i = make([2, 0, 0], device)

    def f(x):
        y = (x * 2).index_add(0, i, x[i] ** 2)
        y[1:] = y[:2].clone() * x[i[:2]]
        return (y * y).sum()

    g = func_grad(f)(x)
    t = make(np.array([1.0, -2.0, 0.5], np.float32), device)
    _, directional = jvp(f, (x,), (t,))
    assert abs(directional.item() - (g * t).sum().item()) < 1e-3
    y = x.clone().requires_grad_()
    f(y).backward()
    np.testing.assert_allclose(values(y.grad), values(g), rtol=1e-5)


# ----------------------------------------------------------------------------------------------------------- half types
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_types_add_up_in_float32(device, dtype):
    d = getattr(framework, dtype)
    ones = framework.ones(2000, dtype=d, device=device)
    index = framework.zeros(2000, dtype=framework.int64, device=device)
    zero = framework.zeros(1, dtype=d, device=device)
    assert zero.index_add(0, index, ones).item() == 2000
    assert zero.scatter_add(0, index, ones).item() == 2000
    assert zero.clone().index_add_(0, index, ones).item() == 2000
    assert zero.clone().index_put_((index,), ones, accumulate=True).item() == 2000
    x = zero.clone().requires_grad_()
    x[index].sum().backward()
    assert x.grad.item() == 2000


# -------------------------------------------------------------------------------------------------------------- devices
def test_an_index_on_the_cpu_serves_every_device(device):
    i = make([1, 0], "cpu")
    assert x23(device)[i].tolist() == [[3, 4, 5], [0, 1, 2]]
    x = x23(device)
    x[i] = 1.0
    assert values(x).sum() == 6
    if device != "cpu":
        with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
            x23("cpu")[make([1, 0], device)]


def test_int32_and_uint8_indices(device):
    x = x23(device)
    i = make(np.array([1, 1], np.int32), device)
    assert x[i].tolist() == x.index_select(0, i).tolist() == [[3, 4, 5], [3, 4, 5]]
    assert x.gather(0, i.reshape(1, 2)).tolist() == [[3, 4]]
    assert x[:, i, None].shape == (2, 2, 1)
    with pytest.warns(UserWarning, match="uint8 is now deprecated"):
        assert x[make(np.array([0, 1], np.uint8), device)].tolist() == [[3, 4, 5]]


# ----------------------------------------------------------------------------------------------------------- subclasses
def test_a_subclass_is_asked_once():
    calls = []

    class Logged(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = x23("cpu").as_subclass(Logged)
    assert type(x[0]) is type(x[[0]]) is Logged
    x[0] = 1.0
    assert calls == [Tensor.__getitem__, Tensor.__getitem__, Tensor.__setitem__]


# ----------------------------------------------------------------------------------------------------- sums on the host
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "bool", "float16"])
@pytest.mark.parametrize(
    ("shape", "dim", "count"), [((50, 96), 0, 60), ((50,), 0, 300), ((3, 20, 70), 1, 40), ((4, 30), 1, 30)]
)
def test_adding_rows_equals_the_slow_loop(dtype, shape, dim, count):
    rng = np.random.default_rng(3)

    def draw(*size):
        a = rng.integers(-4, 5, size)
        return (a + 1j * rng.integers(-4, 5, size) if dtype == "complex64" else a).astype(dtype)

    r, index = draw(*shape), rng.integers(-shape[dim], shape[dim], count)
    src = draw(*shape[:dim], count, *shape[dim + 1 :])
    want = r.copy()
    np.add.at(want, (*[slice(None)] * dim, index), src)
    for target in (r.copy(), np.asfortranarray(r)):
        add_rows(target, dim, index, src)
        assert np.array_equal(target, want)
    index[0] = shape[dim]
    with pytest.raises(IndexError, match="is out of bounds"):
        add_rows(r, dim, index, src)
