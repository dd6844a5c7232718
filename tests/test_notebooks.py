"""The notebooks run from the first cell to the last. Their code needs no Jupyter, so neither do these tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.sources import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

# Runs the code cells in one namespace, as Jupyter does; the value of a cell's last expression is shown.
RUNNER = """
import ast, json, linecache, sys
from pathlib import Path
notebook, checks = sys.argv[1:]
names = {"__name__": "__main__"}
for i, cell in enumerate(json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]):
    if cell["cell_type"] == "code":
        text, file = "".join(cell["source"]), f"cell {i}"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        tree = ast.parse(text, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), names)
        if last is not None and (value := eval(compile(ast.Expression(last.value), file, "eval"), names)) is not None:
            print(repr(value))
exec(checks, names)
"""

# What holds at the end of each notebook.
CHECKS = {
    "first_steps.ipynb": """
assert a[:, 0].tolist() == [-1, -1]
assert torch.allclose(x.grad, (x.exp() * (x + 1)).detach())
assert accuracy > 0.95 and losses[-1] < 0.2 < losses[0]
assert max(abs(p - q) for p, q in zip(losses[:20], losses_there[:20])) < 1e-3
assert all(d < 1e-5 for pair in differences.values() for d in pair), differences
"""
}


def read(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_notebook_is_checked():
    assert {path.name for path in NOTEBOOKS} == set(CHECKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_runs(path):
    command = [sys.executable, "-W", "error", "-c", RUNNER, str(path), CHECKS[path.name]]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert "%1 = exp(%0)" in done.stdout  # explain


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_is_stored_without_outputs(path):
    notebook = read(path)
    assert notebook["nbformat"] == 4
    assert [cell for cell in notebook["cells"] if cell.get("outputs") or cell.get("execution_count")] == []
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
