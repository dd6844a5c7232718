"""State dictionaries: what they hold, loading with and without strict and assign, hooks, errors."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import framework
from framework import nn


class Extra(nn.Module):
    def __init__(self, value=None):
        super().__init__()
        self.value = value

    def get_extra_state(self):
        return self.value

    def set_extra_state(self, state):
        self.value = state


def model():
    return nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.BatchNorm1d(3)))


KEYS = ["a.weight", "a.bias", "b.weight", "b.bias", "b.running_mean", "b.running_var", "b.num_batches_tracked"]


class TestSaving:
    def test_keys_and_versions(self):
        state = model().state_dict()
        assert list(state) == KEYS and isinstance(state, OrderedDict)
        assert dict(state._metadata) == {"": {"version": 1}, "a": {"version": 1}, "b": {"version": 2}}

    def test_prefix_and_destination(self):
        out = OrderedDict(x=1)
        assert model().state_dict(destination=out, prefix="net.") is out
        assert list(out) == ["x", *("net." + key for key in KEYS)]

    def test_positional_arguments_warn(self):
        out = {}
        with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
            model().state_dict(out, "p.", True)
        assert list(out)[0] == "p.a.weight" and out["p.a.weight"].requires_grad

    def test_entries_share_memory_and_are_detached(self):
        m = model()
        state = m.state_dict()
        assert not state["a.weight"].requires_grad
        state["a.weight"].fill_(5)
        assert m.a.weight[0, 0].item() == 5
        assert m.state_dict(keep_vars=True)["a.weight"] is m.a.weight

    def test_extra_state(self):
        m = nn.Sequential(Extra(3))
        assert m.state_dict() == {"0._extra_state": 3}
        other = nn.Sequential(Extra())
        other.load_state_dict(m.state_dict())
        assert other[0].value == 3
        with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0._extra_state"'):
            other.load_state_dict({})
        with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "0._extra_state"'):
            nn.Sequential(nn.ReLU()).load_state_dict({"0._extra_state": 3})

    def test_hooks(self):
        m, seen = model(), []
        m.a.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append((prefix, keep)))

        def after(module, state, prefix, metadata):
            state[prefix + "added"] = metadata["version"]

        handle = m.a.register_state_dict_post_hook(after)
        assert m.state_dict()["a.added"] == 1 and seen == [("a.", False)]
        handle.remove()
        assert "a.added" not in m.state_dict()
        with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
            m._register_state_dict_hook(after)
        m.a.register_state_dict_post_hook(lambda *args: {})
        with pytest.raises(RuntimeError, match="must return None"):
            m.state_dict()
        m = model()
        m._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
        assert m.state_dict() == {"only": 1}


class TestLoading:
    def test_values_are_copied(self):
        source, target = model(), model()
        weight = target.a.weight
        assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
        assert target.a.weight is weight and weight.tolist() == source.a.weight.tolist()

    def test_dtypes_are_the_targets(self):
        target = model().double()
        target.load_state_dict(model().state_dict())
        assert target.a.weight.dtype is framework.float64

    def test_strict_names_everything_at_once(self):
        state = model().state_dict()
        del state["a.bias"]
        state["c"] = state["b.other.x"] = framework.ones(1)
        state["a.weight"] = framework.ones(3, 3)
        with pytest.raises(RuntimeError) as caught:
            model().load_state_dict(state)
        text = str(caught.value)
        assert text.startswith(
            'Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "a.bias". '
        )
        assert 'Unexpected key(s) in state_dict: "c", "b.other.x". ' in text
        assert "size mismatch for a.weight: copying a param with shape" in text and "[3, 3]" in text

    def test_without_strict_keys_are_returned(self):
        state = model().state_dict()
        del state["a.bias"]
        state["c"] = framework.ones(1)
        found = model().load_state_dict(state, strict=False)
        assert found.missing_keys == ["a.bias"] and found.unexpected_keys == ["c"]
        assert repr(found) == "IncompatibleKeys(missing_keys=['a.bias'], unexpected_keys=['c'])"

    def test_shapes_are_checked_without_strict(self):
        with pytest.raises(RuntimeError, match="size mismatch for a.bias"):
            model().load_state_dict({"a.bias": framework.ones(4)}, strict=False)

    def test_other_errors(self):
        with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
            model().load_state_dict([])
        with pytest.raises(
            RuntimeError, match="expected torch.Tensor or Tensor-like object from checkpoint but received"
        ):
            model().load_state_dict({"a.bias": [1, 2, 3]}, strict=False)

    def test_one_element_loads_into_a_scalar(self):
        m = nn.Module()
        m.s = nn.Parameter(framework.zeros(()))
        m.load_state_dict({"s": framework.ones(1)})
        assert m.s.item() == 1 and m.s.shape == ()

    def test_assign_takes_the_tensors_themselves(self):
        source, target = model().double(), model()
        target.a.weight.requires_grad_(False)
        state = source.state_dict()
        target.load_state_dict(state, assign=True)
        assert target.a.weight.dtype is framework.float64 and isinstance(target.a.weight, nn.Parameter)
        assert not target.a.weight.requires_grad and target.a.bias.requires_grad
        state["b.running_mean"].fill_(9)
        assert target.b.running_mean.tolist() == [9, 9, 9]

    def test_assign_keeps_a_given_parameter(self):
        p = nn.Parameter(framework.ones(3))
        m = model()
        m.load_state_dict({"a.bias": p}, strict=False, assign=True)
        assert m.a.bias is p

    def test_the_caller_keeps_his_dictionary(self):
        m = model()
        m.a.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: state.pop(prefix + "bias", None))
        state = model().state_dict()
        with pytest.raises(RuntimeError, match=r"Missing key\(s\)"):
            m.load_state_dict(state)
        assert "a.bias" in state

    def test_hooks(self):
        m, seen = model(), []

        def before(module, state, prefix, metadata, strict, missing, unexpected, errors):
            seen.append((module is m.a, prefix, metadata["version"], strict))
            state[prefix + "weight"] = state.pop(prefix + "kernel")

        def after(module, incompatible):
            seen.append(list(incompatible.missing_keys))
            incompatible.missing_keys.clear()

        m.a.register_load_state_dict_pre_hook(before)
        handle = m.register_load_state_dict_post_hook(after)
        state = model().state_dict()
        state["a.kernel"] = state.pop("a.weight")
        del state["a.bias"]
        m.load_state_dict(state)
        assert seen == [(True, "a.", 1, True), ["a.bias"]]
        handle.remove()
        m.register_load_state_dict_post_hook(lambda module, keys: 1)
        with pytest.raises(AssertionError, match="not expected to return new values"):
            m.load_state_dict(state)

    def test_batch_norm_from_before_it_counted(self):
        m = model()
        m.b.num_batches_tracked.fill_(4)
        state = m.state_dict()
        del state["b.num_batches_tracked"]
        state._metadata["b"]["version"] = 1
        m.load_state_dict(state)
        assert m.b.num_batches_tracked.item() == 4
        state._metadata["b"]["version"] = 2
        with pytest.raises(RuntimeError, match="num_batches_tracked"):
            m.load_state_dict(state)
