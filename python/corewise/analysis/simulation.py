"""What a simulated run says to people: the slowest transfers, the busiest links, who waited.

Takes a `Simulation` and prints nothing. Repetitions and phases are put together here: a `Flow` is all that
one rank sent to another.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np

from corewise._core import Machine
from corewise.data.quantities import share_text
from corewise.sim import Simulation


@dataclass(frozen=True)
class Flow:
    """All that one rank sent to another in a run.

    Attributes
    ----------
    sender, receiver : int
        Ranks.
    source, target : int
        Their units.
    bytes, messages : int
        Over all phases and repetitions.
    busy_ns : float
        While at least one message of a phase was under way, summed over phases and repetitions.
    gb_per_s : float
        Bytes over that time; 0 where nothing took time.
    """

    sender: int
    receiver: int
    source: int
    target: int
    bytes: int
    messages: int
    busy_ns: float
    gb_per_s: float


@dataclass(frozen=True)
class LinkRow:
    """A link that carried something."""

    index: int
    name: str
    bytes: int
    packets: int
    busy_ns: float
    busy: float
    gb_per_s: float
    largest_queue: int


@dataclass(frozen=True)
class RankRow:
    """A rank, what it sent and received, and the time it lost.

    Attributes
    ----------
    waiting_ns : float
        Lost to others' traffic, summed over its messages: delivery minus what an idle machine would take.
    idle_ns : float
        In which it had nothing under way: between its phases and at the end.
    """

    rank: int
    unit: str
    sent_bytes: int
    received_bytes: int
    waiting_ns: float
    idle_ns: float


@dataclass(frozen=True)
class Traffic:
    """A run as pictures show it.

    Attributes
    ----------
    machine : Machine
        Where it ran.
    rank_of_unit : dict of int to int
        The placement, from the machine's side.
    link_bytes, link_busy : tuple of float
        Per link of the machine: bytes, and the share of the run in which it was occupied.
    flows : tuple of Flow
        Between different units, of those that took time.
    """

    machine: Machine
    rank_of_unit: dict[int, int]
    link_bytes: tuple[float, ...]
    link_busy: tuple[float, ...]
    flows: tuple[Flow, ...]

    @cached_property
    def fastest_gb_per_s(self) -> float:
        """The highest bandwidth of a flow, 0 without flows."""
        return max((flow.gb_per_s for flow in self.flows), default=0.0)

    def tip(self, link: int) -> str:
        """A link's numbers, escaped for SVG."""
        found = self.machine.links[link]
        ends = f"{self.machine.stops[found.source]} → {self.machine.stops[found.target]}"
        busy = f"busy {share_text(float(self.link_busy[link]))}"
        return escape(f"{ends}: {self.link_bytes[link]:.0f} bytes, {busy} ({found.name})")

    def flow_tip(self, flow: Flow) -> str:
        """A flow's numbers, escaped for SVG."""
        units = self.machine.units
        ends = f"rank {flow.sender} ({units[flow.source].name}) → rank {flow.receiver} "
        return escape(f"{ends}({units[flow.target].name}): {flow.bytes} bytes, {flow.gb_per_s:.2f} GB/s")


def flows(run: Simulation) -> tuple[Flow, ...]:
    """All pairs that sent, slowest first; pairs that took no time come last."""
    ranks = run.pattern.ranks
    pair = run.transfers["sender"].astype(np.int64) * ranks + run.transfers["receiver"]
    pairs, where = np.unique(pair, return_inverse=True)
    size_bytes = np.zeros(pairs.size, dtype=np.uint64)
    messages = np.zeros(pairs.size, dtype=np.uint64)
    np.add.at(size_bytes, where, run.transfers["bytes"])
    np.add.at(messages, where, run.transfers["messages"])
    busy_ns = np.bincount(where, weights=run.durations_ns, minlength=pairs.size)
    columns = (pairs.tolist(), size_bytes.tolist(), messages.tolist(), busy_ns.tolist())
    found = [_flow(run, *divmod(each, ranks), *values) for each, *values in zip(*columns, strict=True)]
    return tuple(sorted(found, key=_slowest_first))


def _flow(
    run: Simulation, sender: int, receiver: int, size_bytes: int, messages: int, busy_ns: float
) -> Flow:
    return Flow(
        sender=sender,
        receiver=receiver,
        source=int(run.unit_of_rank[sender]),
        target=int(run.unit_of_rank[receiver]),
        bytes=size_bytes,
        messages=messages,
        busy_ns=busy_ns,
        gb_per_s=size_bytes / busy_ns if busy_ns > 0 else 0.0,
    )


def _slowest_first(flow: Flow) -> tuple[bool, float, int, int]:
    return flow.busy_ns == 0, flow.gb_per_s, flow.sender, flow.receiver


def busiest_links(run: Simulation) -> tuple[LinkRow, ...]:
    """The links that carried something, busiest first."""
    names = [link.name for link in run.machine.links]
    share = run.link_busy.tolist()
    rows = [
        LinkRow(
            index=index,
            name=names[index],
            bytes=int(link["bytes"]),
            packets=int(link["packets"]),
            busy_ns=float(link["busy_ns"]),
            busy=share[index],
            gb_per_s=float(link["bytes"]) / run.total_ns if run.total_ns > 0 else 0.0,
            largest_queue=int(link["largest_queue"]),
        )
        for index, link in enumerate(run.links)
        if link["bytes"] or link["packets"]
    ]
    return tuple(sorted(rows, key=lambda row: (-row.busy_ns, -row.bytes, row.index)))


def waiting_ranks(run: Simulation) -> tuple[RankRow, ...]:
    """All ranks; who lost most to others first."""
    units = run.machine.units
    rows = [
        RankRow(
            rank=rank,
            unit=units[unit].name,
            sent_bytes=int(run.units["sent_bytes"][unit]),
            received_bytes=int(run.units["received_bytes"][unit]),
            waiting_ns=float(run.units["waiting_ns"][unit]),
            idle_ns=float(run.units["idle_ns"][unit]),
        )
        for rank, unit in enumerate(run.unit_of_rank.tolist())
    ]
    return tuple(sorted(rows, key=lambda row: (-row.waiting_ns, -row.idle_ns, row.rank)))


def traffic(run: Simulation) -> Traffic:
    """The run as pictures show it."""
    return Traffic(
        machine=run.machine,
        rank_of_unit={unit: rank for rank, unit in enumerate(run.unit_of_rank.tolist())},
        link_bytes=tuple(run.link_bytes.astype(np.float64).tolist()),
        link_busy=tuple(run.link_busy.tolist()),
        flows=tuple(flow for flow in flows(run) if flow.busy_ns > 0 and flow.source != flow.target),
    )


def total_gb_per_s(run: Simulation) -> float:
    """All bytes over the time of the whole run; 0 where it took none."""
    return int(run.transfers["bytes"].sum()) / run.total_ns if run.total_ns > 0 else 0.0
