"""The CuPy adapter: its own logic on a stand-in, the numbers on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backends import dtypes as dt
from backends import registry

from .compare import check, native, rounded, values, wide
from .cupy_stand_in import CUDARuntimeError, Device, installed
from .elementwise_table import OWN_TYPE, ROWS
from .structure_table import CASES


def test_available_never_raises() -> None:
    with installed(2) as module:
        assert module.available()
    with installed(0) as module:
        assert not module.available()
        with pytest.raises(RuntimeError, match="invalid device ordinal; there are 0"):
            module.load(None)
    with installed() as module:
        import cupy

        def no_driver() -> int:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

        cupy.cuda.runtime.getDeviceCount = no_driver
        assert not module.available()
        with pytest.raises(RuntimeError, match="finds no NVIDIA driver"):
            module.load(0)


def test_one_backend_a_device() -> None:
    with installed(2) as module:
        assert module.load(None) is module.load(0)
        assert module.load(1) is not module.load(0)
        assert (module.load(1).name, module.load(1).device_index, module.load(1).device_type) == ("cuda:1", 1, "cuda")
        with pytest.raises(RuntimeError, match="cuda:2': invalid device ordinal; there are 2"):
            module.load(2)


def test_every_primitive_enters_its_device() -> None:
    with installed(2) as module:
        b = module.load(1)
        assert isinstance(b.device, Device)
        x = b.asarray(np.ones((2, 2), np.float32))
        before = b.device.entered
        for f in (
            lambda: b.add(x, x),
            lambda: b.sum(x, None, False),
            lambda: b.full((2,), 1, dt.float32),
            lambda: b.matmul(x, x),
        ):
            f()
        assert b.device.entered == before + 4


def test_expanded_and_diagonal_views_can_be_written() -> None:
    with installed() as module:
        b = module.load(0)
        x = b.asarray(np.zeros((3, 3), np.float32))
        b.write(b.diagonal(x, 0, 0, 1), b.full((3,), 1, dt.float32))
        check(b.to_numpy(x), np.eye(3, dtype=np.float32))
        one = b.asarray(np.zeros((1,), np.float32))
        b.write(b.expand(one, (3,)), b.full((3,), 2, dt.float32))
        check(b.to_numpy(one), np.array([2], np.float32))


@pytest.mark.cuda
@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.name}-{r.dtypes[0].name}") for r in ROWS])
def test_elementwise_on_a_gpu(row: Any) -> None:
    b = registry.load(registry.parse("cuda"))
    for d in row.dtypes:
        if d is dt.bfloat16:  # stored and cast only
            continue
        args = row.operands(d)
        want = (
            OWN_TYPE[row.name](*args)
            if row.name in OWN_TYPE
            else rounded(row.reference(*map(wide, args)), row.result(d))
        )
        check(
            values(b, getattr(b, row.name)(*map(b.asarray, args))),
            want,
            max(row.ulps, 4) if row.ulps else 0,
            False,
            row.scale,
        )


@pytest.mark.cuda
@pytest.mark.parametrize("name", sorted({c.name for c in CASES}))
def test_structure_on_a_gpu(name: str) -> None:
    b: Any = registry.load(registry.parse("cuda"))
    for case in [c for c in CASES if c.name == name]:
        if case.dtype is dt.bfloat16 and name in (
            "sort",
            "amax",
            "amin",
            "any",
            "all",
            "nonzero",
            "index_add",
            "scatter_add",
        ):
            continue
        got = values(b, getattr(b, name)(*native(b, [native(b, a) if type(a) is list else a for a in case.args])))
        for result, want in zip(got, case.want, strict=True) if type(got) is tuple else [(got, case.want)]:
            check(result, want, case.ulps, scale=case.scale)
