"""The examples in docstrings and in README.md give what they say."""

from __future__ import annotations

import doctest
import importlib
import re

import pytest

import framework
from tests.sources import PACKAGES, ROOT, module_name, python_files

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WITH_EXAMPLES = [path for path in python_files(*PACKAGES) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=module_name)
def test_docstrings(path, capsys):
    module = importlib.import_module(module_name(path))
    failed, tried = doctest.testmod(module, extraglobs={"framework": framework}, optionflags=FLAGS)
    assert tried, "the examples in this file are in no docstring that doctest finds"
    assert not failed, capsys.readouterr().out


def test_readme(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", "README.md", 0)
    failed, tried = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert tried
    assert not failed, capsys.readouterr().out
