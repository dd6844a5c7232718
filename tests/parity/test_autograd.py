"""Autograd's API, hooks, modes, versions and histories, program by program against PyTorch."""

from __future__ import annotations

import importlib
import math
import warnings

import pytest

import framework
from tests.case_ids import case_id
from tests.parity.autograd_programs import ERRORS, VALUES

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def programs(table):
    return [p for block in table.values() for p in block.strip().split("\n\n")]


def run(F, program):
    """The value of a program's last line, as plain numbers and lists."""
    *lines, last = program.split("\n")
    importlib.import_module(F.__name__ + ".utils.checkpoint")
    names = {
        "F": F,
        "A": F.autograd,
        "G": F.autograd.grad,
        "graph": F.autograd.graph,
        "t": F.tensor,
        "C": F.utils.checkpoint.checkpoint,
        "log": [],
        "a": F.tensor([1.0, 2.0, 3.0], requires_grad=True),
        "b": F.tensor([0.5, -1.0, 2.0], requires_grad=True),
        "m": F.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which are given is tested in tests/autograd
        exec("\n".join(lines), names)
        if last.startswith("!"):
            return exec(last[1:], names)
        return plain(eval(last, names))


def plain(x):
    if isinstance(x, (tuple, list)):
        return [plain(y) for y in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if hasattr(x, "tolist"):
        return plain(x.tolist())
    return x if isinstance(x, (str, bool, int, float, complex, type(None))) else type(x).__name__


def agree(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            agree(x, y)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5, nan_ok=True)
    else:
        assert found == expected
        assert type(found) is type(expected) or math.isfinite(found)


@pytest.mark.parametrize("program", programs(VALUES), ids=case_id)
def test_values(program):
    agree(run(framework, program), run(torch, program))


@pytest.mark.parametrize("program", programs(ERRORS), ids=case_id)
def test_errors(program):
    program, text = program.rsplit("\nraises ", 1)
    errors = []
    for F in (framework, torch):
        with pytest.raises(Exception) as caught:
            run(F, program)
        errors.append(caught.value)
        assert text in str(caught.value)
    ours, theirs = errors
    assert isinstance(ours, type(theirs)) or type(ours).__name__ == type(theirs).__name__
