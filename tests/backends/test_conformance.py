"""Every primitive of every backend against the tables: values, dtypes, shapes, types, and what must raise."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from backends import registry

from .compare import NUMPY, check, native, primitive, primitives, rounded, values, wide
from .elementwise_table import OWN_TYPE, ROWS, Row
from .order_table import CASES as CASES_OF_ORDER
from .structure_table import CASES as CASES_OF_STRUCTURE
from .structure_table import Case

CASES = [*CASES_OF_STRUCTURE, *CASES_OF_ORDER]

STRUCTURE: dict[str, list[Case]] = {}  # name and label: the cases, one for each dtype
for _case in CASES:
    STRUCTURE.setdefault(f"{_case.name}-{_case.label}", []).append(_case)


def arguments(b: Any, case: Case) -> list[Any]:
    return native(b, [native(b, a) if type(a) is list else a for a in case.args])


@contextmanager
def told(d: Any) -> Iterator[None]:
    """Name the dtype in a failure."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"dtype: {d.name}")
        raise


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.name}-{r.dtypes[0].name}") for r in ROWS])
def test_against_the_reference(b: Any, row: Row) -> None:
    f = primitive(b, row.name)
    for d in row.dtypes:
        if d in b.capabilities.dtypes and row.result(d) in b.capabilities.dtypes:
            args = row.operands(d)
            want = OWN_TYPE[row.name](*args) if row.name in OWN_TYPE else row.reference(*map(wide, args))
            with told(d):
                check(
                    values(b, f(*native(b, args))), rounded(want, row.result(d)), row.ulps, row.signed_zero, row.scale
                )


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.name}-{r.dtypes[0].name}") for r in ROWS])
def test_shapes(b: Any, row: Row, shape: tuple[int, ...]) -> None:
    d = row.dtypes[0]
    f = primitive(b, row.name, d)
    args = [np.resize(a[:7], shape).astype(a.dtype) for a in row.operands(d)]
    got = values(b, f(*native(b, args)))
    assert (got.shape, got.dtype) == (shape, NUMPY[row.result(d)])


@pytest.mark.parametrize("name", [r.name for r in ROWS if len(r.operands(r.dtypes[0])) == 2])
def test_broadcasting(b: Any, name: str) -> None:
    row = next(r for r in ROWS if r.name == name)
    d = row.dtypes[0]
    f = primitive(b, name, d)
    x, y = [a[:12] for a in row.operands(d)]
    x, y = x[:3].reshape(3, 1), y[:4].reshape(1, 4)
    whole = [np.ascontiguousarray(a) for a in np.broadcast_arrays(x, y)]
    np.testing.assert_array_equal(values(b, f(*native(b, (x, y)))), values(b, f(*native(b, whole))))


@pytest.mark.parametrize("label", STRUCTURE)
def test_structure(b: Any, label: str) -> None:
    cases = [c for c in STRUCTURE[label] if c.dtype in b.capabilities.dtypes]
    f = primitive(b, STRUCTURE[label][0].name)
    for case in cases:
        got = values(b, f(*arguments(b, case)))
        for result, want in zip(got, case.want, strict=True) if type(got) is tuple else [(got, case.want)]:
            with told(case.dtype):
                check(result, want, case.ulps, scale=case.scale)


@pytest.mark.parametrize("name", sorted({c.name for c in CASES}))
def test_operands_stay_as_they_were(b: Any, name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    f = primitive(b, name, case.dtype)
    operands = arguments(b, case)
    f(*operands)
    for before, operand in zip(case.args, operands, strict=True):
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(np.asarray(b.to_numpy(operand)), before)


@pytest.mark.parametrize("bad", [4, -5, 2**31, 2**40, -(2**40), 2**62])
@pytest.mark.parametrize("name", ["index_select", "gather", "index_add", "index_copy", "scatter", "scatter_add"])
def test_an_index_out_of_range_raises(b: Any, name: str, bad: int) -> None:
    f = primitive(b, name)
    if not b.guards and b.device_type == "cuda":
        pytest.skip("indices wrap here, so the framework looks at them first")
    x, index = b.asarray(np.zeros(4, np.float32)), b.asarray(np.array([0, bad]))
    more = [b.asarray(np.ones(2, np.float32))] if name not in ("index_select", "gather") else []
    with pytest.raises(IndexError):
        f(x, 0, index, *more)


@pytest.mark.parametrize("key", [(3,), (-4,), (2**40,), (..., 3)])
def test_a_slice_out_of_range_raises(b: Any, key: Any) -> None:
    x = b.asarray(np.zeros((3, 3), np.float32))
    with pytest.raises(IndexError):
        b.slice(x, key)
    with pytest.raises(IndexError):
        b.slice_put(b.asarray(np.zeros(3, np.float32)), key, (3, 3))


def test_a_step_of_zero_raises(b: Any) -> None:
    with pytest.raises(ValueError, match="step"):
        b.slice(b.asarray(np.zeros(3, np.float32)), (slice(None, None, 0),))


def test_every_primitive_has_a_case() -> None:
    """What NumPy and CuPy share is the whole set; a primitive without a case here or in a test by name fails this."""
    making = {"asarray", "to_numpy", "astype", "full", "arange", "dtype_of", "like", "evaluate"}
    storage = {"write", "write_indexed", "write_scattered", "write_where", "read_at", "write_at"}
    windows = {"conv", "conv_input", "conv_weight", "max_pool", "avg_pool_sum", "avg_pool_spread"}
    elsewhere = making | storage | windows  # test_conversion, test_storage, test_conformance_windows
    covered = {r.name for r in ROWS} | {c.name for c in CASES} | elsewhere
    cpu = registry.load(registry.parse("cpu"))
    assert primitives(cpu) - covered - (cpu.kernels - {"softmax"}) == set()


def test_mlx_has_every_primitive() -> None:
    pytest.importorskip("mlx", reason="MLX has no package for this platform")
    cpu, mlx = (registry.load(registry.parse(name)) for name in ("cpu", "mlx:cpu"))
    kernels = cpu.kernels | mlx.kernels | {"scaled_to_unit", "standardize"}  # each has its own
    assert primitives(cpu) - kernels == primitives(mlx) - kernels
    for name in primitives(cpu) & primitives(mlx):
        ours, theirs = (_positional(getattr(x, name)) for x in (cpu, mlx))
        assert ours == theirs or None in (ours, theirs), name


def _positional(f: Any) -> list[str] | None:
    """The parameters of a function in Python that must be given (`out` need not), None for one in C."""
    try:
        found = list(inspect.signature(f).parameters.values())
    except ValueError:
        return None
    return None if not inspect.ismethod(inspect.unwrap(f)) else [p.name for p in found if p.default is p.empty]
