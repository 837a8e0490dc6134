"""Efficiencies of a run as the POP project defines them.

*Useful* is a rank's time outside MPI, the run the time of the rank that took longest, both between MPI_Init
and MPI_Finalize. Load balance is mean over largest useful time, communication efficiency largest useful time
over the run, and parallel efficiency their product (POP Centre of Excellence, "POP Standard Metrics for
Parallel Performance Analysis"). Communication efficiency is serialisation times transfer: largest useful time
over the time that the run would take if moving data took none, and that time over the run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corewise.analysis.profile.rows import RankRow


@dataclass(frozen=True)
class Efficiency:
    """POP's metrics, 0 to 1, and the times that they come from.

    Attributes
    ----------
    parallel : float
        Mean useful time over the run: load balance times communication efficiency.
    load_balance : float
        Mean over largest useful time.
    communication : float
        Largest useful time over the run.
    mean_useful_ns, most_useful_ns, run_ns : float
    slowest : int
        The rank with the largest useful time.
    serialisation, transfer : float or None
        Largest useful time over the ideal time, and that over the run; None where no ideal time is known.
    """

    parallel: float
    load_balance: float
    communication: float
    mean_useful_ns: float
    most_useful_ns: float
    run_ns: float
    slowest: int
    serialisation: float | None = None
    transfer: float | None = None


def efficiency_of(ranks: Sequence[RankRow], ideal_ns: float | None = None) -> Efficiency | None:
    """The metrics of a run; None where no rank's time is known.

    Parameters
    ----------
    ranks : sequence of RankRow
        Of one world; ranks without a trace are left out.
    ideal_ns : float, optional
        What the run would take where messages and calls take no time. It is taken to lie between the largest
        useful time and the run, which it does but for what the clock rounds.
    """
    present = [row for row in ranks if row.ending != "missing"]
    run_ns = max((row.wall_ns for row in present), default=0.0)
    if run_ns <= 0 or not any(row.mpi_ns > 0 for row in present):
        return None
    useful = {row.rank: max(0.0, row.wall_ns - row.mpi_ns) for row in present}
    slowest = max(useful, key=lambda rank: (useful[rank], -rank))
    mean, most = sum(useful.values()) / len(useful), useful[slowest]
    ideal = None if ideal_ns is None else min(max(ideal_ns, most), run_ns)
    return Efficiency(
        parallel=mean / run_ns,
        load_balance=mean / most if most > 0 else 1.0,
        communication=most / run_ns,
        mean_useful_ns=mean,
        most_useful_ns=most,
        run_ns=run_ns,
        slowest=slowest,
        serialisation=most / ideal if ideal else None,
        transfer=None if ideal is None else ideal / run_ns,
    )
