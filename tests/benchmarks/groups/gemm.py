"""Matrix products in float32: squares, layers, and the stacks of small ones of attention."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.cases import case

SHAPES = {
    **{f"square {n}": ((n, n), (n, n)) for n in (64, 128, 256, 512, 1024)},
    "128 x 784 x 512": ((128, 784), (784, 512)),
    "2048 x 768 x 3072": ((2048, 768), (768, 3072)),
    "QK^T 32 x 12 x 128 x 64": ((32, 12, 128, 64), (32, 12, 64, 128)),
    "PV 32 x 12 x 128 x 64": ((32, 12, 128, 128), (32, 12, 128, 64)),
    "stack 8 x 8 x 64 x 64": ((8, 8, 64, 64), (8, 8, 64, 64)),
    "rows 32 x 128 x 768 x 768": ((32, 128, 768), (768, 768)),
    "vector 1 x 1024 x 1024": ((1, 1024), (1024, 1024)),
}


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype="float32")


def product(a, b):
    def build(t):
        x, y = t.tensor(normal(1, a)), t.tensor(normal(2, b))
        return lambda: x @ y

    return build


for _name, _shapes in SHAPES.items():
    case("gemm", _name)(product(*_shapes))
