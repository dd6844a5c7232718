"""The project's own files, as the tests about the repository read them."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("backends", "framework")


def python_files(*folders: str) -> list[Path]:
    """The Python files in folders of the repository, sorted; what tools leave behind is not among them."""
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts
    )


def module_name(path: Path) -> str:
    """`framework.core.tensor` for framework/core/tensor.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def readme_commands() -> dict[str, str]:
    """The commands that README.md offers for copying, by name."""
    return runpy.run_path(str(ROOT / ".ci" / "readme.py"))["commands"]()
