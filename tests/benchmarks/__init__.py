"""Timings as ratios, both sides in one run: `python -m tests.benchmarks --help`. Never part of a test's verdict."""
