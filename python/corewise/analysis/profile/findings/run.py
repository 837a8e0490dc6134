"""What the rules of findings look at: a run's tables, its waits, and where its time in MPI went.

Owns how time in MPI is divided into waiting for another rank and the rest, which is what a quicker way to
move data could shorten. What waits a profile does not show counts as the rest.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from corewise._core import procedure_facts
from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.profile.findings.efficiency import Efficiency, efficiency_of
from corewise.analysis.profile.rows import ProfileAnalysis
from corewise.analysis.profile.waits import WaitsSummary
from corewise.data.tuned_hosts import HostCollectives

LEAST_SHARE = 0.02
"""Of the run, below which nothing is a finding."""


@dataclass(frozen=True)
class Run:
    """A recorded run.

    Attributes
    ----------
    analysis : ProfileAnalysis
    waits : WaitsSummary
        Of the whole run.
    tables : sequence of HostCollectives
        Measured times of collectives by corewise and by MPIs, the most fitting first.
    study : PlacementStudy or None
        Placements of the point-to-point messages on a machine.
    quota_cores : float or None
        Processor time that the system gives the launch, in cores; None where it is not limited, or not known.
    ideal_ns : float or None
        What the run would take where messages and calls take no time; None where that is not known.
    """

    analysis: ProfileAnalysis
    waits: WaitsSummary
    tables: Sequence[HostCollectives] = ()
    study: PlacementStudy | None = None
    quota_cores: float | None = None
    ideal_ns: float | None = None

    @property
    def path(self) -> str:
        """The profile as a shell reads it."""
        return shlex.quote(str(self.analysis.profile.path))

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """POP's metrics."""
        return efficiency_of(self.analysis.ranks, self.ideal_ns)

    @cached_property
    def run_ns(self) -> float:
        """Of all ranks, between MPI_Init and MPI_Finalize."""
        return sum(row.wall_ns for row in self.analysis.ranks)

    @cached_property
    def waited_ns(self) -> Mapping[str, float]:
        """Waiting for another rank, by procedure."""
        found: defaultdict[str, float] = defaultdict(float)
        for row in self.waits.causes:
            found[row.procedure] += row.wait_ns
        return found

    def share(self, time_ns: float) -> float:
        """Of the run."""
        return time_ns / self.run_ns if self.run_ns > 0 else 0.0

    def mpi_share(self, time_ns: float) -> float | None:
        """Of the time in MPI."""
        mpi_ns = sum(row.mpi_ns for row in self.analysis.ranks)
        return time_ns / mpi_ns if mpi_ns > 0 else None

    def moving_ns(self, *sorts: str) -> float:
        """Time in procedures of some sorts beside waiting for another rank (`procedure_facts`)."""
        return sum(
            max(0.0, row.time_ns - self.waited_ns.get(row.procedure, 0.0))
            for row in self.analysis.calls
            if procedure_facts(row.procedure).sort in sorts
        )
