"""Runs a collective on simulated SPEs: every algorithm of paper 001 and of its future work, with real data.

What there is (collectives, algorithms, settings) comes from the core's tables, so an algorithm added there
appears here. What is asked for is a `_lab.CollectiveRequest`, the core's own. Every run is checked against a
serial reference: wrong data is a `RunError`. The same input gives the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from corewise import _core, _lab
from corewise._core import Machine
from corewise.data.machines import load_machine
from corewise.data.placement import Placement
from corewise.data.tuning import Value
from corewise.errors import InputError, bad_field
from corewise.sim.placements import IDENTITY, named_placement

__all__ = [
    "MEMORIES",
    "Algorithm",
    "CacheUse",
    "Collective",
    "CollectiveRun",
    "MemoryTraffic",
    "Setting",
    "check_cell",
    "check_collective",
    "collectives",
    "find_collective",
    "settings",
    "simulate_collective",
]

MEMORIES = ("first", "second", "own", "local_store")
"""Where user data lie: main memory of the first or second chip, of each rank's own chip, its local store."""
_CELL = "cell"


@dataclass(frozen=True)
class Setting:
    """Something that an algorithm may be given.

    Attributes
    ----------
    name : str
    kind : str
        ``number``, ``bytes``, ``flag`` or ``closing``.
    least, most, step : int
        Of numbers and bytes.
    allowed : str
        The values that it may have, in words.
    meaning : str
    """

    name: str
    kind: str
    least: int
    most: int
    step: int
    allowed: str
    meaning: str


@dataclass(frozen=True)
class Algorithm:
    """A row of a collective's table.

    Attributes
    ----------
    name : str
    what : str
        How it works, with paper and section.
    commutes : bool
        Whether it takes only operators that commute.
    defaults : mapping of str to value
        Every setting that it takes, with what it has where nothing is set.
    """

    name: str
    what: str
    commutes: bool
    defaults: Mapping[str, Value]


@dataclass(frozen=True)
class Collective:
    """A collective: what it has, and by which algorithms it runs."""

    name: str
    rooted: bool
    combines: bool
    uneven: bool
    algorithms: tuple[Algorithm, ...]


@dataclass(frozen=True)
class MemoryTraffic:
    """What one chip's memory controller moved in a call, on average over the calls one by one."""

    read_bytes: float
    written_bytes: float
    gb_per_s: float


@dataclass(frozen=True)
class CacheUse:
    """What the ranks' software caches did in a call, all together, on average over the calls one by one.

    Attributes
    ----------
    hits, misses, write_backs : float
        Of lines: looked for and found, brought by a DMA get, written to main memory by a DMA put.
    local_store_bytes : int
        That the cache of one rank takes.
    """

    hits: float
    misses: float
    write_backs: float
    local_store_bytes: int


@dataclass(frozen=True)
class CollectiveRun:
    """What a collective took.

    Attributes
    ----------
    request : _lab.CollectiveRequest
    machine : Machine
    settings : mapping of str to value
        All that the algorithm had, defaults too.
    latency_ns : ndarray of float64, shape (calls,)
        Of each call: common start to last rank done.
    rank_end_ns : ndarray of float64, shape (ranks,)
        Of the last of them, from the common start.
    throughput_ns : float
        Per call, back to back.
    memories : tuple of MemoryTraffic
        Of each chip.
    dma_commands : float
        Of all SPEs, per call.
    local_store_bytes : int
        That a rank takes beside its code and its user data, its software cache included.
    cache : CacheUse or None
        None where user data lie behind no software cache.
    spes : tuple of int
        Of the ranks.
    events : int
    """

    request: _lab.CollectiveRequest
    machine: Machine
    settings: Mapping[str, Value]
    latency_ns: NDArray[np.float64]
    rank_end_ns: NDArray[np.float64]
    throughput_ns: float
    memories: tuple[MemoryTraffic, ...]
    dma_commands: float
    local_store_bytes: int
    cache: CacheUse | None
    spes: tuple[int, ...]
    events: int

    @property
    def mean_latency_ns(self) -> float:
        """Over the calls."""
        return float(self.latency_ns.mean())


# ---- what there is ---------------------------------------------------------------------------------------


@cache
def settings() -> Mapping[str, Setting]:
    """Every setting by its name, in the order of the core's table."""
    return MappingProxyType({row[0]: Setting(*row) for row in _core.collective_settings()})


@cache
def collectives() -> Mapping[str, Collective]:
    """Every collective by its name."""
    return MappingProxyType(
        {
            name: Collective(name, rooted, combines, uneven, _algorithms(name))
            for name, rooted, combines, uneven in _core.collectives()
        }
    )


def _algorithms(collective: str) -> tuple[Algorithm, ...]:
    return tuple(Algorithm(*row) for row in _lab.collective_algorithms(collective))


def find_collective(name: str) -> Collective:
    """The collective; an `InputError` lists what there is."""
    if name not in collectives():
        raise bad_field("", "collective", f"'{name}'", ", ".join(collectives()))
    return collectives()[name]


# ---- runs ------------------------------------------------------------------------------------------------


def simulate_collective(
    machine: Machine | str,
    request: _lab.CollectiveRequest,
    placement: Placement | Sequence[int] | str | None = None,
) -> CollectiveRun:
    """Runs a collective on a simulated Cell.

    Parameters
    ----------
    machine : Machine or str
        One whose model is ``cell``: cell-be, cell-blade, ps3, or a file.
    request : _lab.CollectiveRequest
    placement : Placement, sequence of int or str, optional
        Unit of every rank, or a name (`named_placement`); without one, rank r on unit r.

    Returns
    -------
    CollectiveRun

    Raises
    ------
    InputError
        Where something of this does not fit together; RunError where the data came out wrong.
    """
    where = load_machine(machine) if isinstance(machine, str) else machine
    check_cell(where)
    units: Sequence[int] = ()
    if isinstance(placement, str):
        units = () if placement == IDENTITY else named_placement(placement, where, request.ranks)
    elif placement is not None:
        units = placement.unit_of_rank if isinstance(placement, Placement) else placement
    times = _lab.run_collective(where, request, list(units))
    return CollectiveRun(
        request=request,
        machine=where,
        settings=times.settings,
        latency_ns=np.array(times.latency_ns),
        rank_end_ns=np.array(times.rank_end_ns),
        throughput_ns=times.throughput_ns,
        memories=tuple(MemoryTraffic(*each) for each in times.memories),
        dma_commands=times.dma_commands,
        local_store_bytes=times.local_store_bytes,
        cache=CacheUse(*times.cache) if request.cache_line_bytes else None,
        spes=tuple(times.spes),
        events=times.events,
    )


def check_cell(machine: Machine) -> None:
    """An `InputError` where a machine is not simulated as a Cell."""
    if machine.model != _CELL:
        raise InputError(
            f"machine '{machine.name}': found a machine without SPEs, allowed: one whose model is cell "
            "(cell-be, cell-blade, ps3)"
        )


def check_collective(request: _lab.CollectiveRequest, port_seed: int = 0) -> None:
    """Runs the same calls on ideal ranks, where they take no time, and checks every rank's data.

    With a `port_seed`, whatever the port's contract leaves open is used against the algorithm. A `RunError`
    says what came out wrong.
    """
    _lab.check_collective(request, port_seed)
