"""A recorded run as a Python program sees it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.profile.cells import matrix_cells
from corewise.analysis.profile.findings import Finding, Findings, find_out
from corewise.analysis.profile.matrix import TrafficMatrix, build_matrix
from corewise.analysis.profile.waits import WaitsSummary, analyse_waits
from corewise.api import display
from corewise.api.pattern import Pattern
from corewise.base.executors import workers_from
from corewise.data.profile import Profile as Recorded
from corewise.data.profile import load_profile
from corewise.data.quantities import bytes_text, share_text, time_text
from corewise.errors import InputError
from corewise.export import load_events
from corewise.plots.heatmap_svg import MOST_CELLS, Picture, matrix_svg

FRAMES = ("pandas", "polars", "arrow")
"""Libraries of data frames."""
WAIT_KIND = np.dtype(
    [("kind", "U24"), ("count", np.int64), ("time_ns", np.float64), ("longest_ns", np.float64)]
)
"""A row of `Waits.kinds`."""


@dataclass(frozen=True, repr=False)
class Waits:
    """Who waited because another rank was late.

    Attributes
    ----------
    summary : corewise.analysis.profile.waits.WaitsSummary
        All of it: by kind, call site, pair of ranks, and what the common time line rests on.
    """

    summary: WaitsSummary

    @property
    def total_ns(self) -> float:
        """All waiting, added up over ranks."""
        return self.summary.total_ns

    @property
    def share_of_run(self) -> float:
        """All waiting over all time of the run, 0 to 1."""
        return self.summary.total_ns / self.summary.run_ns if self.summary.run_ns else 0.0

    def kinds(self) -> NDArray[np.void]:
        """What ranks waited for, longest first.

        Returns
        -------
        ndarray of `WAIT_KIND`, shape (kinds,)
        """
        rows = [(row.kind, row.count, row.wait_ns, row.longest_ns) for row in self.summary.kinds]
        return np.array(rows, WAIT_KIND)

    def by_rank(self) -> NDArray[np.float64]:
        """How long each rank waited, in ns.

        Returns
        -------
        ndarray of float64, shape (ranks,)
        """
        waited = np.zeros(self.summary.size)
        for row in self.summary.ranks:
            waited[row.rank] = row.waited_ns
        return waited

    def __repr__(self) -> str:
        share = share_text(self.share_of_run)
        total = time_text(self.total_ns)
        return f"<corewise.Waits {self.summary.world}: {total} of waiting, {share} of the run>"

    def _repr_html_(self) -> str:
        rows = [
            (row.kind, row.count, time_text(row.wait_ns), time_text(row.longest_ns))
            for row in self.summary.kinds
        ]
        return display.paragraph(repr(self)[1:-1]) + display.table(("kind", "waits", "time", "longest"), rows)


@dataclass(frozen=True, repr=False)
class Found:
    """What a run shows, in sentences.

    Attributes
    ----------
    all : corewise.analysis.profile.findings.Findings
        Every finding with its evidence, its share of the run and what to do next; the efficiencies.
    """

    all: Findings

    @property
    def rows(self) -> tuple[Finding, ...]:
        """The findings, the largest part of the run first."""
        return self.all.rows

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return "<corewise.Found: " + "; ".join(each.title for each in self.rows) + ">"

    def _repr_html_(self) -> str:
        rows = [
            (each.title, share_text(each.run_share), each.evidence, each.next or each.where)
            for each in self.rows
        ]
        return display.table(("finding", "of run", "evidence", "next"), rows)


@dataclass(frozen=True, repr=False)
class Profile:
    """A run as ``corewise run`` recorded it.

    Attributes
    ----------
    recorded : corewise.data.profile.Profile
        The profile as the rooms below take it: its worlds, its problems, what the launcher wrote down.
    """

    recorded: Recorded

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.recorded.path

    @property
    def ranks(self) -> int:
        """How many ranks the main world has."""
        return self.recorded.world.size

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read."""
        return self.recorded.problems

    @cached_property
    def _sent(self) -> TrafficMatrix:
        return build_matrix(self.recorded.world)

    def matrix(
        self, by: str = "bytes", traffic: str = "sent", phase: str | None = None
    ) -> NDArray[np.float64]:
        """What went from the rank of the row to that of the column.

        Parameters
        ----------
        by : str
            ``bytes``, ``count`` (messages), or ``time``: nanoseconds in the calls.
        traffic : str
            ``sent``, ``received``, ``put``, ``get``, ``observed`` or ``collective``, as for
            ``corewise matrix``.
        phase : str, optional
            Only what the program did in the phase of this name.

        Returns
        -------
        ndarray of float64, shape (ranks, ranks)

        Raises
        ------
        InputError
            There is no such traffic, amount or phase.
        """
        found = build_matrix(self.recorded.world, traffic, by, phase)
        cells = np.zeros((found.ranks, found.ranks))
        cells[found.senders, found.receivers] = found.values
        return cells

    def pattern(self) -> Pattern:
        """The main world's point-to-point messages, with the templates that they resemble."""
        return Pattern(self.recorded.pattern())

    def waits(self, phase: str | None = None) -> Waits:
        """Where ranks waited because another one was late.

        Raises
        ------
        InputError
            There is no phase of that name.
        """
        return Waits(analyse_waits(self.path, phase))

    def findings(self) -> Found:
        """What the run shows: three to six sentences, the largest part of the run first."""
        return Found(find_out(self.path))

    def to_frame(self, library: str = "pandas") -> Any:
        """Every record as a row: rank, kind, name, peer, bytes, when it began and how long it took.

        Parameters
        ----------
        library : str
            One of `FRAMES`; it must be installed (``pip install 'corewise[frames]'``).

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Columns as docs/recording/export.md has them.

        Raises
        ------
        InputError
            There is no such library, or it is not installed.
        """
        if library not in FRAMES:
            raise InputError(f"library: found '{library}', allowed: {', '.join(FRAMES)}")
        return getattr(load_events(self.path), f"to_{library}")()

    def __repr__(self) -> str:
        meta = self.recorded.meta
        mpi = f", {meta.mpi_name} {meta.mpi_version}" if meta.mpi_name else ""
        wall = f", {meta.wall_s:.3g} s" if meta.wall_s is not None else ""
        return f"<corewise.Profile {self.path.name}: {self.ranks} ranks{mpi}{wall}>"

    def _repr_html_(self) -> str:
        cells = matrix_cells(self._sent, MOST_CELLS)
        title = " ".join(self.recorded.meta.program) or self.recorded.name
        picture = Picture(
            cells.values,
            None,
            cells.block,
            cells.ranks,
            (),
            (),
            (),
            title,
            "bytes sent",
            lambda n: bytes_text(int(n)),
        )
        label = display.paragraph(f"pattern: {self.pattern().label}")
        return display.paragraph(repr(self)[1:-1]) + label + matrix_svg(picture)


def load(path: str | Path, executor: str | Executor | None = None) -> Profile:
    """Reads a profile that ``corewise run`` wrote.

    Parameters
    ----------
    path : str or Path
        The folder ``NAME.cw``.
    executor : str or concurrent.futures.Executor, optional
        Who reads its records, in parts: an executor, or a text as ``--executor`` takes it. The result is the
        same.

    Raises
    ------
    InputError
        The folder is missing, or holds no rank file that can be read; or the executor is none.
    RunError
        The executor's workers are gone.
    """
    with workers_from(executor) as workers:
        return Profile(load_profile(path, workers=workers))
