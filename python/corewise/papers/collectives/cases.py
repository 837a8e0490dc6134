"""Collectives on the simulated Cell as cases: an algorithm, its parameters, ranks, bytes, where data are.

Runs many at once, each on a machine of its own; the time of a case depends on nothing but the case. Which
parameters are tried in sweeps stands here too. Every run checks every rank's data.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from corewise import _core, _lab
from corewise.analysis.result import Progress
from corewise.analysis.selection import Configuration
from corewise.data.machines import load_machine
from corewise.data.tuning import Selection, Value
from corewise.errors import InputError
from corewise.papers.runner import Work, unseen
from corewise.sim.selected import SHAPES

MACHINE = "cell-blade"
Memory = Literal["first", "second", "own", "interleaved", "first_touch", "local_store"]
"""Where user data are: in the first or second chip's memory, the rank's own chip's, in both memories page by
page or rank by rank, in its local store."""

LONG_BYTES = 1024 * 1024
"""Of all ranks together: from here on one call says enough, the second takes the same within 2 %."""
_OF_EVERY_PAIR = (
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "reduce_scatter",
    "reduce_scatter_block",
)
_CALLS = 3


@dataclass(frozen=True)
class Case:
    """One call of a collective, of which the time is wanted.

    Attributes
    ----------
    collective : str
    ranks : int
        Up to 8 on one chip, more on both.
    bytes : int
        Of one rank's operand or block; 0 for a barrier. Reductions are sums of 4-byte integers.
    configuration : Configuration
        Algorithm and parameters.
    memory : Memory
        Where user data are.
    eager : bool
        Whether ranks have slots for payloads in their metadata, as algorithms of the paper's future work
        need; the paper's ranks have two buffers of 16 KB instead.
    """

    collective: str
    ranks: int
    bytes: int
    configuration: Configuration
    memory: Memory = "first"
    eager: bool = False


@dataclass(frozen=True)
class Timing:
    """What a case took.

    Attributes
    ----------
    latency_us : float
        Synchronised start to last rank done.
    period_us : float
        Time per call of calls back to back: what throughput is of; 0 where there were none.
    """

    latency_us: float
    period_us: float


def run_cases(
    cases: Iterable[Case],
    progress: Progress = unseen,
    leave_out_unusable: bool = False,
    machine: _core.Machine | None = None,
    back_to_back: bool = True,
) -> dict[Case, Timing]:
    """Runs every different case once; the result is in the order of the cases.

    Parameters
    ----------
    cases : iterable of Case
    progress : callable
        Told the share of the work done.
    leave_out_unusable : bool
        Leaves out cases that their algorithm cannot do (so many bytes, so many ranks, without slots, with no
        room beside them) instead
        of raising; any other refusal is raised, so that no algorithm vanishes from a sweep unseen.
    machine : Machine, optional
        A Cell; the bundled blade without it.
    back_to_back : bool
        Whether the period is wanted too, which takes as long as the latency.
    """
    wanted = list(dict.fromkeys(cases))
    machine = machine or load_machine(MACHINE)
    work = Work(sum(map(_work, wanted)), progress)
    times: dict[Case, Timing] = {}
    # The runs release the GIL.
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        runs = {pool.submit(run_case, machine, case, back_to_back): case for case in wanted}
        try:
            for run in as_completed(runs):
                try:
                    times[runs[run]] = run.result()
                except InputError as error:
                    if not (leave_out_unusable and _too_much(error)):
                        raise
                work(_work(runs[run]))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {case: times[case] for case in wanted if case in times}


def _too_much(error: InputError) -> bool:
    return str(error).startswith(
        tuple(f"field '{field}':" for field in ("bytes", "ranks", "eager_slots", "buffer"))
    )


def run_case(machine: _core.Machine, case: Case, back_to_back: bool = True) -> Timing:
    """Runs one case on a simulated Cell; without calls back to back there is no period."""
    long = volume_bytes(case) >= LONG_BYTES
    request = _lab.CollectiveRequest(
        case.collective,
        case.configuration.algorithm,
        case.ranks,
        case.bytes,
        settings=settings_of(case),
        memory=case.memory,
        warm_up=0 if long else 1,
        calls=1 if long else _CALLS,
        back_to_back=back_to_back,
    )
    times = _lab.run_collective(machine, request)
    return Timing(times.mean_latency_ns / 1000, times.throughput_ns / 1000)


def settings_of(case: Case) -> dict[str, Value]:
    """The case's parameters and the shape of its ranks."""
    return {**SHAPES["all" if case.eager else "paper"], **dict(case.configuration.parameters)}


def volume_bytes(case: Case) -> int:
    """About what all ranks get together."""
    return case.bytes * case.ranks ** (2 if case.collective in _OF_EVERY_PAIR else 1)


def _work(case: Case) -> float:
    """About how long it runs: packets, and what a call costs without any."""
    volume = volume_bytes(case)
    return 2000.0 + volume / 128 * (2 if volume >= LONG_BYTES else 1 + 2 * _CALLS)


# ---- what a sweep tries ----------------------------------------------------------------------------------

NOT_OF_THE_PAPER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "broadcast": ("scatter_allgather",),
        "reduce": ("rabenseifner",),
        "allreduce": ("ring", "rabenseifner"),
    }
)
"""Algorithms that the paper only cites; those that need slots in the metadata are its future work."""

TRIED: Mapping[str, tuple[Value, ...]] = MappingProxyType(
    {
        "degree": (1, 2, 3, 4, 5, 8, 16),
        "min_piece": (1024, 2048, 4096, 8192),
        "shift": (0, 4096, 16384, 65536),
        "list": (False, True),
        "fenced": (False, True),
        "far_percent": (100, 60, 35),
        "piece": (0, 4096, 6144, 8192),
        "ahead": (True, False),
        "closing": ("barrier", "counters"),
    }
)
"""Parameters that a sweep varies, in this order, and their values; the others keep their defaults."""
OF_THE_PAPER = ("degree", "min_piece", "shift", "list", "fenced")
"""Those that the paper names; its calls end with a barrier, its trees have degrees of up to 8."""
_MOST_DEGREE_OF_THE_PAPER = 8
_SHOWN = ("degree", "min_piece", "far_first", "closing")
"""Parameters that stand in a configuration even where they have their defaults."""


@dataclass(frozen=True)
class Choices:
    """An algorithm and what a sweep may give it: for every parameter the values, the default first."""

    algorithm: str
    values: Mapping[str, tuple[Value, ...]]

    def configuration(self, chosen: Mapping[str, Value]) -> Configuration:
        """With some parameters chosen, the others at their defaults."""
        given = {
            name: chosen.get(name, values[0])
            for name, values in self.values.items()
            if name in _SHOWN or chosen.get(name, values[0]) != values[0]
        }
        return Configuration(self.algorithm, tuple(sorted(given.items())))


def choices(collective: str, selection: Selection, ranks: int) -> list[Choices]:
    """Every algorithm of a selection."""
    found = []
    for name, _, _, defaults in _lab.collective_algorithms(collective):
        eager = int(defaults["eager_slots"]) > 0
        if selection == "paper" and (eager or name in NOT_OF_THE_PAPER.get(collective, ())):
            continue
        most = min(ranks, _MOST_DEGREE_OF_THE_PAPER) if selection == "paper" else ranks
        values = {
            key: _default_first(key, tried, defaults[key], max(2, most))
            for key, tried in TRIED.items()
            if key in defaults and (selection == "all" or key in OF_THE_PAPER)
        }
        if "far_first" in defaults and selection == "paper":
            values["far_first"] = (True,)
        if "closing" in defaults:
            values["closing"] = ("barrier",) if selection == "paper" else ("counters", "barrier")
        found.append(Choices(name, values))
    return found


def _default_first(name: str, tried: tuple[Value, ...], default: Value, degree: int) -> tuple[Value, ...]:
    """The values to try; of a tree's degrees those up to `degree`."""
    if name == "degree":
        tried = tuple(value for value in tried if int(value) <= degree)
        default = min(int(default), degree)
    first = [value for value in tried if value == default]
    return (*first, *(value for value in tried if value not in first))
