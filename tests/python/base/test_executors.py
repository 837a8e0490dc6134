"""A cluster's tasks as futures: results that die with their worker, errors, cancellation, without a cluster.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any

import pytest

from corewise.base import executors


class Client:
    """Dask's, as far as an executor needs it: its only task, its loop and what gathering comes to.

    The task has no status to ask for: it is another one when its worker dies while the result is on its way.
    """

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome
        self.cancelled = False
        self.waiting: list[Coroutine[Any, Any, None]] = []
        self.loop = self

    def submit(self, *_: Any, **__: Any) -> Client:
        return self

    def cancel(self) -> None:
        self.cancelled = True

    async def gather(self, tasks: list[Any], asynchronous: bool) -> list[Any]:
        assert asynchronous and tasks == [self]
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return [self.outcome]

    def add_callback(self, function: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        self.waiting.append(function(*arguments))

    def go_on(self) -> None:
        for each in self.waiting:
            asyncio.run(each)


def executor(client: Client) -> Executor:
    return executors._DaskExecutor(client)


def test_a_result_counts_where_its_worker_died_since() -> None:
    client = Client(b"sixteen bytes...")
    future = executor(client).submit(len, "")
    client.go_on()
    assert future.result(timeout=0) == b"sixteen bytes..." and not client.cancelled


def test_a_scheduler_that_goes_is_an_error_and_no_hang() -> None:
    client = Client(OSError("the scheduler is gone"))
    future = executor(client).submit(len, "")
    client.go_on()
    with pytest.raises(OSError, match="gone"):
        future.result(timeout=0)


@pytest.mark.parametrize("outcome", [1, OSError("late")])
def test_a_future_that_is_cancelled_cancels_its_task(outcome: Any) -> None:
    client = Client(outcome)
    future = executor(client).submit(len, "")
    assert future.cancel() and client.cancelled
    client.go_on()
    assert future.cancelled()
