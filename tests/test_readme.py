"""README.md: its commands are what CI runs, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.sources import ROOT, readme_commands

PAGES = ("README.md", ".github/CONTRIBUTING.md")


def test_it_has_the_two_commands():
    assert set(readme_commands()) == {"example", "test"}


@pytest.mark.parametrize("name", ["example", "test"])
def test_command_is_valid_shell_that_stands_alone(name):
    command = readme_commands()[name]
    checked = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, timeout=30)
    assert checked.returncode == 0, checked.stderr
    assert "-m venv" in command
    assert "pip install" in command


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"https?:|#", link)]
    missing = [link for link in links if not ((ROOT / page).parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_python_files_it_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/.])((?:examples|tests|backends|framework)/[\w/]+\.py)\b", text))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
