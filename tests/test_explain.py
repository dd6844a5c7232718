"""`framework.explain` and `framework.ops.show`: they print what is in the source, for every op."""

from __future__ import annotations

import io
import re

import pytest

import framework
from framework.dispatch.registry import ENTRIES
from framework.dispatch.show import entry_text, place, text_of
from framework.nn import functional as F
from tests.sources import ROOT


def explained(t: framework.Tensor) -> str:
    out = io.StringIO()
    framework.explain(t, file=out)
    return out.getvalue()


def shown(op: object) -> str:
    out = io.StringIO()
    framework.ops.show(op, file=out)
    return out.getvalue()


def named_line(location: str) -> str:
    file, line = location.rsplit(":", 1)
    return (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_history_of_a_value():
    x = framework.ones(2, 3, requires_grad=True)
    lines = explained((x.exp() * 2).sum(dim=1)).splitlines()
    heads = [line.split("    ")[0] for line in lines if line.startswith("%")]
    assert heads == [
        "%0 = leaf: float32[2, 3]",
        "%1 = exp(%0): float32[2, 3]",
        "%2 = mul(%1, -): float32[2, 3]",
        "%3 = sum(%2, dim=(1,), keepdim=False, dtype=None): float32[2]",
    ]
    assert "    gradient of input: lambda out: out    # times g" in lines
    assert sum("gradient of" in line for line in lines) == 3  # the number that x.exp() is multiplied with has none
    location = next(line for line in lines if line.startswith("%1")).split()[-1]
    assert named_line(location).startswith("exp = unary(")


def test_a_value_used_twice_is_told_once():
    x = framework.ones(3, dtype=framework.float64, requires_grad=True)
    y = x.sin()
    text = explained(y * y)
    assert text.count("sin(") == 1
    assert "mul(%1, %1): float64[3]" in text


def test_one_of_several_outputs():
    x = framework.randn(2, 3, requires_grad=True)
    assert re.search(r"= output 0 of %1: float32\[2\]", explained(x.max(dim=1).values))


def test_a_function_of_the_user_is_told_by_its_name():
    class Double(framework.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    assert "DoubleBackward(%0): float32[2]" in explained(Double.apply(framework.ones(2, requires_grad=True)))


def test_no_history():
    assert explained(framework.ones(2, 3)).startswith("float32[2, 3]: no history")
    x = framework.ones(2, requires_grad=True)
    with framework.no_grad():
        assert "no history" in explained(x * 2)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        framework.explain(3)


def test_a_long_history_needs_no_recursion():
    x = framework.ones((), requires_grad=True)
    y = x
    for _ in range(2000):
        y = y + 1
    assert "%2000 = add(%1999, -)" in explained(y)


def test_on_every_device(device):
    x = framework.ones(2, device=device, requires_grad=True)
    assert "%1 = exp(%0): float32[2]" in explained(x.exp())


def test_show_prints_all_parts():
    text = shown("softmax")
    for part in ("forward", "derivative", "dtypes", "batching", "kernels", "generated function"):
        assert f"\n{part}:\n" in text
    assert "def softmax_backward(n, g, xp):" in text
    assert "return e / xp.sum(e, dims, True)" in text
    assert "return out * (g - xp.sum(g * out, _dims(out, dim), True))" in text
    assert "def softmax" in named_line(text.split()[1]) or "@op" in named_line(text.split()[1])


@pytest.mark.parametrize("op", ["gelu", "nn.functional.gelu", "framework.nn.functional.gelu", F.gelu])
def test_show_finds_an_op_by_every_name(op):
    assert shown(op).startswith("gelu ")


@pytest.mark.parametrize("op", ["no_such_op", print])
def test_show_of_what_is_no_op(op):
    with pytest.raises(ValueError, match=r"^show\(\): "):
        shown(op)


@pytest.mark.parametrize("name", ["pow", "maximum", "eq"])
def test_an_op_of_one_line_shows_that_line(name):
    text = shown(name)
    assert f"xp.{name}(input, other), the backend's primitive:\n    {name} = binary(" in text
    assert named_line(text.split()[1]).startswith(f"{name} = binary(")


def test_every_entry_has_a_place_and_text():
    for name, e in ENTRIES.items():
        assert place(e).startswith("framework/"), name
        assert text_of(e.forward), name
        assert "made at run time" not in entry_text(e), name


def test_each_of_two_lambdas_on_a_line_is_told_apart():
    first, second = (lambda x: x + 1, lambda x: x + 2)
    assert (text_of(first), text_of(second)) == ("lambda x: x + 1", "lambda x: x + 2")
