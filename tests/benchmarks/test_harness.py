"""The benchmark harness measures what it says, on functions whose cost does not matter."""

from __future__ import annotations

import argparse
import json
import sys
import types

import pytest

from tests.benchmarks import cases, report, timing
from tests.benchmarks.cases import Case


def test_measure_interleaves_and_alternates():
    called = []
    sides = {"a": lambda: called.append("a") or 1.0, "b": lambda: called.append("b") or 2.0}
    times = timing.measure(sides, rounds=3, self_timed=True)
    assert called[2:] == ["b", "a", "a", "b", "b", "a"]  # after one call of each to warm up
    assert (times["a"], times["b"]) == (timing.Timing(1.0, 1.0), timing.Timing(2.0, 2.0))


def test_measure_takes_median_and_minimum():
    seconds = iter([9.0, 5.0, 1.0, 3.0])
    assert timing.measure({"a": lambda: next(seconds)}, rounds=3, self_timed=True)["a"] == timing.Timing(3.0, 1.0)


def test_unknown_group_names_the_choices():
    with pytest.raises(ValueError, match=r"'speed'.*dispatch"):
        cases.load(["speed"])


def test_a_case_the_candidate_cannot_run_says_what_is_missing():
    row = report.run(Case("g", "n", lambda t: t.nothing), types.ModuleType("empty"), None, quick=True)
    assert "nothing" in row["missing"]
    assert "not measured" in report.line(row)


def test_every_case_runs_and_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(timing, "SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(report, "QUICK_ROUNDS", 1)
    monkeypatch.setitem(sys.modules, "torch", None)  # against NumPy, so that this also holds where there is no PyTorch
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda name: None)
    file = tmp_path / "results.json"
    options = argparse.Namespace(groups=["dispatch"], match="", candidate="framework", threads=1, quick=True, json=file)
    assert report.run_and_print(options) == 0
    results = json.loads(file.read_text())["results"]
    assert [row["name"] for row in results] == [case.name for case in cases.load(["dispatch"])]
    assert [row["name"] for row in results if "missing" in row] == []
    assert capsys.readouterr().out.count("numpy") > 1
