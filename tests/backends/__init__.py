"""Tests of `backends`: one conformance suite for all of them, and what each does of its own."""
