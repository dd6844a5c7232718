"""The order of examples from one seed, against PyTorch."""

from __future__ import annotations

import pytest

import framework

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SIZE = 50


def batches(namespace, options, sampler=None):
    namespace.manual_seed(3)
    data = namespace.utils.data
    generator = namespace.Generator().manual_seed(7) if options.pop("own", False) else None
    if sampler is not None:
        options = options | {"sampler": sampler(data)}
    loader = data.DataLoader(data.TensorDataset(namespace.arange(SIZE)), batch_size=8, generator=generator, **options)
    return [b.tolist() for _ in range(2) for (b,) in loader], namespace.rand(2).tolist()


@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"shuffle": True, "drop_last": True}, {"shuffle": True, "own": True}]
)
def test_loader(options):
    assert batches(framework, dict(options)) == batches(torch, dict(options))


@pytest.mark.parametrize("sampler", [
    lambda data: data.RandomSampler(range(SIZE), replacement=True, num_samples=77),
    lambda data: data.RandomSampler(range(SIZE), num_samples=120),
    lambda data: data.SubsetRandomSampler([4, 8, 15, 16, 23, 42]),
    lambda data: data.WeightedRandomSampler([float(i + 1) for i in range(SIZE)], 30),
    lambda data: data.WeightedRandomSampler([float(i + 1) for i in range(SIZE)], 30, replacement=False),
], ids=["replacement", "more", "subset", "weighted", "weighted without"])  # fmt: skip
def test_samplers(sampler):
    assert batches(framework, {}, sampler) == batches(torch, {}, sampler)


def test_random_split():
    def parts(namespace):
        namespace.manual_seed(1)
        return [s.indices for s in namespace.utils.data.random_split(range(SIZE), [0.5, 0.3, 0.2])]

    assert parts(framework) == parts(torch)
