"""The devices that tests run on, and which of them a run covers.

`cpu` is NumPy; `frozen` is NumPy with read-only arrays and without aliasing views, which sends every write through the
path that MLX needs; `mlx:cpu` is MLX on the CPU.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

DEVICES = ("cpu", "frozen", "mlx:cpu")
SAMPLE = 10  # one test in so many runs on the devices that are only sampled


def selection(option: str) -> Callable[[str, str, bool], bool]:
    """What `--devices OPTION` keeps: a function of a test's id, its device, and whether it must run on every device.

    `all` keeps everything, `sample` keeps everything on `cpu` and a fixed tenth elsewhere (by a checksum of the id, so
    that adding a test moves no other), a list of device names keeps those. Raises ValueError for anything else.
    """
    if option == "all":
        return lambda test, device, every: True
    if option == "sample":
        return lambda test, device, every: every or device == "cpu" or zlib.crc32(test.encode()) % SAMPLE == 0
    names = option.split(",")
    if unknown := [name for name in names if name not in DEVICES]:
        raise ValueError(f"--devices: no test device {unknown[0]!r}; say all, sample, or some of {', '.join(DEVICES)}")
    return lambda test, device, every: device in names
