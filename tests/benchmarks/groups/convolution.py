"""Convolutions of image models, batch 8, float32: forward alone, and forward with backward; poolings."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.cases import case

# name: input, weight, stride, padding, groups
CONVOLUTIONS = {
    "3x3, 64 at 56": ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
    "3x3, 256 at 14": ((8, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1),
    "3x3 stride 2": ((8, 64, 56, 56), (64, 64, 3, 3), 2, 1, 1),
    "7x7 stride 2 stem": ((8, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1),
    "1x1, 64 to 256 at 56": ((8, 64, 56, 56), (256, 64, 1, 1), 1, 0, 1),
    "depthwise 3x3": ((8, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64),
    "tiny": ((64, 1, 8, 8), (16, 1, 3, 3), 1, 0, 1),
}


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype="float32")


def forward(shapes):
    def build(t):
        x, w, *places = shapes
        x, w = t.tensor(normal(1, x)), t.tensor(normal(2, w))
        stride, padding, groups = places
        return lambda: t.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)

    return build


def training(shapes):
    def build(t):
        x, w, stride, padding, groups = shapes
        x, w, bias = t.tensor(normal(1, x)), t.tensor(normal(2, w)), t.tensor(normal(3, w[0]))
        variables = [v.requires_grad_() for v in (x, w, bias)]
        y = t.nn.functional.conv2d(*variables, stride, padding, 1, groups)
        g = t.tensor(normal(4, tuple(y.shape)))

        def step():
            for v in variables:
                v.grad = None
            t.nn.functional.conv2d(*variables, stride, padding, 1, groups).backward(g)

        return step

    return build


def pooled(name, *places):
    def build(t):
        x = t.tensor(normal(1, (8, 64, 112, 112))).requires_grad_()
        pool = getattr(t.nn.functional, name)
        g = t.tensor(normal(2, tuple(pool(x, *places).shape)))

        def step():
            x.grad = None
            pool(x, *places).backward(g)

        return step

    return build


for _name, _shapes in CONVOLUTIONS.items():
    case("convolution", f"{_name}, forward")(forward(_shapes))
    case("convolution", f"{_name}, forward and backward")(training(_shapes))
for _pool in ("max_pool2d", "avg_pool2d"):
    case("convolution", f"{_pool} 3x3 stride 2, forward and backward")(pooled(_pool, 3, 2, 1))
