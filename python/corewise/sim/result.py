"""What a simulated run gave, as NumPy tables with named columns.

Times are ns since the start of the run, bandwidths GB/s (10^9 bytes per second, which is bytes per ns), sizes
bytes. Nothing is computed here but views of what the core measured.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern, PatternResult
from corewise.sim.timeline import Timeline

TRANSFER = np.dtype(
    [
        ("repetition", "i4"),
        ("phase", "i4"),
        ("sender", "i4"),
        ("receiver", "i4"),
        ("bytes", "u8"),
        ("messages", "u8"),
        ("start_ns", "f8"),
        ("end_ns", "f8"),
    ]
)
"""All messages of one pair in one phase: from when the first is sent until the last is there."""
PHASE = np.dtype(
    [("repetition", "i4"), ("phase", "i4"), ("bytes", "u8"), ("start_ns", "f8"), ("end_ns", "f8")]
)
"""From when the first rank enters a phase until the last one leaves it; neighbouring phases may overlap."""
LINK = np.dtype([("bytes", "u8"), ("packets", "u8"), ("busy_ns", "f8"), ("largest_queue", "i8")])
"""One link of the machine: what crossed it, how long it was occupied, how many packets waited at once."""
UNIT = np.dtype(
    [
        ("rank", "i4"),
        ("sent_bytes", "u8"),
        ("received_bytes", "u8"),
        ("sent_messages", "u8"),
        ("received_messages", "u8"),
        ("waiting_ns", "f8"),
        ("idle_ns", "f8"),
    ]
)
"""One unit: its rank (-1 for none), its traffic, the time that its messages lost to others (summed over
them), and the time in which its rank had nothing under way."""


@dataclass(frozen=True)
class Simulation:
    """One run of a pattern on a simulated machine.

    Attributes
    ----------
    machine : Machine
        Where it ran.
    pattern : Pattern
        What was sent.
    unit_of_rank : ndarray of int32, shape (ranks,)
        The placement.
    model : str
        ``cell`` (every DMA command and packet of a Cell), ``packet`` or ``flow`` (the interconnect alone).
    seed : int or None
        Of the machine's jitter, None for a machine without.
    repetitions : int
        How often the pattern ran, one after the other.
    total_ns : float
        From the start to the last delivery.
    transfers : ndarray of `TRANSFER`, shape (transfers,)
        By repetition, phase, and the pattern's order.
    phases : ndarray of `PHASE`, shape (repetitions * phases,)
        By repetition, then phase.
    links : ndarray of `LINK`, shape (links,)
        In the order of ``machine.links``.
    units : ndarray of `UNIT`, shape (units,)
        In the order of ``machine.units``.
    event_count : int
        Simulated events handled.
    timeline : Timeline or None
        What happened when, where it was asked for.
    """

    machine: Machine
    pattern: Pattern
    unit_of_rank: NDArray[np.int32]
    model: str
    seed: int | None
    repetitions: int
    total_ns: float
    transfers: NDArray[np.void]
    phases: NDArray[np.void]
    links: NDArray[np.void]
    units: NDArray[np.void]
    event_count: int
    timeline: Timeline | None

    @classmethod
    def from_core(
        cls,
        machine: Machine,
        pattern: Pattern,
        run: PatternResult,
        seed: int | None,
        timeline: Timeline | None,
    ) -> Simulation:
        """Copies what the core measured."""
        return cls(
            machine=machine,
            pattern=pattern,
            unit_of_rank=np.array(run.unit_of_rank, dtype=np.int32),
            model=run.model,
            seed=seed,
            repetitions=run.repetitions,
            total_ns=run.total_ns,
            transfers=_table(TRANSFER, run.transfers()),
            phases=_table(PHASE, run.phases()),
            links=_table(LINK, run.links()),
            units=_table(UNIT, run.units()),
            event_count=run.event_count,
            timeline=timeline,
        )

    @property
    def durations_ns(self) -> NDArray[np.float64]:
        """Of every transfer: ndarray of float64, shape (transfers,)."""
        durations: NDArray[np.float64] = self.transfers["end_ns"] - self.transfers["start_ns"]
        return durations

    @property
    def bandwidths(self) -> NDArray[np.float64]:
        """GB/s of every transfer, 0 where no time passed: ndarray of float64, shape (transfers,)."""
        return _ratio(self.transfers["bytes"].astype(np.float64), self.durations_ns)

    @property
    def link_bytes(self) -> NDArray[np.uint64]:
        """Bytes that crossed every link: ndarray of uint64, shape (links,)."""
        return np.array(self.links["bytes"], dtype=np.uint64)

    @property
    def link_busy(self) -> NDArray[np.float64]:
        """Share of the run in which every link was occupied, 0 to 1: ndarray of float64, shape (links,)."""
        return _ratio(self.links["busy_ns"], np.full(self.links.shape, self.total_ns))

    def bytes_matrix(self) -> NDArray[np.uint64]:
        """Bytes delivered from row to column: ndarray of uint64, shape (ranks, ranks)."""
        return self._matrix(self.transfers["bytes"], np.dtype(np.uint64))

    def bandwidth_matrix(self) -> NDArray[np.float64]:
        """GB/s from row to column, 0 where nothing was sent: ndarray of float64, shape (ranks, ranks)."""
        sent = self.bytes_matrix().astype(np.float64)
        return _ratio(sent, self._matrix(self.durations_ns, np.dtype(np.float64)))

    def _matrix(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        ranks = self.pattern.ranks
        summed = np.zeros((ranks, ranks), dtype=dtype)
        np.add.at(summed, (self.transfers["sender"], self.transfers["receiver"]), values)
        return summed


def _table(dtype: np.dtype[np.void], columns: Sequence[NDArray[Any]]) -> NDArray[np.void]:
    rows = np.empty(columns[0].shape, dtype=dtype)
    for name, column in zip(dtype.names or (), columns, strict=True):
        rows[name] = column
    return rows


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros(above.shape, dtype=np.float64), where=below > 0)
