"""The handle that a registered hook is removed by."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Removes one hook from the table it was put in: by `remove()`, or at the end of a `with` block.

    Ordered tables are held weakly, so that a handle keeps no module alive. Hooks run in the order of their ids.
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(RemovableHandle._ids)
        self._point_to([hooks_dict, *([extra_dict] if isinstance(extra_dict, dict) else extra_dict or ())])

    def _point_to(self, tables: Sequence[Any]) -> None:
        self._tables = tuple([_reference(table) for table in tables])

    def remove(self) -> None:
        """Take the hook out of its tables. Doing so twice is harmless."""
        for reference in self._tables:
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[int, tuple[Any, ...]]:
        return self.id, tuple(reference() for reference in self._tables)

    def __setstate__(self, state: tuple[int, tuple[Any, ...]]) -> None:
        self.id, tables = state
        self._point_to([OrderedDict() if table is None else table for table in tables])
        taken = next(RemovableHandle._ids)  # ids given from now on lie above the revived one
        RemovableHandle._ids = itertools.count(max(taken, self.id + 1))


def _reference(table: Any) -> Callable[[], Any]:
    return (
        weakref.ref(table) if isinstance(table, OrderedDict) else lambda: table
    )  # a plain dict takes no weak reference
