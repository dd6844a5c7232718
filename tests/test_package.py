"""The package as a whole: what importing it loads, what its files import, how long they are, and its documentation."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.sources import PACKAGES, ROOT, module_name, parse, python_files

MOST_LINES = 450
SOURCES = python_files(*PACKAGES)


def run(code: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=cwd)


def loaded_by(statement: str) -> set[str]:
    """The top-level modules outside the standard library that a fresh interpreter has loaded after a statement."""
    done = run(f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout)) - sys.stdlib_module_names


def test_import_loads_numpy_only():
    assert loaded_by("import framework") - loaded_by("import numpy.random") == {"framework", "backends"}


def test_import_is_silent():
    done = run("import framework")
    assert (done.stdout, done.stderr) == ("", "")


def imported_names(tree: ast.AST) -> set[str]:
    """Every module that the code imports, also by `importlib.import_module("...")`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__", "find_spec"):
                names.add(str(node.args[0].value))
    return names


def test_imported_names_sees_every_form():
    code = "import a.b\ndef f():\n    from c import d\n    importlib.import_module('e')\n    __import__('g')"
    assert imported_names(ast.parse(code)) == {"a.b", "c", "e", "g"}


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_torch_is_never_imported(path):
    assert not {name for name in imported_names(parse(path)) if name.split(".")[0] in ("torch", "functorch")}


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_module_has_a_docstring(path):
    assert ast.get_docstring(parse(path))


def test_no_file_is_too_long():
    files = [*SOURCES, *python_files("examples"), *python_files(".ci")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def public_modules() -> list[str]:
    """The modules whose path has no private part."""
    names = (module_name(path) for path in python_files("framework"))
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def undocumented(module) -> list[str]:
    """Public functions and classes of a module, and public methods of those classes, without a docstring.

    An object counts where it says it is from (`__module__`); generated functions say the public namespace.
    """
    found = []
    for name, value in vars(module).items():
        function_or_class = inspect.isfunction(value) or inspect.isclass(value)
        if name.startswith("_") or not function_or_class or value.__module__ != module.__name__:
            continue
        if not inspect.getdoc(value):
            found.append(name)
        if inspect.isclass(value):
            found += [
                f"{name}.{attribute}"
                for attribute, member in vars(value).items()
                if not attribute.startswith("_")
                and (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
                and not inspect.getdoc(getattr(value, attribute))
            ]
    return found


@pytest.mark.parametrize("name", public_modules())
def test_public_names_have_docstrings(name):
    assert undocumented(importlib.import_module(name)) == []


@pytest.mark.parametrize("path", python_files("backends"), ids=module_name)
def test_backend_classes_have_docstrings(path):
    """What a primitive does is said once, where the primitives are defined, not again by each backend."""
    classes = [node for node in parse(path).body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in classes if not node.name.startswith("_") and not ast.get_docstring(node)] == []


def test_version_is_that_of_the_distribution():
    import framework

    assert framework.__version__ == project_file()["project"]["version"]


@pytest.mark.parametrize("layout", ["package", "module"])
def test_a_shadowing_backends_is_named(tmp_path, layout):
    hiding = tmp_path / ("backends" if layout == "package" else "backends.py")
    if layout == "package":
        hiding.mkdir()
        (hiding / "__init__.py").write_text("")
    else:
        hiding.write_text("")
    done = run(f"import sys; sys.path.append({str(ROOT)!r})\nimport framework", cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: framework: ")
    assert str(hiding) in last
    assert "Rename it" in last


def test_a_shadowing_backends_that_is_already_imported_is_named(tmp_path):
    (tmp_path / "backends").mkdir()
    (tmp_path / "backends" / "__init__.py").write_text("")
    code = f"import sys, backends; sys.path[:0] = [{str(ROOT)!r}]\nimport framework"
    done = run(code, cwd=tmp_path)
    assert done.returncode == 1
    assert str(tmp_path / "backends") in done.stderr.splitlines()[-1]


def test_a_folder_that_is_no_package_shadows_nothing(tmp_path):
    (tmp_path / "backends").mkdir()
    done = run(f"import sys; sys.path.append({str(ROOT)!r})\nimport framework", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_wheel_holds_both_packages_and_their_types():
    assert sorted(project_file()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == sorted(PACKAGES)
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").exists()


def project_file() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
