"""Every name of CuPy that the adapter uses exists; that needs CuPy, but no driver."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import backends
from backends import numpy_like
from backends.array_api import ELEMENTWISE

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

FOLDER = Path(backends.__file__).parent
SOURCES = [*sorted(FOLDER.glob("numpy_like*.py")), FOLDER / "im2col.py", *sorted((FOLDER / "cupy").glob("*.py"))]
ROOTS = {"np", "cupy", "cupyx", "self.np"}


def chains(tree: ast.AST) -> set[str]:
    """Dotted names in a source text: `self.np.add.reduce`, `cupy.where`."""
    return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and all(
        isinstance(n, ast.Attribute | ast.Name | ast.Load) for n in ast.walk(node))}  # fmt: skip


def used() -> list[tuple[str, str]]:
    """(module, dotted name in it) for what the sources read of the array library."""
    found = set()
    for path in SOURCES:
        for chain in chains(ast.parse(path.read_text())):
            for root in ROOTS:
                if chain.startswith(root + "."):
                    found.add(("cupyx" if root == "cupyx" else "cupy", chain[len(root) + 1 :]))
    found |= {
        ("cupy", n) for n in (ELEMENTWISE | numpy_like._RENAMED | numpy_like._MORE).values() if n not in ("acos",)
    }
    return sorted(found)


@pytest.mark.parametrize(("module", "name"), used())
def test_name(module: str, name: str) -> None:
    import cupyx

    value: Any = {"cupy": cupy, "cupyx": cupyx}[module]
    for part in name.split("."):
        value = getattr(value, part)


@pytest.mark.parametrize("name", ["maximum", "minimum", "logical_or", "logical_and"])
def test_the_reductions_that_the_adapter_avoids(name: str) -> None:
    """If one of these is supported some day, its override can go."""
    with pytest.raises(NotImplementedError):
        getattr(cupy, name).reduce(None)


def test_methods_of_arrays() -> None:
    names = ("max", "min", "any", "all", "diagonal", "view", "astype", "real", "imag", "data", "flags", "swapaxes",
             "transpose", "squeeze", "reshape", "copy", "strides", "itemsize")  # fmt: skip
    assert [n for n in names if not hasattr(cupy.ndarray, n)] == []
    assert list(inspect.signature(cupy.take).parameters)[:3] == ["a", "indices", "axis"]
