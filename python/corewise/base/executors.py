"""Who does independent jobs: threads or processes here, a Dask cluster, the ranks of an MPI run.

Owns the texts of ``--executor``, and what each kind needs to start and to stop. Every kind is a
`concurrent.futures.Executor`; a program may hand over one of its own. Invariant: what the jobs share is
sent once where the executor can keep it (Dask), with every job where it cannot.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from corewise.errors import InputError, RunError

KINDS = "local[:N], processes[:N], dask://HOST:PORT, mpi4py"
"""What ``--executor`` takes. Local: N threads, whose jobs hold no lock of Python's."""
LOCAL = "local"
MOST_WORKERS = 1024
"""Threads or processes of this host."""
CONNECT_S = 10.0
"""How long a scheduler, and its first worker, may let us wait."""
_HERE = re.compile(r"(local|processes)(?::([0-9]{1,9}))?")
_DASK = re.compile(r"dask://(\S+:[0-9]{1,5})")


@dataclass(frozen=True)
class Workers:
    """An executor that is ready.

    Attributes
    ----------
    executor : Executor
    share : callable
        Makes of the text that all jobs share what is handed to `Executor.submit` in its place.
    gone : tuple of exception types
        What a job's future raises where its workers are gone and will not do it.
    count : int or None
        How many jobs are done at one time; None where nobody says.
    """

    executor: Executor
    share: Callable[[str], Any] = str
    gone: tuple[type[BaseException], ...] = ()
    count: int | None = None

    def submit(self, job: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """One job."""
        return self.executor.submit(job, *arguments)


@contextmanager
def workers_of(text: str | None) -> Iterator[Workers]:
    """The workers that ``--executor`` names, local ones for None; they are let go when the block ends.

    Raises
    ------
    InputError
        The text names none, or what it names cannot be reached.
    """
    text = LOCAL if text is None else text
    here, dask = _HERE.fullmatch(text), _DASK.fullmatch(text)
    if here:
        with _here(here[1], _count(text, here[2])) as workers:
            yield workers
    elif dask:
        with _dask(dask[1]) as workers:
            yield workers
    elif text == "mpi4py":
        with _mpi4py() as workers:
            yield workers
    else:
        raise InputError(f"option '--executor': found '{text}', allowed: {KINDS}")


@contextmanager
def workers_from(executor: str | Executor | None) -> Iterator[Workers | None]:
    """The workers that a program names or hands over; none for None. Its own executor is not shut down.

    Raises
    ------
    InputError
        As `workers_of`.
    """
    if executor is None or isinstance(executor, Executor):
        yield None if executor is None else Workers(executor)
        return
    with workers_of(executor) as workers:
        yield workers


def _count(text: str, number: str | None) -> int:
    count = os.cpu_count() or 1 if number is None else int(number)
    if not 1 <= count <= MOST_WORKERS:
        raise InputError(f"option '--executor': found '{text}', allowed: 1 to {MOST_WORKERS} workers")
    return count


@contextmanager
def _here(kind: str, count: int) -> Iterator[Workers]:
    pool: Executor
    if kind == LOCAL:
        pool = ThreadPoolExecutor(max_workers=count)
    else:
        # A process that is forked has the locks of threads that it lacks.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent)
    try:
        yield Workers(pool, count=count)
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next job for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(address: str) -> Iterator[Workers]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise InputError(
            "option '--executor': found dask:// without Dask here, allowed: after pip install distributed"
        ) from None
    # A worker that dies is the scheduler's business; what cannot be done raises.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    where = f"option '--executor': found dask://{address}"
    try:
        client: Any = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{where}, which cannot be reached ({why}), allowed: a scheduler's address"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise InputError(f"{where}, a scheduler without workers, allowed: with one or more") from None
        # A task, not data: the scheduler has it made again where its only copy dies with a worker.
        yield Workers(
            _DaskExecutor(client),
            lambda text: client.submit(str, text, pure=False),
            (
                distributed.KilledWorker,
                distributed.client.FutureCancelledError,
                distributed.comm.CommClosedError,
            ),
            sum(client.nthreads().values()),
        )


class _DaskExecutor(Executor):
    """Jobs as a client's tasks.

    Dask's own executor takes a result for an error where the worker that made it dies while it is on its way.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        task = self._client.submit(fn, *args, pure=False, **kwargs)
        future: Future[Any] = Future()
        future.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)
        self._client.loop.add_callback(self._hand_on, task, future)
        return future

    async def _hand_on(self, task: Any, future: Future[Any]) -> None:
        """In the client's thread. A result that dies with its worker is made again."""
        try:
            [result] = await self._client.gather([task], asynchronous=True)
        except BaseException as error:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        else:
            if future.set_running_or_notify_cancel():
                future.set_result(result)


@contextmanager
def _mpi4py() -> Iterator[Workers]:
    try:
        from mpi4py.futures import MPIPoolExecutor, _core
    except (ImportError, RuntimeError) as error:  # without an MPI that it can load
        found = str(error).splitlines()[0]
        raise InputError(
            f"option '--executor': found mpi4py, which cannot be loaded ({found}), "
            "allowed: after pip install mpi4py, beside an MPI"
        ) from None
    # Without its launcher every rank would do everything, or start further ranks.
    if getattr(_core, "SharedPool", None) is None:
        raise InputError(
            "option '--executor': found mpi4py outside of its launcher, allowed: mpiexec -n RANKS "
            f"{sys.executable} -m mpi4py.futures corewise-script ARGUMENTS"
        )
    with MPIPoolExecutor() as pool:
        try:
            yield Workers(pool)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def lost(workers: Workers, error: BaseException) -> RunError | None:
    """The error to raise where a job's workers are gone; None for any other error."""
    from concurrent.futures import BrokenExecutor, CancelledError

    if isinstance(error, (BrokenExecutor, CancelledError, *workers.gone)):
        why = " ".join(str(error).split()) or type(error).__name__
        return RunError(f"the workers are gone: {why}")
    return None
