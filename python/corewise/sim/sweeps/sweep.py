"""Runs the jobs of a sweep: a window of them is with the executor, results are taken as they come.

A job is a function of a module (so that any process finds it by its name), the text that all jobs share,
and a value of its own; its result is a JSON value. Invariant: a job's result is kept once, whoever did it
and however often.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from corewise import __version__, _core
from corewise.errors import InputError, RunError
from corewise.sim.sweeps.executors import Workers, lost, workers_of
from corewise.sim.sweeps.partial import Partial

WINDOW = 4096
"""Jobs that are with the executor at one time: enough for a thousand workers, and little memory."""


@dataclass(frozen=True)
class Sweep:
    """What is to be done.

    Attributes
    ----------
    name : str
        Of the command.
    job : callable
        ``job(shared, item)``, a function of a module: the result of one job, a JSON value.
    shared : str
        What all jobs share.
    items : sequence
        A JSON value per job.
    valid : callable
        ``valid(item, value)``: whether a value that was read can be the result of an item's job.
    """

    name: str
    job: Callable[[str, Any], Any]
    shared: str
    items: Sequence[Any]
    valid: Callable[[Any, Any], bool]

    @property
    def identity(self) -> str:
        """A digest of everything that the results depend on."""
        digest = hashlib.sha256()
        for part in (_build(), self.name, self.shared, json.dumps(self.items)):
            digest.update(len(part).to_bytes(8, "little") + part.encode())
        return digest.hexdigest()


def run(
    sweep: Sweep,
    progress: Callable[[float], None],
    workers: Workers | None = None,
    resume: Path | None = None,
) -> list[Any]:
    """Results in the order of the items.

    Parameters
    ----------
    sweep : Sweep
    progress : callable
        Told the share that is done.
    workers : Workers, optional
        Threads on all cores of this host without them.
    resume : Path, optional
        The file that keeps what is done until all is.

    Raises
    ------
    InputError
        The file is no such file, or of another sweep; or a job's input is wrong.
    RunError
        The workers are gone.
    """
    if workers is None:
        with workers_of(None) as here:
            return run(sweep, progress, here, resume)
    items = sweep.items
    done = Partial(resume, sweep.identity, len(items), lambda at, value: sweep.valid(items[at], value))
    left = [at for at in range(len(items)) if at not in done.results]
    try:
        for at, value in _results(sweep, left, workers):
            done.add(at, value)
            progress(len(done.results) / len(items))
    except BaseException:
        with suppress(RunError):  # the first error is the one to tell
            done.write()
        raise
    done.complete()
    return [done.results[at] for at in range(len(items))]


def _results(sweep: Sweep, left: Sequence[int], workers: Workers) -> Iterator[tuple[int, Any]]:
    """Every job that is left with its result, as they come."""
    shared = workers.share(sweep.shared) if left else None
    waiting = iter(left)
    under_way: dict[Future[Any], int] = {}
    finished: SimpleQueue[Future[Any]] = SimpleQueue()
    try:
        while True:
            while len(under_way) < WINDOW and (at := next(waiting, None)) is not None:
                future = workers.submit(_do, sweep.job, _build(), shared, sweep.items[at])
                under_way[future] = at
                future.add_done_callback(finished.put)
            if not under_way:
                return
            for future in sorted(
                _all_of(finished), key=_failed
            ):  # what is done is kept before an error is told
                yield under_way.pop(future), _result(future, workers)
    finally:
        for future in under_way:
            future.cancel()


def _all_of(finished: SimpleQueue[Future[Any]]) -> list[Future[Any]]:
    """Waits for a future that is done; then all that are."""
    found = [finished.get()]
    while True:
        try:
            found.append(finished.get_nowait())
        except Empty:
            return found


def _failed(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


def _result(future: Future[Any], workers: Workers) -> Any:
    try:
        return future.result()
    except BaseException as error:
        if (told := lost(workers, error)) is not None:
            raise told from None
        raise


def _do(job: Callable[[str, Any], Any], build: str, shared: str, item: Any) -> Any:
    """What a worker does; one of another build would give other results."""
    if build != _build():
        raise InputError(f"option '--executor': found a worker with corewise {_build()}, allowed: {build}")
    return job(shared, item)


def _build() -> str:
    return f"{__version__} {getattr(_core, '__commit__', 'unknown')}"
