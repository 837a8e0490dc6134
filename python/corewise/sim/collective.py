"""Runs a collective on simulated SPEs: every algorithm of paper 001 and of its future work, with real data.

Owns names and defaults as Python sees them; what there is (collectives, algorithms, settings) comes from the
core's tables, so an algorithm added there appears here. Every run is checked against a serial reference:
wrong data is a `RunError`. The same input gives the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from corewise import _core
from corewise._core import Machine
from corewise.data.machines import load_machine
from corewise.data.sizes import size_bytes
from corewise.data.tuning import Selection, Tuning, bundled_tunings, load_tuning, tuning_for
from corewise.errors import InputError, bad_field
from corewise.sim.placements import named_placement

Value = int | bool | str
"""Of a setting: a number (bytes too), a switch, or how a call closes."""
MEMORIES = ("first", "second", "own", "local_store")
"""Where user data lie: main memory of the first or second chip, of each rank's own chip, its local store."""
CLOSINGS = ("barrier", "counters")
SHAPES: Mapping[Selection, Mapping[str, Value]] = MappingProxyType(
    {
        "paper": MappingProxyType({}),
        "all": MappingProxyType({"buffer": 14 * 1024, "eager_slots": 2, "eager_128": True}),
    }
)
"""What every rank has in the sweep of a selection (bench/collectives/tune.py): a program's ranks have one
shape, whichever algorithms are selected. Nothing: the default, paper 001's two buffers of 16 KB."""
TUNED = "cell-blade"
"""Whose bundled tuning speaks for a simulated Cell that has none of its own: the same SPEs, chip by chip."""
MOST_RANKS = 64
_MOST_BYTES = 16 * 1024**2
_MOST_CALLS = 1_000_000
_MOST_DELAY_NS = 1_000_000_000
_CELL = "cell"
_BARRIER = "barrier"
_OWN_ELEMENTS = "user_"
_STOPS_PER_CHIP = 12
_SPES_PER_CHIP = 8


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
    meaning : str
    """

    name: str
    kind: str
    least: int
    most: int
    step: int
    meaning: str

    @property
    def allowed(self) -> str:
        """The values that it may have, in words."""
        if self.kind == "flag":
            return "true, false"
        if self.kind == "closing":
            return ", ".join(CLOSINGS)
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"{self.least} to {self.most}{steps}"

    def value_of(self, number: int) -> Value:
        """What the core's number means."""
        if self.kind == "flag":
            return number != 0
        return CLOSINGS[number] if self.kind == "closing" else number

    def number_of(self, value: Value) -> int:
        """The core's number for a value; an `InputError` where it is none. Text is understood too."""
        words: Mapping[object, int] = {}
        if self.kind == "flag":
            words = {True: 1, False: 0, "true": 1, "false": 0}
        elif self.kind == "closing":
            words = {name: number for number, name in enumerate(CLOSINGS)}
        elif isinstance(value, int) and not isinstance(value, bool):
            return value
        elif isinstance(value, str):
            return self._number_in(value)
        if value not in words:
            raise bad_field("", self.name, f"'{value}'", self.allowed)
        return words[value]

    def _number_in(self, text: str) -> int:
        if self.kind != "bytes" and not (text.isascii() and text.isdigit()):
            raise bad_field("", self.name, f"'{text}'", self.allowed)
        return size_bytes(text, self.name)


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
class Task:
    """What is asked for, without the machine.

    Attributes
    ----------
    collective, algorithm : str
    ranks : int
    bytes : int
        Of the operand (broadcast, reductions), or of each block.
    root : int
    settings : mapping of str to value
        What the algorithm is given besides its defaults.
    memory : str
        One of `MEMORIES`.
    operation, element : str
        Of collectives that combine: an operator of MPI (``sum``, ``maximum`` ...) on an element (``int32``,
        ``float64`` ...), or ``user_sum``, ``user_compose`` (which does not commute).
    block_bytes, stride_bytes : int
        Of a broadcast's strided buffers; 0: contiguous.
    in_place, uneven, unaligned : bool
        Receive over send; blocks of different sizes with gaps (vector versions); buffers at odd places.
    delay_ns : int
        Ranks start a call so much later at most, drawn from `seed`.
    warm_up, calls : int
        Calls before; calls one by one, and then as many back to back.
    seed : int
        Of data and delays.
    """

    collective: str
    algorithm: str
    ranks: int
    bytes: int = 0
    root: int = 0
    settings: Mapping[str, Value] = field(default_factory=dict)
    memory: str = MEMORIES[0]
    operation: str = "sum"
    element: str = "int32"
    block_bytes: int = 0
    stride_bytes: int = 0
    in_place: bool = False
    uneven: bool = False
    unaligned: bool = False
    delay_ns: int = 0
    warm_up: int = 1
    calls: int = 3
    seed: int = 1

    def job(self, spes: Sequence[int] = ()) -> _core.CollectiveJob:
        """The core's form of it."""
        for name, (number, least, most) in self._ranges().items():
            if not least <= number <= most:
                raise bad_field("", name, number, f"{least} to {most}")
        refuse_meaningless(find_collective(self.collective), self.operation, self._changed())
        return _core.CollectiveJob(
            self.collective,
            self.algorithm,
            self.ranks,
            self.bytes,
            self.root,
            settings=_numbers(self.settings),
            memory=self.memory,
            spes=list(spes),
            operation=self.operation,
            element=self.element,
            block_bytes=self.block_bytes,
            stride_bytes=self.stride_bytes,
            in_place=self.in_place,
            uneven=self.uneven,
            unaligned=self.unaligned,
            delay_ns=self.delay_ns,
            warm_up=self.warm_up,
            calls=self.calls,
            seed=self.seed,
        )

    def _ranges(self) -> dict[str, tuple[int, int, int]]:
        """Every number with its limits."""
        return {
            "ranks": (self.ranks, 1, MOST_RANKS),
            "bytes": (self.bytes, 0, _MOST_BYTES),
            "root": (self.root, 0, self.ranks - 1),
            "block": (self.block_bytes, 0, _MOST_BYTES),
            "stride": (self.stride_bytes, 0, _MOST_BYTES),
            "delay": (self.delay_ns, 0, _MOST_DELAY_NS),
            "warm_up": (self.warm_up, 0, _MOST_CALLS),
            "calls": (self.calls, 1, _MOST_CALLS),
            "seed": (self.seed, 0, 2**31 - 1),
        }

    def _changed(self) -> list[str]:
        """The fields that only some collectives have and that are not at their defaults."""
        return [name for name in _ONLY_SOME if getattr(self, name) != getattr(Task, name)]


_ONLY_SOME = ("bytes", "memory", "unaligned", "root", "uneven", "operation", "element")


def refuse_meaningless(collective: Collective, operation: str, given: Sequence[str]) -> None:
    """An `InputError` where something is given that the collective does not have.

    `given` names fields of a `Task`; `operation` is the task's.
    """
    rows = collectives().values()
    with_data = [each.name for each in rows if each.name != _BARRIER]
    combining = [each.name for each in rows if each.combines]
    having = {
        "bytes": with_data,
        "memory": with_data,
        "unaligned": with_data,
        "root": [each.name for each in rows if each.rooted],
        "uneven": [each.name for each in rows if each.uneven],
        "operation": combining,
        "element": combining,
    }
    for name in given:
        if name in having and collective.name not in having[name]:
            raise bad_field("", name, f"a value for {collective.name}", f"only for {', '.join(having[name])}")
    if "element" in given and operation.startswith(_OWN_ELEMENTS):
        raise bad_field("", "element", f"a value for {operation}", "only for operators of MPI")


@dataclass(frozen=True)
class MemoryTraffic:
    """What one chip's memory controller moved in a call, on average over the calls one by one."""

    read_bytes: float
    written_bytes: float
    gb_per_s: float


@dataclass(frozen=True)
class CollectiveRun:
    """What a collective took.

    Attributes
    ----------
    task : Task
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
        That a rank takes beside its code and its user data.
    spes : tuple of int
        Of the ranks.
    events : int
    """

    task: Task
    machine: Machine
    settings: Mapping[str, Value]
    latency_ns: NDArray[np.float64]
    rank_end_ns: NDArray[np.float64]
    throughput_ns: float
    memories: tuple[MemoryTraffic, ...]
    dma_commands: float
    local_store_bytes: int
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
    known = settings()
    return tuple(
        Algorithm(name, what, commutes, {key: known[key].value_of(number) for key, number in defaults})
        for name, what, commutes, defaults in _core.collective_algorithms(collective)
    )


def find_collective(name: str) -> Collective:
    """The collective; an `InputError` lists what there is."""
    if name not in collectives():
        raise bad_field("", "collective", f"'{name}'", ", ".join(collectives()))
    return collectives()[name]


def find_algorithm(collective: str, name: str) -> Algorithm:
    """The algorithm; an `InputError` lists what there is."""
    rows = find_collective(collective).algorithms
    for row in rows:
        if row.name == name:
            return row
    allowed = ", ".join(row.name for row in rows)
    raise bad_field("", "algorithm", f"'{name}'", f"{allowed} for {collective}")


def parse_settings(texts: Sequence[str]) -> dict[str, Value]:
    """Settings from ``NAME=VALUE`` texts, e.g. ``min_piece=2KiB``, ``closing=counters``."""
    found: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise bad_field("", "set", f"'{text}'", "NAME=VALUE")
        if name in found:
            raise bad_field("", "set", f"'{name}' twice", "once")
        if name not in settings():
            raise bad_field("", "set", f"'{name}'", ", ".join(settings()))
        setting = settings()[name]
        found[name] = setting.value_of(_checked(setting, setting.number_of(value)))
    return found


def _checked(setting: Setting, number: int) -> int:
    if not setting.least <= number <= setting.most:
        raise bad_field("", setting.name, number, setting.allowed)
    return number


def _numbers(given: Mapping[str, Value]) -> list[tuple[str, int]]:
    numbers = []
    for name, value in given.items():
        if name not in settings():
            raise bad_field("", "set", f"'{name}'", ", ".join(settings()))
        numbers.append((name, _checked(settings()[name], settings()[name].number_of(value))))
    return numbers


@dataclass(frozen=True)
class Selected:
    """What a tuning selects for a call.

    Attributes
    ----------
    algorithm : str
    settings : mapping of str to value
        What it won with: the shape of the ranks too.
    machine : str
        Whose tuning it is.
    ranks : int
        That it was measured on: those of the call, or the nearest that there is a row for.
    """

    algorithm: str
    settings: Mapping[str, Value]
    machine: str
    ranks: int


def selected(
    machine: Machine, collective: str, ranks: int, bytes: int, selection: Selection = "all"
) -> Selected:
    """What the bundled tuning selects for a call on a simulated Cell.

    Ranks without a row take that of the next larger measured number, beyond the largest that of the largest.
    A collective without rows is an `InputError` that names its algorithms.
    """
    _check_cell(machine)
    tuning = _tuning_of(machine)
    rows = [row for row in tuning.rows if (row.set, row.collective) == (selection, collective)]
    if not rows:
        names = ", ".join(row.name for row in find_collective(collective).algorithms)
        raise InputError(f"no tuning for {collective}: give --algorithm ({names})")
    counts = sorted({row.ranks for row in rows})
    measured = next((count for count in counts if count >= ranks), counts[-1])
    won = tuning.find(collective, measured, bytes, selection).won
    return Selected(won.algorithm, {**SHAPES[selection], **dict(won.parameters)}, tuning.machine, measured)


def _tuning_of(machine: Machine) -> Tuning:
    bundled = [load_tuning(path) for path in bundled_tunings()]
    own = [tuning for tuning in bundled if machine.name in (tuning.machine, *tuning.also)]
    return own[0] if own else tuning_for(TUNED)


# ---- runs ------------------------------------------------------------------------------------------------


def simulate_collective(
    machine: Machine | str, task: Task, placement: Sequence[int] | str | None = None
) -> CollectiveRun:
    """Runs a collective on a simulated Cell.

    Parameters
    ----------
    machine : Machine or str
        One whose model is ``cell``: cell-be, cell-blade, ps3, or a file.
    task : Task
    placement : sequence of int or str, optional
        Unit of every rank, or a name (`named_placement`); without one, rank r on unit r.

    Returns
    -------
    CollectiveRun

    Raises
    ------
    InputError
        Where something of this does not fit together; RunError where the data came out wrong.
    """
    return time_collectives(machine, [task], placement)[0]


def time_collectives(
    machine: Machine | str, tasks: Sequence[Task], placement: Sequence[int] | str | None = None
) -> list[CollectiveRun]:
    """`simulate_collective` for many tasks, each on a machine of its own."""
    where = load_machine(machine) if isinstance(machine, str) else machine
    _check_cell(where)
    jobs = [task.job(_spes(where, task.ranks, placement)) for task in tasks]
    runs = _core.run_collectives(where, jobs)
    return [_run_of(where, task, times) for task, times in zip(tasks, runs, strict=True)]


def _check_cell(machine: Machine) -> None:
    if machine.model != _CELL:
        raise InputError(
            f"machine '{machine.name}': found a machine without SPEs, allowed: one whose model is cell "
            "(cell-be, cell-blade, ps3)"
        )


def check_collective(task: Task, port_seed: int = 0) -> None:
    """Runs the same calls on ideal ranks, where they take no time, and checks every rank's data.

    With a `port_seed`, whatever the port's contract leaves open is used against the algorithm. A `RunError`
    says what came out wrong.
    """
    _core.check_collective(task.job(), port_seed)


def _spes(machine: Machine, ranks: int, placement: Sequence[int] | str | None) -> list[int]:
    if not 1 <= ranks <= len(machine.units):
        raise bad_field("", "ranks", ranks, f"1 to {len(machine.units)} on '{machine.name}'")
    if placement is None or isinstance(placement, str):
        units: Sequence[int] = named_placement(placement or "identity", machine, ranks)
    else:
        units = list(placement)
        if len(units) != ranks:
            raise bad_field("", "placement", f"{len(units)} ranks", f"{ranks}, as many as take part")
        machine.check_placement(list(units))
    return [_spe_at(machine, machine.units[unit].stop) for unit in units]


def _spe_at(machine: Machine, stop: int) -> int:
    """The SPE at a stop, by the stop's name: ``SPE3``, ``cell1.SPE3``."""
    return stop // _STOPS_PER_CHIP * _SPES_PER_CHIP + int(machine.stops[stop].rpartition("SPE")[2])


def _run_of(machine: Machine, task: Task, times: _core.CollectiveTimes) -> CollectiveRun:
    algorithm = find_algorithm(task.collective, task.algorithm)
    given = {name: settings()[name].value_of(number) for name, number in _numbers(task.settings)}
    return CollectiveRun(
        task=task,
        machine=machine,
        settings={**algorithm.defaults, **given},
        latency_ns=np.array(times.latency_ns),
        rank_end_ns=np.array(times.rank_end_ns),
        throughput_ns=times.throughput_ns,
        memories=tuple(MemoryTraffic(*each) for each in times.memories),
        dma_commands=times.dma_commands,
        local_store_bytes=times.local_store_bytes,
        spes=tuple(times.spes),
        events=times.events,
    )
