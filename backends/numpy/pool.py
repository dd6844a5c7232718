"""The worker pool: a few daemon threads that share out matrix products, convolutions, ufuncs and compiled kernels
alike.

All of these release the interpreter's lock, so threads are enough. The caller always works too: it takes pieces of its
own job until none is left, then waits for those that others took. So a job never waits for a free worker, several
Python threads may have jobs at once, and a piece may start a job of its own.

Workers divide by zero in silence, as the framework's own calls do.

Handing a job over costs some 15 microseconds: callers split only what takes several times as long.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from .openblas import OpenBlas
from .quiet import keep_quiet

__all__ = ["Pool", "available_cores", "cut", "pool"]


def available_cores() -> int:
    """The cores that this process may use, or fewer if OMP_NUM_THREADS says so."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Job:
    """Pieces of work, each done once by whoever takes it first."""

    __slots__ = ("done", "error", "f", "left", "lock", "pieces")

    def __init__(self, f: Callable[..., Any], pieces: Sequence[tuple[Any, ...]]) -> None:
        self.f, self.pieces, self.left = f, deque(pieces), len(pieces)
        self.error: BaseException | None = None
        self.lock, self.done = threading.Lock(), threading.Lock()
        self.done.acquire()

    def work(self) -> None:
        """Do pieces until none is left. An error is kept, and the pieces that nobody has taken are dropped."""
        pieces, f, finished = self.pieces, self.f, 0
        while True:
            try:
                piece = pieces.popleft()
            except IndexError:
                break
            finished += 1
            try:
                f(*piece)
            except BaseException as error:
                with self.lock:
                    if self.error is None:
                        self.error = error
                while True:
                    try:
                        pieces.popleft()
                    except IndexError:
                        break
                    finished += 1
        if finished:
            with self.lock:
                self.left -= finished
                last = self.left == 0
            if last:
                self.done.release()


class Pool:
    """Up to `size` threads at work on a job: the caller and `size` - 1 daemon threads, started when first needed."""

    def __init__(self) -> None:
        self._size: int | None = None
        self._blas: OpenBlas | None = None
        self._blas_before: int | None = None
        self._fresh()

    def _fresh(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False

    # ---------------------------------------------------------------- size
    @property
    def size(self) -> int:
        """How many threads work on one job."""
        if self._size is None:
            self._size = available_cores()
        return self._size

    def resize(self, size: int) -> None:
        """Set how many threads work on one job, the caller among them."""
        with self._lock:
            for _ in self._threads[size - 1 :]:
                self._jobs.put(None)
            del self._threads[max(0, size - 1) :]
            self._size = size

    # ---------------------------------------------------------------- work
    def run(self, f: Callable[..., Any], pieces: Sequence[tuple[Any, ...]]) -> None:
        """Call f(*piece) for each piece, in any order and on several threads; return when all are done.

        The first error is raised here, after the pieces under way have ended; pieces not yet begun are then left out.
        """
        helpers = min(self.size, len(pieces)) - 1
        if helpers < 1 or self._closed:
            for piece in pieces:
                f(*piece)
            return
        if len(self._threads) < helpers or self._blas_before is None:
            self._start()
        job = _Job(f, pieces)
        for _ in range(helpers):
            self._jobs.put(job)
        job.work()
        job.done.acquire()
        if job.error is not None:
            try:
                raise job.error
            finally:
                del job

    def _start(self) -> None:
        with self._lock:
            self._rest_blas()
            while len(self._threads) < self.size - 1:
                thread = threading.Thread(target=_worker, args=(self._jobs,), name="framework-worker", daemon=True)
                thread.start()
                self._threads.append(thread)

    # ---------------------------------------------------------------- NumPy's matrix library
    def rest_blas(self) -> None:
        """Set the matrix library to one thread; products are split here."""
        with self._lock:
            self._rest_blas()

    def _rest_blas(self) -> None:
        if self._blas_before is None:
            blas = self.blas
            self._blas_before = blas.threads()
            if self._blas_before != 1:
                blas.set_threads(1)

    @property
    def blas(self) -> OpenBlas:
        """The matrix library that NumPy has loaded."""
        if self._blas is None:
            self._blas = OpenBlas()
        return self._blas

    def release_blas(self) -> None:
        """Give the matrix library the threads back that it had before this pool was first used, until it is used
        again."""
        with self._lock:
            before, self._blas_before = self._blas_before, None
            if before is not None and before != 1:
                self.blas.set_threads(before)

    # ---------------------------------------------------------------- process
    def _after_fork(self) -> None:
        """A child has none of its parent's threads, and must not wait for locks that they held."""
        self._fresh()

    def _close(self) -> None:
        """At the end of the interpreter: later jobs run on their caller alone."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)


def _worker(jobs: SimpleQueue[_Job | None]) -> None:
    keep_quiet()
    while (job := jobs.get()) is not None:
        job.work()
        del job  # its arrays must not live until the next one


def cut(n: int, parts: int, align: int = 1) -> list[slice]:
    """range(n) in at most `parts` equal parts that begin at multiples of `align`."""
    if n < 1:
        return []
    step = -(-n // min(parts, n))
    step = -(-step // align) * align
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


pool = Pool()
atexit.register(pool._close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool._after_fork)
