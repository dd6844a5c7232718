"""Names for parametrized cases that are the same in every process, as running tests in parallel needs."""

from __future__ import annotations

import re


def case_id(value: object) -> str:
    """`repr(value)` without addresses, shortened."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))[:60]
