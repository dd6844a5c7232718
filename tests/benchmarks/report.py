"""Runs cases on all sides that are there, prints a table, writes JSON."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from types import ModuleType

from tests.benchmarks.cases import Case, load
from tests.benchmarks.timing import Timing, measure

ROUNDS, QUICK_ROUNDS = 60, 6
SELF_TIMED_ROUNDS = 15


def run_and_print(options: argparse.Namespace) -> int:
    """Runs the cases that `options` (see `__main__`) name; returns the exit status."""
    try:
        cases = [case for case in load(options.groups) if options.match in case.name]
    except ValueError as error:
        print(f"tests.benchmarks: {error}", file=sys.stderr)
        return 2
    candidate = importlib.import_module(options.candidate)
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    if torch is not None:
        torch.set_num_threads(options.threads)
    machine = describe(options.threads, candidate, torch)
    print("\n".join(f"{name}: {fact}" for name, fact in machine.items()))
    results, group = [], None
    for case in cases:
        if case.group != group:
            group = case.group
            print(f"\n{group:38s} {'time':>10s}  {'ratio (of minima)':>17s}  {'asked':>5s}  against")
        results.append(run(case, candidate, torch, options.quick))
        print(line(results[-1]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    return 1 if any("missing" in row for row in results) else 0


def run(case: Case, candidate: ModuleType, torch: ModuleType | None, quick: bool) -> dict:
    """One row of the table. A case that the candidate cannot run says why, and is not timed; the exit status tells."""
    row = {"group": case.group, "name": case.name, "ops": case.ops, "target": case.target}
    try:
        sides = {"ours": case.build(candidate)}
        sides["ours"]()
    except Exception as error:
        return row | {"missing": f"{type(error).__name__}: {error}"}
    if torch is not None:
        sides["torch"] = case.build(torch)
    if case.numpy is not None:
        sides["numpy"] = case.numpy()
    rounds = SELF_TIMED_ROUNDS if case.self_timed else ROUNDS
    times = measure(sides, QUICK_ROUNDS if quick else rounds, case.self_timed)
    reference = next((name for name in ("torch", "numpy") if name in times), None)
    row |= {"seconds": {name: {"median": t.median, "minimum": t.minimum} for name, t in times.items()}}
    return row | {"reference": reference} | (ratios(times["ours"], times[reference]) if reference else {})


def ratios(ours: Timing, reference: Timing) -> dict[str, float]:
    return {"ratio": ours.median / reference.median, "ratio_of_minima": ours.minimum / reference.minimum}


def line(row: dict) -> str:
    if "missing" in row:
        return f"  {row['name']:36s} not measured: {row['missing']}"
    text = f"  {row['name']:36s} {readable(row['seconds']['ours']['median'] / row['ops']):>10s}"
    if row["reference"] is None:
        return f"{text}  {'no reference':>17s}"
    ratio = f"{row['ratio']:.2f} ({row['ratio_of_minima']:.2f})"
    asked = "" if row["target"] is None else f"{row['target']:.2f}"
    others = ", ".join(
        f"{name} {readable(t['median'] / row['ops'])}" for name, t in row["seconds"].items() if name != "ours"
    )
    missed = "  over" if row["target"] is not None and row["ratio"] > row["target"] else ""
    return f"{text}  {ratio:>17s}  {asked:>5s}  {others}{missed}"


def readable(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def describe(threads: int, candidate: ModuleType, torch: ModuleType | None) -> dict[str, str]:
    """What a reader must know to compare two runs."""
    import numpy

    names = [candidate.__name__, "numpy"] + ([] if torch is None else ["torch"])
    versions = [candidate.__version__, numpy.__version__] + ([] if torch is None else [torch.__version__])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = {
        "libraries": ", ".join(f"{name} {version}" for name, version in zip(names, versions, strict=True)),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {cores} cores",
        "threads": str(threads),
    }
    facts["allocator"] = "tuned" if "MALLOC_MMAP_THRESHOLD_" in os.environ else "default"
    facts["compiled kernels"] = "off" if os.environ.get("FRAMEWORK_FAST") == "0" else "as installed"
    if kernels := os.environ.get("OPENBLAS_CORETYPE"):
        facts["OpenBLAS kernels"] = f"{kernels}, by OPENBLAS_CORETYPE; unset it for NumPy's own choice"
    return facts
