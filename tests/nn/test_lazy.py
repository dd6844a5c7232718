"""Modules that learn the size of their input from the first one."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import framework
from framework import nn
from framework.nn.modules.lazy import LazyModuleMixin
from framework.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

CASES = [
    (nn.LazyLinear, (4,), nn.Linear, (3, 4), (2, 3)),
    (nn.LazyLinear, (4, False), nn.Linear, (3, 4, False), (3,)),
    (nn.LazyConv1d, (4, 2), nn.Conv1d, (3, 4, 2), (2, 3, 5)),
    (nn.LazyConv2d, (4, 2, 2, 1), nn.Conv2d, (3, 4, 2, 2, 1), (3, 5, 5)),
    (nn.LazyConv3d, (4, 2), nn.Conv3d, (3, 4, 2), (2, 3, 3, 3, 3)),
    (nn.LazyConvTranspose1d, (4, 2), nn.ConvTranspose1d, (3, 4, 2), (2, 3, 5)),
    (nn.LazyConvTranspose2d, (4, 2, 2), nn.ConvTranspose2d, (3, 4, 2, 2), (2, 3, 5, 5)),
    (nn.LazyConvTranspose3d, (4, 2), nn.ConvTranspose3d, (3, 4, 2), (3, 3, 3, 3)),
    (nn.LazyBatchNorm1d, (0.1,), nn.BatchNorm1d, (3, 0.1), (2, 3)),
    (nn.LazyBatchNorm2d, (), nn.BatchNorm2d, (3,), (2, 3, 4, 4)),
    (nn.LazyBatchNorm3d, (1e-5, 0.1, False), nn.BatchNorm3d, (3, 1e-5, 0.1, False), (2, 3, 2, 2, 2)),
    (nn.LazyInstanceNorm1d, (), nn.InstanceNorm1d, (3, 1e-5, 0.1, True, True), (2, 3, 4)),
    (nn.LazyInstanceNorm2d, (1e-5, 0.1, True, False), nn.InstanceNorm2d, (3, 1e-5, 0.1, True), (3, 4, 5)),
    (nn.LazyInstanceNorm3d, (), nn.InstanceNorm3d, (3, 1e-5, 0.1, True, True), (2, 3, 2, 2, 2)),
]
every = pytest.mark.parametrize(
    "lazy, args, eager, full, shape", CASES, ids=[c[0].__name__ + str(i) for i, c in enumerate(CASES)]
)


@every
def test_the_first_call_makes_the_ordinary_module(lazy, args, eager, full, shape):
    module = lazy(*args)
    assert module.has_uninitialized_params() or not module.state_dict()
    framework.manual_seed(3)
    expected = eager(*full)
    x = framework.randn(*shape)
    wanted = expected(x)
    framework.manual_seed(3)
    out = module(x)
    assert type(module) is eager and repr(module) == repr(expected)
    assert not module._forward_pre_hooks and not module._load_state_dict_pre_hooks
    np.testing.assert_array_equal(out.detach().numpy(), wanted.detach().numpy())
    for (key, a), (other, b) in zip(module.state_dict().items(), expected.state_dict().items(), strict=True):
        assert key == other and type(a) is type(b) and a.tolist() == b.tolist()
    assert all(type(p) is nn.Parameter and p.requires_grad for p in module.parameters())


@every
def test_loading_gives_shapes(lazy, args, eager, full, shape):
    module, source = lazy(*args), eager(*full)
    module.load_state_dict(source.state_dict())
    assert not module.has_uninitialized_params()
    for a, b in zip(module.state_dict().values(), source.state_dict().values(), strict=True):
        assert a.tolist() == b.tolist()


def test_state_of_what_has_no_shape_yet():
    module = nn.LazyLinear(4)
    state = module.state_dict()
    assert list(state) == ["weight", "bias"] and all(is_lazy(v) for v in state.values())
    other = nn.LazyLinear(4)
    other.load_state_dict(state)
    assert other.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.Linear(3, 4).load_state_dict(state)


def test_moving_and_casting_before_the_first_call():
    module = nn.LazyBatchNorm1d().double()
    assert module.weight.dtype is framework.float64 and module.running_mean.dtype is framework.float64
    assert module.num_batches_tracked.dtype is framework.int64
    weight = module.weight
    module.to(framework.float16).to("cpu")
    assert module.weight is weight and weight.dtype is framework.float16
    module.float()(framework.ones(2, 3))
    assert module.weight is weight and tuple(weight.shape) == (3,) and weight.dtype is framework.float32


def test_copies_and_pickles_before_the_first_call():
    module = nn.LazyLinear(4)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        twin(framework.ones(2, 3))
        assert type(twin) is nn.Linear and tuple(twin.weight.shape) == (4, 3)
    assert module.has_uninitialized_params() and type(module) is nn.LazyLinear


def test_requires_grad_survives():
    module = nn.LazyLinear(4)
    module.requires_grad_(False)
    module(framework.ones(2, 3))
    assert not any(p.requires_grad for p in module.parameters())


def test_whatever_needs_elements_or_a_shape_raises():
    parameter, buffer = UninitializedParameter(), UninitializedBuffer()
    assert repr(parameter) == "<UninitializedParameter>" and repr(buffer) == "<UninitializedBuffer>"
    assert parameter.requires_grad and not buffer.requires_grad and parameter.is_leaf and parameter.is_floating_point()
    for act in (
        lambda: parameter + 1,
        lambda: parameter.sum(),
        lambda: parameter.detach(),
        lambda: buffer.numpy(),
        lambda: parameter[0],
    ):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            act()
    for act in (lambda: parameter.shape, lambda: parameter.size()):
        with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
            act()
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        parameter.share_memory_()
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        nn.LazyLinear(3).share_memory()


def test_errors():
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"):
        nn.LazyConv2d(4, 2)(framework.ones(3, 3))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv1d(4, 2, groups=2)(framework.ones(3, 3))
    module = nn.LazyLinear(4)
    module.load_state_dict(nn.Linear(3, 4).state_dict())
    with pytest.raises(AssertionError, match="The in_features inferred from input: 2"):
        module(framework.ones(2))

    class Half(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = UninitializedParameter()

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Half"):
        Half()(framework.ones(2))
    Half.initialize_parameters = lambda self, x: None
    with pytest.raises(RuntimeError, match="module Half has not been fully initialized"):
        Half()(framework.ones(2))
