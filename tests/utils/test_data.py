"""Datasets, samplers, collation and the loader."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import framework
from framework.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)

Point = namedtuple("Point", "x y")


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i, float(i * i)


class Counting(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


class TestDatasets:
    def test_tensors(self):
        data = TensorDataset(framework.arange(6).reshape(3, 2), framework.arange(3))
        assert len(data) == 3 and [t.tolist() for t in data[1]] == [[2, 3], 1]
        with pytest.raises(AssertionError, match="Size mismatch between tensors"):
            TensorDataset(framework.ones(2), framework.ones(3))

    def test_concatenation(self):
        data = Squares() + Squares()
        assert isinstance(data, ConcatDataset) and len(data) == 20 and data[13] == data[3] == data[-7]
        with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
            data[-21]
        with pytest.raises(AssertionError, match="should not be an empty iterable"):
            ConcatDataset([])
        with pytest.raises(AssertionError, match="does not support IterableDataset"):
            ConcatDataset([Counting(1)])

    def test_chain(self):
        data = Counting(2) + Counting(3)
        assert isinstance(data, ChainDataset) and list(data) == [0, 1, 0, 1, 2] and len(data) == 5
        with pytest.raises(AssertionError, match="only supports IterableDataset"):
            list(ChainDataset([Squares()]))

    def test_stack(self):
        pairs, named = StackDataset(Squares(), range(10)), StackDataset(a=Squares(), b=range(10))
        assert pairs[2] == ((2, 4.0), 2) and named[2] == {"a": (2, 4.0), "b": 2} and len(pairs) == 10
        assert pairs.__getitems__([1, 2]) == [pairs[1], pairs[2]] and named.__getitems__([1]) == [named[1]]
        for act, text in (
            (lambda: StackDataset(), "At least one dataset"),
            (lambda: StackDataset(Squares(), range(2)), "Size mismatch"),
            (lambda: StackDataset(Squares(), b=Squares()), "both types are given"),
        ):
            with pytest.raises(ValueError, match=text):
                act()

    def test_subset(self):
        part = Subset(Squares(), [7, 3])
        assert len(part) == 2 and part[1] == (3, 9.0) and part.__getitems__([1, 0]) == [(3, 9.0), (7, 49.0)]

        class Changed(Subset):
            def __getitem__(self, i):
                return 0

        with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
            Changed(Squares(), [1])

    def test_random_split(self):
        parts = random_split(range(10), [3, 7], generator=framework.Generator().manual_seed(0))
        assert [len(p) for p in parts] == [3, 7] and sorted(i for p in parts for i in p) == list(range(10))
        assert [len(p) for p in random_split(range(10), [0.25, 0.25, 0.5])] == [3, 2, 5]
        with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
            random_split(range(10), [3, 3])
        with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
            random_split(range(10), [1.5, -0.5])
        with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
            random_split(range(1), [0.9, 0.1])


class TestSamplers:
    def test_orders(self):
        assert list(SequentialSampler(range(4))) == [0, 1, 2, 3]
        generator = framework.Generator().manual_seed(0)
        assert sorted(RandomSampler(range(9), generator=generator)) == list(range(9))
        assert len(list(RandomSampler(range(4), num_samples=10))) == 10
        assert set(RandomSampler(range(4), replacement=True, num_samples=70)) <= set(range(4))
        assert sorted(SubsetRandomSampler([5, 3, 8])) == [3, 5, 8]
        assert set(WeightedRandomSampler([0.0, 1.0, 0.0], 5)) == {1}

    def test_batches(self):
        assert (
            list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
            and len(BatchSampler(range(5), 2, False)) == 3
        )
        assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]] and len(BatchSampler(range(5), 2, True)) == 2

    @pytest.mark.parametrize(
        "act, kind, text",
        [
            (lambda: RandomSampler(range(0)), ValueError, "num_samples should be a positive integer"),
            (lambda: RandomSampler(range(3), replacement=1), TypeError, "replacement should be a boolean"),
            (lambda: BatchSampler(range(3), 0, False), ValueError, "batch_size should be a positive integer"),
            (lambda: BatchSampler(range(3), 1, 1), ValueError, "drop_last should be a boolean"),
            (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "weights should be a 1d sequence"),
            (lambda: WeightedRandomSampler([1.0], True), ValueError, "num_samples should be a positive integer"),
        ],
    )
    def test_errors(self, act, kind, text):
        with pytest.raises(kind, match=text):
            act()


class TestCollation:
    def test_leaves(self):
        assert default_collate([framework.ones(2), framework.zeros(2)]).tolist() == [[1, 1], [0, 0]]
        assert default_collate([1, 2]).dtype is framework.int64
        assert default_collate([1.0, 2.0]).dtype is framework.float64
        assert default_collate([np.float32(1), np.float32(2)]).dtype is framework.float32
        assert default_collate([np.ones(2, "int16"), np.ones(2, "int16")]).dtype is framework.int16
        assert default_collate(["a", "b"]) == ["a", "b"]

    def test_containers(self):
        batch = default_collate([{"x": (1, [2.0]), "p": Point(1, 2)}, {"x": (3, [4.0]), "p": Point(3, 4)}])
        assert batch["x"][0].tolist() == [1, 3] and batch["x"][1][0].tolist() == [2, 4]
        assert isinstance(batch["p"], Point) and batch["p"].y.tolist() == [2, 4]
        ordered = default_collate([OrderedDict(b=1, a=2)])
        assert isinstance(ordered, OrderedDict) and list(ordered) == ["b", "a"]

    def test_errors(self):
        with pytest.raises(TypeError, match="must contain tensors, numpy arrays, numbers, dicts or lists; found"):
            default_collate([object()])
        with pytest.raises(TypeError, match="found <U1"):
            default_collate([np.array(["a"])])
        with pytest.raises(RuntimeError, match="should be of equal size"):
            default_collate([[1], [1, 2]])

    def test_convert_leaves_what_is_no_array(self):
        out = default_convert({"a": np.ones(2), "b": ["x", np.float64(1)], "c": Point(np.zeros(1), 3)})
        assert (
            isinstance(out["a"], framework.Tensor) and out["b"][0] == "x" and isinstance(out["b"][1], framework.Tensor)
        )
        assert isinstance(out["c"], Point) and out["c"].y == 3


class TestLoader:
    def test_batches(self):
        batches = list(DataLoader(Squares(), batch_size=4))
        assert [b[0].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] and batches[2][1].tolist() == [
            64,
            81,
        ]
        assert len(DataLoader(Squares(), 4)) == 3 and len(DataLoader(Squares(), 4, drop_last=True)) == 2

    def test_a_seed_gives_the_order(self):
        def order():
            framework.manual_seed(5)
            return [b[0].tolist() for _ in range(2) for b in DataLoader(Squares(), 4, shuffle=True)]

        first = order()
        assert first == order() and first[:3] != first[3:] and sorted(sum(first[:3], [])) == list(range(10))

    def test_one_by_one(self):
        assert list(DataLoader(Squares(), batch_size=None)) == [
            [i, float(i * i)] for i in range(10)
        ]  # as PyTorch: tuples become lists

    def test_iterable(self):
        assert [b.tolist() for b in DataLoader(Counting(5), 2)] == [[0, 1], [2, 3], [4]] and len(
            DataLoader(Counting(5), 2)
        ) == 3
        assert [b.tolist() for b in DataLoader(Counting(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
        assert list(DataLoader(Counting(3), None)) == [0, 1, 2]

    def test_own_samplers_and_collation(self):
        assert [b[0].tolist() for b in DataLoader(Squares(), 2, sampler=[3, 1, 2])] == [[3, 1], [2]]
        assert list(DataLoader(Squares(), batch_sampler=[[3], [1, 2]], collate_fn=len)) == [1, 2]

    def test_a_dataset_may_fetch_a_batch_at_once(self):
        class Whole(Squares):
            def __getitems__(self, indices):
                return [("at once", i) for i in indices]

        assert list(next(iter(DataLoader(Whole(), 2)))[0]) == ["at once", "at once"]

    @pytest.mark.parametrize(
        "options, kind, text",
        [
            ({"num_workers": 2}, NotImplementedError, "worker processes do not exist yet, but got num_workers=2"),
            ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
            ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
            ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in multiprocessing"),
            ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
            ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
            ({"shuffle": True, "sampler": [1]}, ValueError, "sampler option is mutually exclusive with shuffle"),
            ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
            ({"batch_size": None, "drop_last": True}, ValueError, "batch_size=None option disables auto-batching"),
        ],
    )
    def test_errors(self, options, kind, text):
        with pytest.raises(kind, match=text):
            DataLoader(Squares(), **options)

    def test_an_iterable_dataset_has_its_own_order(self):
        with pytest.raises(ValueError, match="expected unspecified shuffle option, but got shuffle=True"):
            DataLoader(Counting(3), shuffle=True)

    def test_options_are_fixed(self):
        loader = DataLoader(Squares())
        with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
            loader.batch_size = 3
