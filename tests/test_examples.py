"""The examples run as a user runs them, and learn."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

from tests.sources import ROOT, python_files

# How to run each script in a few seconds.
QUICK = {
    "char_gpt.py": ["--steps", "2", "--length", "3"],
    "lstm_adding.py": ["--steps", "3", "--length", "6"],
    "train_digits.py": ["--steps", "5"],
    "vae_digits.py": ["--steps", "5"],
}


def run(script: str, *arguments: str) -> list[str]:
    """Runs an example with warnings as errors; the lines it printed."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / script), *arguments]
    path = {"PYTHONPATH": str(ROOT)}  # this clone's framework, also where another one is installed
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | path)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_example_is_run():
    assert {str(path.relative_to(ROOT / "examples")) for path in python_files("examples")} == set(QUICK)


@pytest.mark.parametrize("script", QUICK)
def test_runs(script, device, tmp_path):
    assert run(script, "--device", device, "--output", str(tmp_path), *QUICK[script])
    assert any(tmp_path.iterdir())


@pytest.mark.slow
def test_digits_are_learned(tmp_path):
    last = run("train_digits.py", "--device", "cpu", "--output", str(tmp_path))[-1]
    accuracy = float(re.fullmatch(r"test accuracy ([\d.]+)%", last)[1])
    assert accuracy >= 97
    assert {path.suffix for path in tmp_path.iterdir()} == {".png"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "script, options, begins, most",
    [
        # The most is what needs no model: the frequencies of the characters, the answer 1, the mean of all images.
        ("char_gpt.py", ["--steps", "80", "--length", "10"], "loss on unseen text ", 3.2),
        ("lstm_adding.py", ["--steps", "150", "--length", "4"], "mean squared error ", 0.16),
        ("vae_digits.py", ["--steps", "300"], "test loss ", 26.9),
    ],
)
def test_loss_falls(script, options, begins, most, tmp_path):
    last = run(script, "--output", str(tmp_path), *options)[-1]
    assert last.startswith(begins)
    assert float(last.removeprefix(begins).split()[0]) < most
    assert {path.suffix for path in tmp_path.iterdir()} == {".png"}


@pytest.mark.every_device
def test_loss_curve_is_the_same_on_every_device(device):
    import framework

    example = runpy.run_path(str(ROOT / "examples" / "train_digits.py"))

    def losses(name):
        framework.manual_seed(0)
        training, _ = example["load"]()
        where = framework.device(name)
        return example["train"](example["network"](dropout=False).to(where), training, where, epochs=1, steps=20)

    np.testing.assert_allclose(losses(device), losses("cpu"), atol=1e-3, rtol=0)
