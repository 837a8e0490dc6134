"""What the papers' studies have in common: how work is counted, and how findings become a result.

A paper's folder has four parts. `data` holds what is measured. `study` measures it, and its `run_paper` is
what `corewise paper NAME` calls. `rows` holds the findings against the paper's claims. `views` lays out
tables and figures.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Generic, TypeVar

from corewise.analysis.result import Figure, PaperResult, Progress, Row, Table

Found = TypeVar("Found")
Run = TypeVar("Run")
Timed = TypeVar("Timed")
CORES = len(os.sched_getaffinity(0))
"""How many simulations run at one time."""


def unseen(share: float) -> None:
    """The progress of a study that nobody watches."""


class Work:
    """Counts what is done against all that there is to do, and tells the share.

    Parameters
    ----------
    whole : float
        All that there is to do, in any unit; about, where it is not known.
    progress : callable
        Told the share of it that is done.
    """

    def __init__(self, whole: float, progress: Progress = unseen) -> None:
        self._whole, self._done, self._progress = whole or 1.0, 0.0, progress

    def __call__(self, done: float = 1.0) -> None:
        """So much more is done."""
        self._done += done
        self.within(0.0)

    def within(self, begun: float) -> None:
        """So much of what comes next is done, and not counted yet."""
        self._progress(min((self._done + begun) / self._whole, 1.0))


def on_all_cores(
    run: Callable[[Run], Timed], runs: Sequence[Run], done: Callable[[Timed], None]
) -> list[Timed]:
    """What simulations return, in the order given; they run beside each other, and depend on none.

    Parameters
    ----------
    run : callable
        One simulation, which lets other threads of Python run meanwhile.
    runs : sequence
        What it is given.
    done : callable
        Told of each as it ends.
    """
    with ThreadPoolExecutor(max_workers=CORES) as pool:
        futures = [pool.submit(run, each) for each in runs]
        try:
            for future in as_completed(futures):
                done(future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


@dataclass(frozen=True)
class Paper(Generic[Found]):
    """How the findings of one paper's study become its result.

    Attributes
    ----------
    name : str
        Of the command: ``affinity``.
    rows_of : callable
        The findings held against the paper.
    tables_of : callable
        Tables of the findings and the rows.
    figures_of : callable
        Figures of the findings.
    """

    name: str
    rows_of: Callable[[Found], Iterable[Row]]
    tables_of: Callable[[Found, Sequence[Row]], Iterable[Table]]
    figures_of: Callable[[Found], Iterable[Figure]]

    def result(self, machine: str, found: Found) -> PaperResult:
        """Everything that the command shows."""
        rows = tuple(self.rows_of(found))
        tables = tuple(self.tables_of(found, rows))
        return PaperResult(f"paper {self.name}", machine, rows, tables, tuple(self.figures_of(found)))
