"""Containers behave like the lists and dictionaries they are."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import framework
from framework import nn


def layers(*sizes):
    return [nn.Linear(n, n) for n in sizes]


class TestSequential:
    def test_calls_one_after_the_other(self):
        m = nn.Sequential(nn.Flatten(0), nn.ReLU())
        assert m(framework.tensor([[-1.0, 2.0]])).tolist() == [0, 2]
        assert nn.Sequential()(3) == 3

    def test_names(self):
        a, b = layers(1, 2)
        assert list(nn.Sequential(OrderedDict(x=a, y=b))._modules) == ["x", "y"]
        m = nn.Sequential(OrderedDict(x=a, y=b))
        assert m[0] is a and m[-1] is b and m[0:1].x is a and len(m) == 2 and list(m) == [a, b]

    def test_list_operations(self):
        a, b, c = layers(1, 2, 3)
        m = nn.Sequential(a)
        assert m.append(b) is m and m.insert(0, c) is m and list(m) == [c, a, b]
        assert m.insert(-1, c) is m and list(m) == [c, a, c, b]
        assert m.pop(1) is a and list(m) == [c, c, b] and list(m._modules) == ["0", "1", "2"]
        del m[0]
        m[1] = a
        assert list(m) == [c, a]
        assert m.extend([b, c]) is m and list(m) == [c, a, b, c]
        del m[1:3]
        assert list(m) == [c, c] and list(m._modules) == ["0", "1"]

    def test_arithmetic(self):
        a, b = layers(1, 2)
        m = nn.Sequential(a) + nn.Sequential(b)
        assert list(m) == [a, b] and list(m * 2) == list(2 * m) == [a, b, a, b]
        m += nn.Sequential(a)
        assert list(m) == [a, b, a]
        m *= 2
        assert list(m) == [a, b, a] * 2

    @pytest.mark.parametrize("act, kind, text", [
        (lambda m: m[5], IndexError, "index 5 is out of range"),
        (lambda m: m.insert(9, nn.ReLU()), IndexError, "Index out of range: 9"),
        (lambda m: m.insert(0, 3), AssertionError, "module should be of type"),
        (lambda m: m + [3], ValueError, "supports only objects of Sequential class"),
        (lambda m: m * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda m: m * 1.5, TypeError, "unsupported operand"),
        (lambda m: m.append(3), TypeError, "is not a Module subclass"),
    ])  # fmt: skip
    def test_errors(self, act, kind, text):
        with pytest.raises(kind, match=text):
            act(nn.Sequential(nn.ReLU()))


class TestModuleList:
    def test_list_operations(self):
        a, b, c = layers(1, 2, 3)
        m = nn.ModuleList([a])
        assert m.append(b) is m and m.extend([c]) is m and list(m) == [a, b, c]
        m.insert(1, c)
        assert list(m) == [a, c, b, c] and m[-1] is c and list(m[1:3]) == [c, b] and isinstance(m[1:3], nn.ModuleList)
        assert m.pop(0) is a and list(m + [a]) == [c, b, c, a] and list(m) == [c, b, c]
        m += [a]
        m[0] = b
        del m[1]
        assert list(m) == [b, c, a] and len(list(m.parameters())) == 6

    def test_printing_counts_repetitions(self):
        m = nn.ModuleList([nn.ReLU(), nn.Linear(2, 2), nn.Linear(2, 2)])
        assert repr(m) == "ModuleList(\n  (0): ReLU()\n  (1-2): 2 x Linear(in_features=2, out_features=2, bias=True)\n)"
        assert repr(nn.ModuleList()) == "ModuleList()"

    def test_errors(self):
        with pytest.raises(TypeError, match="should be called with an iterable, but got int"):
            nn.ModuleList().extend(3)
        with pytest.raises(NotImplementedError):
            nn.ModuleList()(1)


class TestModuleDict:
    def test_dictionary_operations(self):
        a, b = layers(1, 2)
        m = nn.ModuleDict({"a": a})
        m["b"] = b
        assert (
            list(m) == list(m.keys()) == ["a", "b"]
            and list(m.values()) == [a, b]
            and list(m.items()) == [("a", a), ("b", b)]
        )
        assert "a" in m and len(m) == 2 and m.pop("a") is a and list(m) == ["b"]
        m.update([("c", a)])
        m.update(nn.ModuleDict({"d": b}))
        del m["b"]
        assert list(m) == ["c", "d"]
        m.clear()
        assert len(m) == 0

    @pytest.mark.parametrize(
        "given, kind, text",
        [
            (3, TypeError, "should be called with an iterable of key/value pairs, but got int"),
            ([3], TypeError, "update sequence element #0 should be Iterable"),
            ([("a",)], ValueError, "update sequence element #0 has length 1; 2 is required"),
        ],
    )
    def test_errors(self, given, kind, text):
        with pytest.raises(kind, match=text):
            nn.ModuleDict().update(given)


class TestParameters:
    def test_list(self):
        m = nn.ParameterList([framework.ones(2), nn.Parameter(framework.zeros(1)), "other"])
        assert [isinstance(v, nn.Parameter) for v in m] == [True, True, False]
        assert [n for n, _ in m.named_parameters()] == ["0", "1"] and m[-1] == "other" and len(m) == 3
        assert len(m[:2]) == 2 and isinstance(m[:2], nn.ParameterList)
        m[0] = framework.zeros(3)
        m += [framework.ones(4)]
        assert list(m.state_dict()) == ["0", "1", "3"] and tuple(m[0].shape) == (3,)
        assert (
            "(0): Parameter containing: [" in repr(m)
            and "of size 3]" in repr(m)
            and "(2): Object of type: str" in repr(m)
        )
        with pytest.raises(IndexError, match="index 4 is out of range"):
            m[4]
        with pytest.raises(TypeError, match="but got Tensor"):
            m.extend(framework.ones(2))
        with pytest.raises(RuntimeError, match="should not be called"):
            m()

    def test_dictionary(self):
        m = nn.ParameterDict({"b": framework.ones(2), "a": framework.zeros(1)})
        assert list(m) == ["a", "b"]  # a plain mapping in the order of its sorted keys
        m["c"] = 3
        assert m.get("c") == 3 and m.get("d", 4) == 4 and m.setdefault("e", framework.ones(1)).requires_grad
        assert m.pop("c") == 3 and m.popitem()[0] == "e" and list(reversed(m)) == ["b", "a"]
        both = m | nn.ParameterDict(OrderedDict(z=framework.ones(1)))
        assert list(both) == ["a", "b", "z"] and list(m) == ["a", "b"] and both["a"] is m["a"]
        m |= nn.ParameterDict([("y", framework.ones(1))])
        assert list(m.state_dict()) == ["a", "b", "y"] and len(m.copy()) == 3
        assert list(m.fromkeys(["k"], 1).items()) == [("k", 1)]
        m.clear()
        assert not list(m.parameters())
        with pytest.raises(TypeError, match="it is not a string"):
            m[3] = framework.ones(1)
        with pytest.raises(KeyError):
            m.popitem()
        with pytest.raises(RuntimeError, match="should not be called"):
            m(1)
