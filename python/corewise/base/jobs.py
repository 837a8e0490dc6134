"""Independent jobs by any executor: a window of them is with it, results are taken as they come or in order.

A job is a function of a module (so that any process finds it by its name), the text that all jobs share, and
a value of its own. Invariant: a job's result is handed on once, whoever did it and however often.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from corewise import __version__, _core
from corewise.base.executors import Workers, lost
from corewise.errors import InputError

Item = TypeVar("Item")

WINDOW = 4096
"""Jobs that are with the executor at one time: enough for a thousand workers, and little memory."""


def results(
    workers: Workers,
    job: Callable[[str, Any], Any],
    shared: str,
    items: Mapping[int, Any],
    window: int = WINDOW,
) -> Iterator[tuple[int, Any]]:
    """Every item's number with its result, as they come.

    Parameters
    ----------
    workers : Workers
    job : callable
        ``job(shared, item)``, a function of a module.
    shared : str
        What all jobs share.
    items : mapping of int
        By number; they are begun in this order.
    window : int
        Jobs that are with the executor at one time.

    Raises
    ------
    RunError
        The workers are gone.
    InputError
        A job's input is wrong, or a worker has another build.
    """
    sent = workers.share(shared) if items else None
    waiting = iter(items.items())
    under_way: dict[Future[Any], int] = {}
    finished: SimpleQueue[Future[Any]] = SimpleQueue()
    try:
        while True:
            while len(under_way) < window and (following := next(waiting, None)) is not None:
                future = workers.submit(_do, job, build(), sent, following[1])
                under_way[future] = following[0]
                future.add_done_callback(finished.put)
            if not under_way:
                return
            # What is done is kept before an error is told.
            for future in sorted(_all_of(finished), key=_failed):
                yield under_way.pop(future), _result(future, workers)
    finally:
        for future in under_way:
            future.cancel()


def in_pieces(items: Iterable[tuple[Item, int]], most: int) -> Iterator[list[Item]]:
    """Consecutive items whose sizes come to `most` together, or one that is larger; all of them in order."""
    piece: list[Item] = []
    room = most
    for item, size in items:
        if size > room and piece:
            yield piece
            piece, room = [], most
        piece.append(item)
        room -= size
    if piece:
        yield piece


def in_order(
    workers: Workers,
    job: Callable[[str, Any], Any],
    shared: str,
    items: Iterable[Any],
    window: int = WINDOW,
) -> Iterator[Any]:
    """Every item's result, in the order of the items; parameters and errors as for `results`.

    At most `window` results are under way, or wait for an earlier one, at one time.
    """
    sent = workers.share(shared)
    under_way: deque[Future[Any]] = deque()
    try:
        for item in items:
            if len(under_way) >= window:
                yield _result(under_way.popleft(), workers)
            under_way.append(workers.submit(_do, job, build(), sent, item))
        while under_way:
            yield _result(under_way.popleft(), workers)
    finally:
        for future in under_way:
            future.cancel()


def build() -> str:
    """Which corewise this is: one of another build would give other results."""
    return f"{__version__} {getattr(_core, '__commit__', 'unknown')}"


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


def _do(job: Callable[[str, Any], Any], wanted: str, shared: str, item: Any) -> Any:
    """What a worker does."""
    if wanted != build():
        raise InputError(f"option '--executor': found a worker with corewise {build()}, allowed: {wanted}")
    return job(shared, item)
