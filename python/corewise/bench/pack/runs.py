"""Launches of apps/packing for `corewise bench pack`: built per MPI, in turns, gated by what others do.

A round launches the program without and with the packing library, one after the other; which is first
changes from round to round. The program takes its own ways in turns. In mapped memory ours are ways of the
program itself, which is linked with the copies of room kernels (bench/pack), and a round is one launch. A
launch during which other programs took more than `FOREIGN_LIMIT` of the processors is done again, a few times
at most; the quietest one counts, and says how quiet it was. A round is done again, too, where its launches
saw cores at different distances: a hypervisor may move virtual processors apart, and what crosses between
them then takes longer.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corewise.base import late
from corewise.errors import RunError

with late.imports():
    from corewise.analysis.result import Progress
    from corewise.bench.mpis import newest, output_of
    from corewise.bench.noise import FOREIGN_LIMIT, best_of
    from corewise.bench.processors import two_cores
    from corewise.bench.programs import PACKING_CORE, Program
    from corewise.bench.rows import Listener
    from corewise.mpi import build, find, launch
    from corewise.mpi.programs import build_program, sources_of

DISTANCE_LIMIT = 1.5
"""Latencies from core to core of a round's launches may differ so much; above it the round is repeated."""
NEAR_NS = 50.0
"""Latencies count as no less: that of one core to another is seen so, or three times as short, at times."""
LIMIT_S = 900
"""A launch that takes longer is an error."""
HANDS = ("assignment", "memcpy", "memcpy-prefetch")
"""The paper's three ways of packing by hand."""
WAYS = ("contiguous", "datatype", "mpi-pack", "loop", *HANDS, "manual")
STRAIGHT = ("straight", "halves")
"""Ours where items are mapped: the receiver copies from the sender's items to its own; each copies a half."""
ALONE = ("pack", "unpack")
"""Directions in which nothing is sent."""
MAPPED = "mapped"
"""The part, and the direction, in which both ranks map the items."""


@dataclass(frozen=True)
class Setting:
    """An MPI as it is used, and what the ranks' environment gets for it.

    The name is ``openmpi``, ``mpich``, or ``mpich-no-cma``: copies through shared memory instead of from
    process to process.
    """

    name: str
    mpi: find.MpiLibrary
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.mpi.name} {self.mpi.version}" + (", CMA off" if self.variables else "")


@dataclass(frozen=True)
class Part:
    """What the program is told in a round.

    The ways are the same with the library as without it: what the way before left in the caches moves a
    result by up to a tenth.
    """

    sets: tuple[str, ...]
    directions: tuple[str, ...]
    ways: tuple[str, ...] = WAYS

    @property
    def straight(self) -> bool:
        """Whether ours is a way of the program, and not the library."""
        return STRAIGHT[0] in self.ways


PARTS: dict[str, Part] = {
    "paper": Part(("constant", "elements"), ("send", "receive", "both")),
    "columns": Part(("columns",), ("both",)),
    "applications": Part(("applications",), ("both",)),
    "mpi-pack": Part(("constant",), ALONE, ("mpi-pack", "loop")),
    MAPPED: Part((MAPPED,), (MAPPED,), (*WAYS, *STRAIGHT)),
    "grid": Part(
        ("grid", "sparse"),
        ("send", "receive", "both", *ALONE),
        ("contiguous", "datatype", "mpi-pack"),
    ),
}
"""What each of ``--cases`` measures; ``grid`` is what ``--tune`` does."""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Launches without and with the library, each; about how long a way of a case is timed in one; how often a
    loud launch is done again, at most; whether there are fewer cases; so many times the rounds for cases that
    lost to the run without the library, then for those that lost again.
    """

    rounds: int
    budget_ms: float
    repeats: int
    quick: bool
    again: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launch:
    """One launch: ns by case, direction and way; the share of the processors that others had meanwhile.

    The latencies from core to core, ns, were measured before and after the times.
    """

    times: Mapping[tuple[str, str, str], float]
    foreign: float
    latencies: tuple[float, ...] = ()


def distance(launches: Iterable[Launch]) -> float:
    """The largest over the smallest latency that launches saw; 1 where they say nothing of it.

    Those up to `NEAR_NS` count as that.
    """
    seen = [max(latency, NEAR_NS) for each in launches for latency in each.latencies if latency > 0]
    return max(seen) / min(seen) if seen else 1.0


# ---- settings --------------------------------------------------------------------------------------------


def settings_of(wanted: str) -> list[Setting]:
    """The newest MPI of each name for ``both``, or one; MPICH with copies between processes and without."""
    settings = []
    for mpi in newest(None if wanted == "both" else wanted):
        settings.append(Setting(mpi.name, mpi))
        if mpi.name == "mpich":
            settings.append(Setting("mpich-no-cma", mpi, {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}))
    return settings


# ---- launches --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runner:
    """Launches apps/packing (`build_for`, `build_straight`) under one setting.

    The knobs are COREWISE_PACKING for each launch of a round with the library; empty for its default.
    """

    setting: Setting
    effort: Effort
    program: Path
    knobs: tuple[str, ...] = ("",)

    def rounds(self, part: str, cases: Sequence[str], progress: Progress) -> Iterator[tuple[Launch, ...]]:
        """As many as the effort says; `cases`: only these, e.g. ``constant/64``."""
        for turn in range(self.effort.rounds):
            yield self.round(part, cases, turn)
            progress((turn + 1) / self.effort.rounds)

    def round(self, part: str, cases: Sequence[str], turn: int) -> tuple[Launch, ...]:
        """A launch without the library and those with it, or the only one; `turn` says which round it is."""
        words, effort = PARTS[part], self.effort
        command = ["--set", ",".join(words.sets), "--directions", ",".join(words.directions)]
        command += ["--budget", f"{effort.budget_ms:g}", *(["--quick"] if effort.quick else [])]
        command += ["--cases", ",".join(cases)] if cases else []
        command += ["--ways", ",".join(words.ways), *(["--check"] if turn == 0 else [])]
        if (processors := two_cores(os.sched_getaffinity(0))) is not None:
            command += ["--cpus", ",".join(map(str, processors))]
        launches: list[dict[str, str]] = [{}]
        if not words.straight:
            library = {"LD_PRELOAD": str(build.build_packing(self.setting.mpi))}
            launches += [library | ({"COREWISE_PACKING": knob} if knob else {}) for knob in self.knobs]
        runs = [functools.partial(self._quiet, command, variables) for variables in launches]
        return steady_round(runs, effort.repeats, backwards=turn % 2 == 1)

    def cases(self, part: str) -> list[str]:
        """The program's cases of a part."""
        words = ["--set", ",".join(PARTS[part].sets), "--list", *(["--quick"] if self.effort.quick else [])]
        return re.findall(r"^case (\S+)$", self._output(words, {}), re.M)

    def _quiet(self, words: Sequence[str], variables: Mapping[str, str]) -> Launch:
        return best_of(
            lambda: parse(self._output(words, variables)),
            self.effort.repeats,
            lambda found: found.foreign,
            FOREIGN_LIMIT,
        )

    def _output(self, words: Sequence[str], variables: Mapping[str, str]) -> str:
        plan = launch.plan([str(self.program), *words], ranks=2, mpi=str(self.setting.mpi.launcher))
        command = plan.with_environment({**self.setting.variables, **variables})
        return output_of(command, launch.environment(plan), limit_s=LIMIT_S)


def build_for(mpi: find.MpiLibrary, folder: Path) -> Path:
    """apps/packing, optimised for this host, so that the loops written by hand are worthy rivals."""
    fast = replace(mpi, compile_flags=("-O3", "-march=native", *mpi.compile_flags))
    return build_program(fast, "packing", folder)


def build_straight(mpi: find.MpiLibrary) -> Path:
    """The same with the ways `STRAIGHT` (bench/pack), from the cache where it is there."""
    sources = sources_of("packing")
    flags = ("-march=native", f"-I{sources[0].parent}")
    program = Program("pack", "packing", ("straight.cpp", *map(str, sources)), PACKING_CORE, flags, mpi=mpi)
    return program.build(Listener())


def steady_round(
    runs: Sequence[Callable[[], Launch]], repeats: int, *, backwards: bool = False
) -> tuple[Launch, ...]:
    """One launch of each, done again while the cores' distance changed meanwhile.

    At most so many times; the round whose latencies differ least counts. Backwards: the last one is launched
    first; the order of the result stays.
    """
    step = -1 if backwards else 1
    return best_of(lambda: tuple([run() for run in runs[::step]][::step]), repeats, distance, DISTANCE_LIMIT)


_TIME = re.compile(r"^time case=(\S+) direction=(\S+) way=(\S+) .*\bmedian_ns=(\d+)", re.M)
_MACHINE = re.compile(r"^machine seconds=[\d.]+ foreign=([\d.]+) latency_ns=(\d+),(\d+)$", re.M)


def parse(text: str) -> Launch:
    """What apps/packing prints."""
    times = {(case, direction, way): float(ns) for case, direction, way, ns in _TIME.findall(text)}
    machine = _MACHINE.search(text)
    if not times or machine is None:
        raise RunError(f"packing: its output cannot be read:\n{text[-1500:]}")
    return Launch(times, float(machine[1]), (float(machine[2]), float(machine[3])))
