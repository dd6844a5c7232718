"""Registration, attributes, traversal, modes, printing, copying of modules."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import framework
from framework import nn
from framework.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)


class Scale(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.weight = nn.Parameter(framework.ones(size))
        self.register_buffer("offset", framework.zeros(size))

    def forward(self, x):
        return x * self.weight + self.offset


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Scale()
        self.second = Scale(2)
        self.note = "plain"


class TestRegistration:
    def test_assignment_sorts_by_kind(self):
        m = Pair()
        assert list(m._modules) == ["first", "second"]
        assert list(m.first._parameters) == ["weight"]
        assert list(m.first._buffers) == ["offset"]
        assert m.__dict__["note"] == "plain"
        assert "weight" not in m.first.__dict__

    def test_a_name_moves_between_tables(self):
        m = nn.Module()
        m.x = 1
        m.x = nn.Parameter(framework.ones(1))
        assert "x" not in m.__dict__ and "x" in m._parameters
        m.y = nn.Buffer(framework.ones(1), persistent=False)
        m.y = Scale()
        assert not m._buffers and not m._non_persistent_buffers_set and "y" in m._modules
        m.y = nn.Parameter(framework.ones(1))
        assert "y" not in m._modules and "y" in m._parameters

    def test_none_keeps_the_place(self):
        m = Scale()
        m.weight = None
        m.offset = None
        assert m.weight is None and m.offset is None
        assert list(m.parameters()) == [] and list(m.state_dict()) == []
        m.offset = framework.ones(2)
        assert list(m.state_dict()) == ["offset"]

    def test_a_buffer_object_is_registered(self):
        m = nn.Module()
        m.kept = nn.Buffer(framework.ones(1))
        m.scratch = nn.Buffer(framework.ones(1), persistent=False)
        assert list(m._buffers) == ["kept", "scratch"]
        assert list(m.state_dict()) == ["kept"]

    @pytest.mark.parametrize(
        "act, kind, text",
        [
            (lambda m: setattr(m, "weight", framework.ones(3)), TypeError, "as parameter 'weight'"),
            (lambda m: setattr(m, "offset", 3), TypeError, "as buffer 'offset'"),
            (lambda m: m.register_parameter("a.b", None), KeyError, "contain"),
            (lambda m: m.register_parameter("", None), KeyError, "be empty string"),
            (lambda m: m.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
            (lambda m: m.register_parameter(3, None), TypeError, "parameter name should be a string. Got int"),
            (lambda m: m.register_parameter("p", framework.ones(1)), TypeError, "object to parameter 'p'"),
            (lambda m: m.register_buffer("a.b", None), KeyError, "contain"),
            (lambda m: m.register_buffer("weight", None), KeyError, "attribute 'weight' already exists"),
            (lambda m: m.register_buffer("b", 3), TypeError, "cannot assign 'int' object to buffer 'b'"),
            (lambda m: m.add_module("m", 3), TypeError, "int is not a Module subclass"),
            (lambda m: m.add_module("a.b", Scale()), KeyError, "contain"),
            (lambda m: m.missing, AttributeError, "'Scale' object has no attribute 'missing'"),
            (lambda m: delattr(m, "missing"), AttributeError, "missing"),
            (lambda m: m.train(1), ValueError, "training mode is expected to be boolean"),
            (lambda m: m.get_submodule("x"), AttributeError, "Scale has no attribute `x`"),
            (lambda m: m.get_submodule("weight"), AttributeError, "`weight` is not an nn.Module"),
            (lambda m: m.get_parameter("offset"), AttributeError, "`offset` is not an nn.Parameter"),
            (lambda m: m.get_buffer("weight"), AttributeError, "`weight` is not a buffer"),
            (lambda m: m.set_submodule("", Scale()), ValueError, "without a target name"),
            (lambda m: nn.Module()(1), NotImplementedError, 'missing the required "forward" function'),
            (lambda m: nn.Module(1), TypeError, "takes 1 positional argument but 2 were given"),
            (lambda m: nn.Module(x=1), TypeError, "unexpected keyword argument 'x'"),
        ],
    )  # fmt: skip
    def test_errors(self, act, kind, text):
        with pytest.raises(kind, match=text):
            act(Scale())

    def test_a_module_in_place_of_a_child_alone(self):
        m = Pair()
        with pytest.raises(TypeError, match="as child module 'first'"):
            m.first = 3
        m.first = None
        assert m.first is None

    def test_a_result_of_ops_is_no_parameter(self):
        m = nn.Module()
        p = nn.Parameter(framework.ones(2))
        q = (p * 2).as_subclass(nn.Parameter)
        with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'q'"):
            m.q = q

    @pytest.mark.parametrize("value", [nn.Parameter(framework.ones(1)), Scale(), nn.Buffer(framework.ones(1))])
    def test_init_comes_first(self, value):
        class Hasty(nn.Module):
            def __init__(self):
                self.value = value

        with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
            Hasty()

    def test_deletion(self):
        m = Pair()
        del m.first.weight, m.first.offset, m.second
        assert not m.first._parameters and not m.first._buffers and list(m._modules) == ["first"]

    def test_hooks_see_and_replace_what_is_registered(self):
        seen = []
        other = nn.Parameter(framework.zeros(3))

        def hook(module, name, value):
            seen.append(name)
            return other

        with register_module_parameter_registration_hook(hook):
            m = Scale()
        with register_module_module_registration_hook(lambda module, name, child: seen.append(name)):
            nn.Sequential(m)
        Scale()
        assert seen == ["weight", "0"] and m.weight is other

    def test_further_bases_get_their_arguments_if_asked(self):
        class Other:
            def __init__(self, value):
                self.value = value

        class Both(nn.Module, Other):
            call_super_init = True

        assert Both(3).value == 3


class TestTraversal:
    def test_names(self):
        m = Pair()
        assert [n for n, _ in m.named_modules()] == ["", "first", "second"]
        assert [n for n, _ in m.named_children()] == ["first", "second"]
        assert [n for n, _ in m.named_parameters()] == ["first.weight", "second.weight"]
        assert [n for n, _ in m.named_parameters(prefix="net")] == ["net.first.weight", "net.second.weight"]
        assert list(m.named_parameters(recurse=False)) == []
        assert [n for n, _ in m.named_buffers()] == ["first.offset", "second.offset"]
        assert len(list(m.modules())) == 3 and len(list(m.parameters())) == len(list(m.buffers())) == 2

    def test_what_is_shared_comes_once_unless_asked(self):
        m = Pair()
        m.second = m.first
        m.third = Scale()
        m.third.weight = m.first.weight
        assert [n for n, _ in m.named_parameters()] == ["first.weight"]
        assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == [
            "first.weight",
            "second.weight",
            "third.weight",
        ]
        assert [n for n, _ in m.named_modules(remove_duplicate=False)] == ["", "first", "second", "third"]
        assert [n for n, _ in m.named_children()] == ["first", "third"]

    def test_paths(self):
        m = nn.Sequential(Pair())
        assert m.get_submodule("0.second") is m[0].second and m.get_submodule("") is m
        assert m.get_parameter("0.second.weight") is m[0].second.weight
        assert m.get_buffer("0.first.offset") is m[0].first.offset
        new = Scale()
        m.set_submodule("0.second", new)
        m.set_submodule("0.third", new)
        assert m[0].second is new and m[0].third is new
        with pytest.raises(AttributeError, match="no attribute `fourth`"):
            m.set_submodule("0.fourth", new, strict=True)
        with pytest.raises(AttributeError, match="`note` is not an nn.Module"):
            m.set_submodule("0.note", new)

    def test_dir_lists_what_can_be_typed(self):
        names = dir(nn.Sequential(Scale()))
        assert "0" not in names and "forward" in names
        assert {"weight", "offset", "register_buffer"} <= set(dir(Scale()))


class TestModes:
    def test_train_and_eval_reach_everything(self):
        m = nn.Sequential(Pair())
        assert m.eval() is m and not any(x.training for x in m.modules())
        assert m.train() is m and all(x.training for x in m.modules())

    def test_apply_goes_from_the_leaves_up(self):
        seen = []
        m = Pair()
        assert m.apply(seen.append) is m
        assert seen == [m.first, m.second, m]

    def test_requires_grad(self):
        m = Pair()
        assert m.requires_grad_(False) is m and not any(p.requires_grad for p in m.parameters())
        m.requires_grad_()
        assert all(p.requires_grad for p in m.parameters())

    def test_zero_grad(self):
        m = Scale()
        m(framework.ones(3)).sum().backward()
        held = m.weight.grad
        m.zero_grad(set_to_none=False)
        assert m.weight.grad is held and held.tolist() == [0, 0, 0]
        m.zero_grad()
        assert m.weight.grad is None


class TestPrinting:
    def test_nested(self):
        m = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Identity()))
        assert repr(m) == (
            "Sequential(\n"
            "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
            "  (1): Sequential(\n"
            "    (0): ReLU()\n"
            "    (1): Identity()\n"
            "  )\n"
            ")"
        )

    def test_own_words_of_several_lines_come_before_children(self):
        class Wordy(nn.Module):
            def extra_repr(self):
                return "a=1\nb=2"

        m = Wordy()
        assert repr(m) == "Wordy(\n  a=1\n  b=2\n)"
        m.child = nn.ReLU()
        assert repr(m) == "Wordy(\n  a=1\n  b=2\n  (child): ReLU()\n)"


class TestCopies:
    def test_deepcopy_is_apart_and_keeps_ties(self):
        m = Pair()
        m.tied = m.first.weight
        c = copy.deepcopy(m)
        assert c.tied is c.first.weight and c.first.weight is not m.first.weight
        with framework.no_grad():
            c.first.weight.fill_(7)
        assert m.first.weight.tolist() == [1, 1, 1]
        assert isinstance(c.first.weight, nn.Parameter) and c.first.weight.requires_grad

    def test_pickle_round_trip(self):
        m = nn.Sequential(Scale(), nn.ReLU())
        m[0].register_forward_pre_hook(_double_first)
        m.eval()
        c = pickle.loads(pickle.dumps(m))
        assert repr(c) == repr(m) and not c.training
        x = framework.ones(3)
        assert c(x).tolist() == m(x).tolist() == [2, 2, 2]

    def test_state_from_before_a_table_existed(self):
        m = Scale()
        state = m.__getstate__()
        for name in ("_forward_hooks_always_called", "_non_persistent_buffers_set", "_is_full_backward_hook"):
            del state[name]
        old = Scale.__new__(Scale)
        old.__setstate__(state)
        assert old(framework.ones(3)).tolist() == [1, 1, 1]


def _double_first(module, args):
    return (args[0] * 2,)


class TestConversion:
    def test_casts_floating_point_alone(self):
        m = nn.BatchNorm1d(3)
        weight = m.weight
        assert m.double() is m and m.weight is weight
        assert m.weight.dtype is m.running_mean.dtype is framework.float64
        assert m.num_batches_tracked.dtype is framework.int64
        for method, dtype in (
            ("half", framework.float16),
            ("bfloat16", framework.bfloat16),
            ("float", framework.float32),
        ):
            assert getattr(m, method)().weight.dtype is dtype

    def test_to_casts_the_gradient_too(self):
        m = Scale()
        m(framework.ones(3)).sum().backward()
        m.to(framework.float64)
        assert m.weight.dtype is m.weight.grad.dtype is framework.float64
        assert m.weight.requires_grad and m.weight.is_leaf
        assert m.weight.grad.tolist() == [1, 1, 1]

    def test_to_another_device(self, device):
        m = Scale()
        weight = m.weight
        m.to(device)
        assert m.weight is weight and str(m.weight.device) == str(m.offset.device) == str(framework.device(device))
        out = m(framework.ones(3, device=device))
        out.sum().backward()
        np.testing.assert_array_equal(m.weight.grad.tolist(), [1, 1, 1])
        assert str(m.cpu().weight.grad.device) == "cpu"

    def test_to_takes_a_tensor(self):
        m = Scale().to(framework.zeros(1, dtype=framework.float64))
        assert m.weight.dtype is framework.float64

    @pytest.mark.parametrize(
        "args, kwargs, text",
        [
            ((framework.int64,), {}, "only accepts floating point or complex dtypes"),
            (("cpu", framework.float32, False, False, 1), {}, "at most 4 positional arguments"),
            ((framework.float32,), {"dtype": framework.float32}, "multiple values for argument 'dtype'"),
            ((), {"devise": "cpu"}, "unexpected keyword argument 'devise'"),
            ((1.5,), {}, "is no device, dtype or tensor"),
        ],
    )
    def test_to_errors(self, args, kwargs, text):
        with pytest.raises(TypeError, match=text):
            Scale().to(*args, **kwargs)

    def test_to_empty_gives_new_memory(self):
        m = Scale()
        before = m.weight
        m.to_empty(device="cpu")
        assert m.weight is before and tuple(m.weight.shape) == (3,)
