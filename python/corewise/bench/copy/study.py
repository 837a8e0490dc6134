"""`corewise bench copy`: copies of one core and messages between two, against glibc and two memcpys.

What the copy that chooses (``kernels/copy/copy.hpp``) runs is decided by races of their own before it is
measured, or by a tuning file. Contestants take turns in an order drawn anew each round; a ratio is taken
round by round, over 1 means that ours is quicker, and what is told is its median; spread: the distance
between its quartiles over its median.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from corewise import __version__, _core
from corewise.bench.copy.messages import MessageTimes, Messenger, two_processors
from corewise.bench.copy.races import (
    FULL,
    QUICK,
    SMALLEST,
    Choice,
    Decision,
    Plan,
    Racer,
    Times,
    bounds_here,
    confirmed,
    decide,
    kernels_here,
    octaves_of,
    ratios,
    rows_of,
)
from corewise.bench.noise import FOREIGN_LIMIT
from corewise.data.copy_hosts import find_copy_tuning, host_name
from corewise.data.copy_tuning import ALIGNMENTS, CopyTuning, load_copy_tuning
from corewise.data.quantities import size_text
from corewise.errors import InputError

Progress = Callable[[float], None]
KIB, MIB = 1 << 10, 1 << 20
SIZES = (
    *(256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB),
    *(MIB, 4 * MIB, 16 * MIB, 64 * MIB),
)
QUICK_SIZES = (4 * KIB, 64 * KIB, MIB)
MESSAGE_SIZES = (4 * KIB, 32 * KIB, 256 * KIB, 512 * KIB, MIB, 4 * MIB)
QUICK_MESSAGE_SIZES = (4 * KIB, 32 * KIB, 256 * KIB)
LARGEST_MESSAGE = 4 * MIB
"""Bytes up to which `tune` asks two cores which kernel is for ``other``."""
FLOORS_FROM = 4 * KIB
"""Bytes from which the parts of a copy, alone, say how quick it could be."""
HOST = "host"
"""Instead of a tuning's file: that of this processor."""
LARGEST = 1 << 32
"""Bytes of the largest copy that is measured: twice that is mapped."""
TUNED_OCTAVES = tuple(1 << bit for bit in range(7, 27))
QUICK_TUNED_OCTAVES = tuple(1 << bit for bit in range(7, 18))


@dataclass(frozen=True)
class Wanted:
    """What is measured.

    Attributes
    ----------
    sizes : tuple of int
        Bytes; empty: those that the mode has.
    kernels : tuple of str
        Forced ones, beside memcpy; empty: all that there are, and the choice.
    alignment : str
    quick, huge_pages, message : bool
    processors : tuple of int
        Sender's (one core's copies run there too) and receiver's; empty: the first two.
    tuning : Path or None
        Instead of races before the measurement.
    """

    sizes: tuple[int, ...] = ()
    kernels: tuple[str, ...] = ()
    alignment: str = "same"
    quick: bool = False
    huge_pages: bool = False
    message: bool = False
    processors: tuple[int, ...] = ()
    tuning: Path | None = None

    @property
    def plan(self) -> Plan:
        """How long."""
        return QUICK if self.quick else FULL


@dataclass(frozen=True)
class Row:
    """One comparison (``bench/README`` fields): ours against a rival.

    Attributes
    ----------
    id, what, unit, rival : str
    ours, theirs : float
        Medians.
    floor : float or None
    ratio, spread : float
        theirs / ours, median of the rounds; distance of its quartiles over it.
    n : int
        Rounds.
    foreign : float
        Share of the processors that others took.
    """

    id: str
    what: str
    unit: str
    ours: float
    rival: str
    theirs: float
    floor: float | None
    ratio: float
    spread: float
    n: int
    foreign: float

    def to_json(self) -> dict[str, object]:
        """With a mark where others took too much."""
        return {**asdict(self), "loud": self.foreign > FOREIGN_LIMIT}


@dataclass(frozen=True)
class CopyTimes:
    """One size: every contestant.

    Attributes
    ----------
    bytes : int
    names : tuple of str
        memcpy first; ``copy.self`` is the choice, ``bound.PART`` a part of every copy alone.
    chosen : str
        The kernel that the choice ran, empty where kernels were forced.
    times : array of float, (rounds, contestants)
        Nanoseconds per copy.
    foreign : float
    """

    bytes: int
    names: tuple[str, ...]
    chosen: str
    times: Times
    foreign: float

    @property
    def floor(self) -> float | None:
        """Nanoseconds below which no copy was possible.

        All loads take so long, and all stores, by the quicker way; both at once would be best.
        None where the parts were not timed, and for short copies: a loop's own steps are as long as they are.
        """
        if self.bytes < FLOORS_FROM:
            return None
        parts = {
            name: float(np.median(self.times[:, i])) for i, name in enumerate(self.names) if is_bound(name)
        }
        if not parts:
            return None
        return max(parts["bound.read"], min(parts["bound.write"], parts["bound.write_past"]))


def is_bound(name: str) -> bool:
    """Whether a contestant is no copy, but a part of every copy."""
    return name.startswith("bound.")


@dataclass(frozen=True)
class Result:
    """Everything that one run found."""

    host: str
    wanted: Wanted
    knob: str
    copies: tuple[CopyTimes, ...]
    messages: tuple[MessageTimes, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Of copies: the choice or the forced kernels, then each kernel; of messages: each size, twice."""
        made = [row for each in self.copies for row in _copy_rows(each, self.wanted.alignment)]
        return (*made, *(row for each in self.messages for row in _message_rows(each)))

    @property
    def foreign(self) -> float:
        """The largest share that others took in any block."""
        shares = [each.foreign for each in self.copies] + [each.foreign for each in self.messages]
        return max(shares, default=0.0)


@contextmanager
def bound_to(processor: int) -> Iterator[None]:
    """Binds this thread to one processor for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_bench(wanted: Wanted, progress: Progress) -> Result:
    """Measures what is wanted."""
    check(wanted)
    if wanted.message:
        return Result(host_name(), wanted, "", (), _run_messages(wanted, progress))
    sizes = wanted.sizes or (QUICK_SIZES if wanted.quick else SIZES)
    with bound_to(wanted.processors[0] if wanted.processors else min(os.sched_getaffinity(0))):
        racer = Racer(max(sizes) * 2, wanted.plan, wanted.huge_pages)
        knob = "" if wanted.kernels else _knob(wanted, racer, sizes, progress)
        _core.set_copy_tuning(knob)
        copies = []
        for index, size in enumerate(sizes):
            copies.append(_run_copy(wanted, racer, size))
            progress(0.5 + 0.5 * (index + 1) / len(sizes))
    return Result(host_name(), wanted, knob, tuple(copies), ())


def check(wanted: Wanted) -> None:
    """Refuses what cannot be measured, before anything is."""
    for size in wanted.sizes:
        if not 1 <= size <= LARGEST:
            raise InputError(f"--size: found {size} bytes, allowed: 1 byte to 4 GiB")
    here = kernels_here()
    for kernel in wanted.kernels:
        if kernel not in here:
            raise InputError(f"--kernel: found '{kernel}', allowed on this processor: {', '.join(here)}")
    if wanted.alignment not in ALIGNMENTS:
        raise InputError(f"--alignment: found '{wanted.alignment}', allowed: {', '.join(ALIGNMENTS)}")
    usable = _core.usable_processors()
    if wanted.processors and (len(wanted.processors) != 2 or not set(wanted.processors) <= set(usable)):
        found = ",".join(map(str, wanted.processors))
        raise InputError(f"--processors: found {found}, allowed: two of {', '.join(map(str, usable))}")


def _knob(wanted: Wanted, racer: Racer, sizes: Sequence[int], progress: Progress) -> str:
    if wanted.tuning is not None:
        return tuning_wanted(wanted.tuning).knob()
    decisions: dict[Choice, Decision] = {}
    octaves = octaves_of(sizes)
    for index, octave in enumerate(octaves):
        for audience, decision in decide(racer, octave, wanted.alignment, kernels_here()).items():
            decisions[audience, wanted.alignment, octave] = decision
        progress(0.5 * (index + 1) / len(octaves))
    return CopyTuning("-", "-", "-", "-", rows_of(confirmed(racer, decisions))).knob()


def tuning_wanted(where: Path) -> CopyTuning:
    """That of a file; for ``host`` the one of this processor, kept here or bundled."""
    if str(where) != HOST:
        return load_copy_tuning(where)
    found = find_copy_tuning()
    if found.tuning is None:
        raise InputError(
            f"--tuning {HOST}: found {found.text()}, allowed: a file (corewise bench copy --tune FILE)"
        )
    return found.tuning


def _run_copy(wanted: Wanted, racer: Racer, size: int) -> CopyTimes:
    names = (
        tuple(dict.fromkeys(("memcpy", *wanted.kernels)))
        if wanted.kernels
        else ("memcpy", "copy.self", *(name for name in kernels_here() if name != "memcpy"))
    ) + bounds_here()
    block = racer.run(names, size, wanted.alignment)
    chosen = "" if wanted.kernels else chosen_kernel(size, wanted.alignment)
    return CopyTimes(size, names, chosen, block.value, block.foreign)


def chosen_kernel(size: int, alignment: str, audience: str = "self") -> str:
    """What `copy` runs for a size, by the tuning in use."""
    if size <= SMALLEST:
        return "inline"
    return _core.chosen_copy(size, alignment, audience)


def _run_messages(wanted: Wanted, progress: Progress) -> tuple[MessageTimes, ...]:
    sender, receiver = two_processors(wanted.processors)
    messenger = Messenger(sender, receiver, wanted.plan)
    sizes = wanted.sizes or (QUICK_MESSAGE_SIZES if wanted.quick else MESSAGE_SIZES)
    found = []
    for read in (False, True):
        for size in sizes:
            found.append(messenger.run(size, read))
            progress(len(found) / (2 * len(sizes)))
    return tuple(found)


# ---- rows --------------------------------------------------------------------------------------------------


def compare(times: Times, rival: int, ours: int) -> tuple[float, float, float, float]:
    """Ours, theirs, ratio, spread."""
    each = ratios(times, rival, ours)
    lower, middle, upper = np.percentile(each, (25, 50, 75))
    medians = np.median(times, axis=0)
    values = float(medians[ours]), float(medians[rival]), float(middle), float((upper - lower) / middle)
    return round(values[0], 1), round(values[1], 1), round(values[2], 3), round(values[3], 3)


def _copy_rows(found: CopyTimes, alignment: str) -> Iterator[Row]:
    for index, name in enumerate(found.names):
        if is_bound(name) or (name == "memcpy" and len(found.names) > 1 + len(bounds_here())):
            continue
        ours, theirs, ratio, spread = compare(found.times, 0, index)
        chosen = name.startswith("copy.")
        what = f"copy of {size_text(found.bytes)}, addresses {alignment}, "
        yield Row(
            id=f"copy-{found.bytes}-{alignment}" + ("" if chosen else f"-{name}"),
            what=what + (f"chosen: {found.chosen}" if chosen else name),
            unit="ns",
            ours=ours,
            rival="memcpy",
            theirs=theirs,
            floor=round(found.floor, 1) if found.floor is not None else None,
            ratio=ratio,
            spread=spread,
            n=len(found.times),
            foreign=round(found.foreign, 4),
        )


def apart_text(found: MessageTimes) -> str:
    """``cores 51 ns apart``, or from where to where they moved."""
    first, last = (f"{each:.0f} ns" for each in found.apart)
    return f"cores {first}, then {last} apart" if found.moved else f"cores {last} apart"


def _message_rows(found: MessageTimes) -> Iterator[Row]:
    until = "-read" if found.read else ""
    chosen = found.ways.index(found.chosen)
    for index in (chosen, *(i for i in range(1, len(found.ways)) if i != chosen)):
        way = found.ways[index]
        ours, theirs, ratio, spread = compare(found.times, 0, index)
        end = "" if index == chosen else f"-{way.way}-{way.sender}" + (f"-{way.chunk}" if way.chunk else "")
        yield Row(
            id=f"copy-message-{found.bytes}{until}{end}",
            what=f"message of {size_text(found.bytes)}{' and reading it' if found.read else ''}, "
            + ("chosen: " if index == chosen else "")
            + f"{way.name}, {apart_text(found)}",
            unit="ns",
            ours=ours,
            rival=found.ways[0].name,
            theirs=theirs,
            floor=round(found.floor, 1),
            ratio=ratio,
            spread=spread,
            n=len(found.times),
            foreign=round(found.foreign, 4),
        )


# ---- tuning ------------------------------------------------------------------------------------------------


def tune(wanted: Wanted, command: str, progress: Progress) -> CopyTuning:
    """Races of every octave at every alignment, then messages where there are two processors."""
    check(wanted)
    octaves = octaves_of(wanted.sizes) or (QUICK_TUNED_OCTAVES if wanted.quick else TUNED_OCTAVES)
    names = tuple(kernels_here())
    decisions: dict[Choice, Decision] = {}
    with bound_to(wanted.processors[0] if wanted.processors else min(os.sched_getaffinity(0))):
        racer = Racer(2 * max(octaves), wanted.plan, wanted.huge_pages)
        for index, octave in enumerate(octaves):
            for alignment in ALIGNMENTS:
                for audience, decision in decide(racer, octave, alignment, names).items():
                    decisions[audience, alignment, octave] = decision
            progress(0.8 * (index + 1) / len(octaves))
        decisions = confirmed(racer, decisions)
    messages: tuple[MessageTimes, ...] = ()
    if len(_core.usable_processors()) > 1 or wanted.processors:
        messenger = Messenger(*two_processors(wanted.processors), wanted.plan)
        for octave in octaves:
            if octave <= LARGEST_MESSAGE:
                decisions["other", "same", octave] = messenger.audience_other(octave, names)
        progress(0.9)
        sizes = [size for size in MESSAGE_SIZES if size <= 2 * max(octaves)]
        messages = tuple(messenger.run(size, read=False) for size in sizes)
        progress(1.0)
    return CopyTuning(
        host=host_name(),
        who=f"corewise {__version__}",
        when=time.strftime("%Y-%m-%d"),
        command=command,
        rows=rows_of(decisions),
        messages=tuple(each.row() for each in messages),
    )
