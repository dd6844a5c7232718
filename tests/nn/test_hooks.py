"""Hooks of modules: order, replacing, removal, errors; the watch on gradients."""

from __future__ import annotations

import pytest

import framework
from framework import nn
from framework.nn.modules.module import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)


class Affine(nn.Module):
    """x * 3 + y, and both if asked."""

    def forward(self, x, y=1.0, *, pair=False):
        out = x * 3 + y
        return (out, x) if pair else out


def x(requires_grad=False):
    return framework.ones(2).requires_grad_(requires_grad)


class TestForward:
    def test_order(self):
        m, seen = Affine(), []
        note = lambda word: lambda *args: seen.append(word)
        with register_module_forward_pre_hook(note("all before")), register_module_forward_hook(note("all after")):
            m.register_forward_pre_hook(note("before 1"))
            m.register_forward_pre_hook(note("before 2"))
            m.register_forward_pre_hook(note("before 0"), prepend=True)
            m.register_forward_hook(note("after 1"))
            m.register_forward_hook(note("after 0"), prepend=True)
            m(x())
        assert seen == ["all before", "before 0", "before 1", "before 2", "all after", "after 0", "after 1"]

    def test_arguments_and_results_are_replaced(self):
        m = Affine()
        m.register_forward_pre_hook(lambda module, args: args[0] * 2)  # one value is made a tuple
        m.register_forward_hook(lambda module, args, out: (args, out))
        args, out = m(x())
        assert out.tolist() == [7, 7] and args[0].tolist() == [2, 2]

    def test_keywords(self):
        m = Affine()
        m.register_forward_pre_hook(lambda module, args, kwargs: ((args[0], 10.0), {"pair": True}), with_kwargs=True)
        m.register_forward_hook(lambda module, args, kwargs, out: (*out, kwargs), with_kwargs=True)
        out, _, kwargs = m(x(), y=5.0)
        assert out.tolist() == [13, 13] and kwargs == {"pair": True}

    def test_a_keyword_hook_returns_a_pair(self):
        m = Affine()
        m.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
        with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"):
            m(x())

    def test_removal(self):
        m, seen = Affine(), []
        handles = [
            m.register_forward_pre_hook(lambda module, args, kwargs: seen.append(1), with_kwargs=True),
            m.register_forward_hook(lambda *args: seen.append(2), with_kwargs=True, always_call=True),
        ]
        for handle in handles:
            handle.remove()
            handle.remove()
        m(x())
        tables = (m._forward_hooks, m._forward_hooks_with_kwargs, m._forward_hooks_always_called,
                  m._forward_pre_hooks, m._forward_pre_hooks_with_kwargs)  # fmt: skip
        assert not seen and not any(tables)

    def test_always_call_runs_after_an_error(self):
        class Failing(nn.Module):
            def forward(self, x):
                raise ZeroDivisionError("mine")

        m, seen = Failing(), []
        m.register_forward_hook(lambda *args: seen.append("not"))
        m.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
        with pytest.raises(ZeroDivisionError, match="mine"):
            m(x())
        assert seen == [None]

        def worse(*args):
            raise RuntimeError("hidden")

        m.register_forward_hook(worse, always_call=True)
        with (
            pytest.warns(UserWarning, match="silenced as another error was raised in forward: hidden"),
            pytest.raises(ZeroDivisionError),
        ):
            m(x())

    def test_always_call_runs_once(self):
        m, seen = Affine(), []
        m.register_forward_hook(lambda *args: seen.append("first"), always_call=True)

        def failing(*args):
            raise ZeroDivisionError

        m.register_forward_hook(failing)
        m.register_forward_hook(lambda *args: seen.append("last"), always_call=True)
        with pytest.raises(ZeroDivisionError):
            m(x())
        assert seen == ["first", "last"]

    def test_hooks_survive_a_deep_copy_without_their_handle(self):
        import copy

        m, seen = Affine(), []
        handle = m.register_forward_hook(lambda *args: seen.append(1))
        c = copy.deepcopy(m)
        handle.remove()
        c(x())
        m(x())
        assert seen == [1]


class TestBackward:
    def test_gradients_come_by(self):
        m, seen = Affine(), []
        m.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
        v = x(True)
        m(v, 2.0).sum().backward()
        ((grad_input, grad_output),) = seen
        assert grad_input[0].tolist() == [3, 3] and grad_input[1] is None and grad_output[0].tolist() == [1, 1]
        assert v.grad.tolist() == [3, 3]

    def test_several_outputs(self):
        m, seen = Affine(), []
        m.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_output))
        v = x(True)
        out, _ = m(v, pair=True)
        out.sum().backward()
        assert seen[0][0].tolist() == [1, 1] and seen[0][1] is None
        out, same = m(v, pair=True)
        (out.sum() + 2 * same.sum()).backward()
        assert seen[1][1].tolist() == [2, 2]

    def test_gradients_are_replaced(self):
        m = Affine()
        m.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
        m.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] + grad_output[0],))
        v = x(True)
        m(v).sum().backward()
        assert v.grad.tolist() == [40, 40]

    def test_order_and_hooks_of_all_modules(self):
        m, seen = Affine(), []
        note = lambda word: lambda *args: seen.append(word)
        with (
            register_module_full_backward_hook(note("all")),
            register_module_full_backward_pre_hook(note("all before")),
        ):
            m.register_full_backward_hook(note("1"))
            m.register_full_backward_hook(note("0"), prepend=True)
            m.register_full_backward_pre_hook(note("before"))
            m(x(True)).sum().backward()
        assert seen == ["all before", "before", "all", "0", "1"]

    def test_without_a_gradient_for_inputs_it_fires_at_the_outputs(self):
        m, seen = nn.Linear(2, 1), []
        m.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
        with pytest.warns(UserWarning, match="no inputs require gradients"):
            m(x()).sum().backward()
        assert seen[0][0] == (None,) and seen[0][1][0].tolist() == [1]
        assert m.weight.grad.tolist() == [[1, 1]]

    @pytest.mark.parametrize(
        "register, text",
        [
            ("register_full_backward_hook", "invalid number of grad_input, got 2, but expected 1"),
            ("register_full_backward_pre_hook", "invalid number of grad_output, got 2, but expected 1"),
        ],
    )
    def test_number_of_gradients(self, register, text):
        m = Affine()
        getattr(m, register)(lambda module, grad, *rest: (grad[0], grad[0]))
        with pytest.raises(RuntimeError, match=text):
            m(x(True)).sum().backward()

    def test_writing_to_what_is_watched_is_refused(self):
        class InPlace(nn.Module):
            def forward(self, x):
                return x.mul_(2)

        m = InPlace()
        m.register_full_backward_hook(lambda *args: None)
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            m(x(True) * 1)

    def test_outputs_of_other_kinds_are_left_alone(self):
        class Dictionary(nn.Module):
            def forward(self, x):
                return {"x": x * 2}

        m = Dictionary()
        m.register_full_backward_hook(lambda *args: None)
        with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
            m(x(True))

    def test_nothing_happens_without_gradients(self):
        m = Affine()
        m.register_full_backward_hook(lambda *args: None)
        v = x(True)
        with framework.no_grad():
            assert m(v).tolist() == [4, 4]

    def test_kinds_do_not_mix(self):
        m = Affine()
        m.register_full_backward_hook(lambda *args: None)
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
            m.register_backward_hook(lambda *args: None)
        with register_module_backward_hook(lambda *args: None), pytest.raises(RuntimeError, match="Cannot use both"):
            register_module_full_backward_hook(lambda *args: None)

    def test_the_older_kind_sees_the_last_operation(self):
        class Double(nn.Module):
            def forward(self, x):
                return x * 2

        m, seen = Double(), []
        m.register_backward_hook(
            lambda module, grad_input, grad_output: seen.append((module, grad_input[0], grad_output[0]))
        )
        v = x(True)
        m(v * 1).sum().backward()
        ((module, grad_input, grad_output),) = seen
        assert module is m and grad_input.tolist() == [2, 2] and grad_output.tolist() == [1, 1]

    def test_the_older_kind_says_what_it_misses(self):
        m = Affine()
        m.register_backward_hook(lambda *args: None)
        with pytest.warns(FutureWarning, match="when the forward contains multiple autograd Nodes"):
            m(x(True))
