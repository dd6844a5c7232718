"""The numbers of threads, by PyTorch's names. The work is done by the pool of the `cpu` device:
`backends/numpy/pool.py`."""

from __future__ import annotations

from backends.numpy.pool import pool

_interop: list[int] = []


def _positive(name: str, n: int) -> int:
    if type(n) is not int:
        raise RuntimeError(f"{name} expects an int, but got {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"{name} expects a positive integer")
    return n


def set_num_threads(n: int) -> None:
    """Set how many threads share out one operation on the CPU. RuntimeError unless it is an int above 0."""
    pool.resize(_positive("set_num_threads", n))


def get_num_threads() -> int:
    """How many threads share out one operation on the CPU: OMP_NUM_THREADS, else the cores this process may use, until
    set."""
    return pool.size


def set_num_interop_threads(n: int) -> None:
    """Set what `get_num_interop_threads` gives; operations are not run side by side here. RuntimeError the second
    time."""
    _positive("set_num_interop_threads", n)
    if _interop:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    _interop.append(n)


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` set, else as many as `get_num_threads`."""
    return _interop[0] if _interop else pool.size
