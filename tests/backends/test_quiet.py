"""NumPy's error state: ours inside, the user's own outside, in every thread and task."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backends.numpy.quiet import QUIET, keep_quiet, quiet, state


def in_a_thread(f: Callable[[], Any]) -> Any:
    """The value of f() in a thread of its own, whose error state is NumPy's default."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(f())
        except BaseException as error:
            found.append(error)

    t = threading.Thread(target=run)
    t.start()
    t.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def divide() -> Any:
    return np.array([1.0, 0.0]) / np.zeros(2)


def test_a_fresh_thread_warns_until_it_is_quiet() -> None:
    def run() -> None:
        with pytest.warns(RuntimeWarning):
            divide()
        keep_quiet()
        assert state() is QUIET
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(divide(), [np.inf, np.nan])
            np.exp(np.array([1000.0]))
            np.sqrt(np.array([-1.0]))
            np.float32(1e-30) * np.float32(1e-30)

    in_a_thread(run)


def test_one_threads_state_is_not_anothers() -> None:
    def run() -> None:
        keep_quiet()

        def other() -> None:
            assert state() is not QUIET
            with pytest.warns(RuntimeWarning):
                divide()

        in_a_thread(other)
        assert state() is QUIET

    in_a_thread(run)


def test_tasks_of_an_event_loop_inherit_and_do_not_leak() -> None:
    async def quiet_task() -> None:
        keep_quiet()
        assert state() is QUIET

    async def main() -> None:
        await asyncio.create_task(quiet_task())
        assert state() is not QUIET

    in_a_thread(lambda: asyncio.run(main()))


@pytest.mark.parametrize("mode", ["raise", "warn", "print", "log"])
def test_a_state_the_user_chose_is_kept(mode: Any) -> None:
    def run() -> None:
        with np.errstate(divide=mode):
            chosen = np.geterr()
            keep_quiet()
            assert np.geterr() == chosen
            with quiet():
                assert state() is not None
                assert set(np.geterr().values()) == {"ignore"}
                divide()
            assert np.geterr() == chosen

    in_a_thread(run)


def test_the_users_state_comes_back_after_an_error() -> None:
    def run() -> None:
        with np.errstate(over="raise"):
            with pytest.raises(ZeroDivisionError), quiet():
                raise ZeroDivisionError
            with pytest.raises(FloatingPointError):
                np.exp(np.array([1000.0]))

    in_a_thread(run)


def test_quiet_blocks_nest() -> None:
    def run() -> None:
        with quiet():
            with quiet():
                divide()
            assert state() is QUIET
            divide()

    in_a_thread(run)


def test_a_state_set_by_seterr_is_kept() -> None:
    def run() -> None:
        np.seterr(divide="raise")
        keep_quiet()
        with quiet():
            divide()
        with pytest.raises(FloatingPointError):
            divide()

    in_a_thread(run)
