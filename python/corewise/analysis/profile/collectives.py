"""Collectives by size: how often, how long, by which algorithm, and which one the tuning advises.

The advice is that of the tuning of the processor and MPI at hand, where there is one; otherwise that of
another processor with the same MPI, which then is named. A row of a tuning holds for its number of ranks
alone. Of non-blocking and persistent collectives only the call that starts them is timed, so they have no
advice.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corewise._core import procedure_facts
from corewise.analysis.result import Figure, Panel, Series
from corewise.data.events import KINDS, Batch, CommunicatorRow
from corewise.data.tuned_hosts import HostCollectives
from corewise.data.tuning import LEFT_TO_MPI, TuningRow

_COLLECTIVE = KINDS.index("collective")
_TUNING_NAMES = {"bcast": "broadcast"}
_NOTABLE = 1.05
"""Below, nothing is advised: so little is lost in the noise."""


@dataclass(frozen=True)
class CollectiveSize:
    """One collective on communicators of one size, with one range of bytes per rank.

    Attributes
    ----------
    procedure : str
    ranks : int
        Of the communicator.
    low_bytes, high_bytes : int
        Both belong to the range.
    calls : int
        Of all ranks.
    bytes : int
        Contributed by all of them.
    mean_ns, longest_ns : float
        Per call of one rank, waiting for others included.
    used : str
        Who did it: the MPI, or corewise by the tuning's algorithm.
    advised : str
        The tuning's winner; empty where no tuning has such a call, or where the call does not block.
    gain : float or None
        By the tuning, what the MPI took over what the winner took.
    measured_on : str
        The processor of that tuning.
    """

    procedure: str
    ranks: int
    low_bytes: int
    high_bytes: int
    calls: int
    bytes: int
    mean_ns: float
    longest_ns: float
    used: str
    advised: str = ""
    gain: float | None = None
    measured_on: str = ""


class CollectiveReader:
    """Listens to the batches of a run's records."""

    def __init__(self, names: Sequence[str], communicators: Sequence[CommunicatorRow]) -> None:
        self._names = names
        self._communicators = communicators
        self._found: defaultdict[tuple[str, int, int], list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])

    def add(self, batch: Batch) -> None:
        """The collective calls of a batch."""
        mine = (batch.kind == _COLLECTIVE) & (batch.calls > 0) & (batch.name >= 0)
        if not mine.any():
            return
        volume = batch.bytes[mine]
        bins = np.where(volume > 0, np.frexp(volume.astype(float))[1], 0)
        keys = np.stack([batch.name[mine], batch.comm[mine], bins]).astype(np.int64)
        values, inverse = np.unique(keys, axis=1, return_inverse=True)
        inverse, time_ns = inverse.reshape(-1), batch.duration_ns[mine]
        for at, (name, comm, bin_) in enumerate(values.T.tolist()):
            here = inverse == at
            size = self._communicators[comm].size if comm >= 0 else 0
            sums = self._found[self._names[name], size, bin_]
            sums[0] += int(here.sum())
            sums[1] += int(volume[here].sum())
            sums[2] += float(time_ns[here].sum())
            sums[3] = max(sums[3], float(time_ns[here].max()))

    def rows(
        self, taken: Iterable[str] = (), tunings: Sequence[HostCollectives] = ()
    ) -> tuple[CollectiveSize, ...]:
        """Most time first.

        Parameters
        ----------
        taken : iterable of str
            Procedures that corewise did itself in this run.
        tunings : sequence of HostCollectives
            Of the MPI of the run, that of its processor first.
        """
        ours = frozenset(taken)
        made = [_row(key, sums, key[0] in ours, tunings) for key, sums in sorted(self._found.items())]
        return tuple(sorted(made, key=lambda row: (-row.mean_ns * row.calls, row.procedure, row.low_bytes)))


def _row(
    key: tuple[str, int, int], sums: Sequence[float], ours: bool, tunings: Sequence[HostCollectives]
) -> CollectiveSize:
    procedure, ranks, bin_ = key
    calls, volume, time_ns, longest_ns = sums
    low, high = (0, 0) if bin_ == 0 else (1 << (bin_ - 1), (1 << bin_) - 1)
    found = _advice(procedure, ranks, round(volume / calls), tunings)
    row, host = found if found is not None else (None, "")
    used = f"corewise: {row.won.name}" if ours and row is not None else "corewise" if ours else "the MPI's"
    gain = None if row is None else _gain(row, round(volume / calls))
    return CollectiveSize(
        procedure, ranks, low, high, int(calls), int(volume), time_ns / calls, longest_ns, used,
        "" if row is None else "the MPI's" if gain is None else row.won.name, gain, host,
    )  # fmt: skip


def _advice(
    procedure: str, ranks: int, size_bytes: int, tunings: Sequence[HostCollectives]
) -> tuple[TuningRow, str] | None:
    facts = procedure_facts(procedure)
    if facts.sort != "collective" or procedure.upper() != f"MPI_{facts.row}".upper():
        return None
    collective = _TUNING_NAMES.get(facts.row, facts.row)
    for each in tunings:
        for row in each.tuning.rows:
            if (row.set, row.collective, row.ranks) == ("all", collective, ranks) and row.holds(size_bytes):
                return row, each.on.host
    return None


def _gain(row: TuningRow, size_bytes: int) -> float | None:
    """None where the MPI itself is best, or as good as that."""
    at = row.measured_for(size_bytes)
    mpi = next((each for each in row.lost if each.algorithm == LEFT_TO_MPI), None)
    if row.won.algorithm == LEFT_TO_MPI or mpi is None:
        return None
    gain = mpi.latency_us[at] / row.won.latency_us[at]
    return gain if gain >= _NOTABLE else None


def figure(rows: Sequence[CollectiveSize]) -> Figure | None:
    """Mean time against size, a curve per collective and number of ranks; None without two sizes of any."""
    curves: defaultdict[tuple[str, int], list[CollectiveSize]] = defaultdict(list)
    for row in rows:
        if row.high_bytes:
            curves[row.procedure, row.ranks].append(row)
    if not any(len(each) > 1 for each in curves.values()):
        return None
    many = len({ranks for _, ranks in curves}) > 1
    series = [_series(f"{name} on {ranks}" if many else name, each) for (name, ranks), each in curves.items()]
    panel = Panel(
        "", "bytes per rank", "mean time of a call, µs", "line", tuple(series[:8]), x_log2=True, y_log=True
    )
    return Figure("collectives", "", (panel,))


def _series(label: str, rows: Sequence[CollectiveSize]) -> Series:
    ordered = sorted(rows, key=lambda row: row.low_bytes)
    return Series(
        label,
        tuple(row.bytes / row.calls for row in ordered),
        tuple(row.mean_ns / 1000 for row in ordered),
    )
