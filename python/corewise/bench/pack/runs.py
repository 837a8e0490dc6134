"""Runs of apps/packing for `corewise bench pack`: built per MPI, in turns, gated by what others do meanwhile.

A round launches the program without and with the packing library, one after the other; which is first
changes from round to round. The program takes its own ways in turns. A launch during which other programs
took more than `FOREIGN_LIMIT` of the processors is done again, a few times at most; the quietest one
counts, and says how quiet it was. A round is done again, too, where its launches saw cores at different
distances: a hypervisor may move virtual processors apart, and what crosses between them then takes longer.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corewise.analysis.spread import Spread, spread_of
from corewise.errors import InputError, RunError
from corewise.mpi import build, find, launch
from corewise.mpi.programs import build_program

FOREIGN_LIMIT = 0.03
"""Share of the processors' time above which a launch is repeated, or marked."""
DISTANCE_LIMIT = 1.5
"""Latencies from core to core of a round's launches may differ so much; above it the round is repeated."""
NEAR_NS = 50.0
"""Latencies count as no less: that of one core to another is seen so, or three times as short, at times."""
HANDS = ("assignment", "memcpy", "memcpy-prefetch")
"""The paper's three ways of packing by hand."""
PLAIN_WAYS = ("contiguous", "datatype", "mpi-pack", "loop", *HANDS, "manual")
LIBRARY_WAYS = ("contiguous", "datatype")
FLOOR = "contiguous"
"""The way that arranges nothing."""
OURS = "ours"
_ALONE = ("pack", "unpack")
_TOPOLOGY = Path("/sys/devices/system/cpu")

Key = tuple[str, str, str]
"""Case, direction and way, e.g. ``("constant/64", "both", "loop")``."""


@dataclass(frozen=True)
class Setting:
    """An MPI as it is used.

    Attributes
    ----------
    name : str
        ``openmpi``, ``mpich``, or ``mpich-no-cma``: copies through shared memory instead of from process to
        process.
    mpi : MpiLibrary
    variables : mapping
        What the ranks' environment gets.
    """

    name: str
    mpi: find.MpiLibrary
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """For people."""
        switched = "" if not self.variables else ", CMA off"
        return f"{self.mpi.name} {self.mpi.version}{switched}"


@dataclass(frozen=True)
class Part:
    """One launch of a round: what the program is told, without and with the library."""

    sets: tuple[str, ...]
    directions: tuple[str, ...]
    plain_ways: tuple[str, ...] = PLAIN_WAYS
    library_ways: tuple[str, ...] = LIBRARY_WAYS


PARTS: dict[str, Part] = {
    "paper": Part(("constant", "elements"), ("send", "receive", "both")),
    "columns": Part(("columns",), ("both",)),
    "applications": Part(("applications",), ("both",)),
    "mpi-pack": Part(("constant",), _ALONE, ("mpi-pack", "loop"), ("mpi-pack", "loop")),
    "grid": Part(
        ("grid", "sparse"),
        ("send", "receive", "both", *_ALONE),
        ("contiguous", "datatype", "mpi-pack"),
        ("contiguous", "datatype", "mpi-pack"),
    ),
}
"""What each set of `corewise bench pack` measures; ``grid`` is what ``--tune`` does."""
SETS = ("paper", "columns", "applications", "mpi-pack")


def set_of(case: str) -> str:
    """The program's set that a case is of: its first word, or that of the applications, ``mg_x/34``."""
    word = case.split("/")[0]
    return word if any(word in part.sets for part in PARTS.values()) else "applications"


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    rounds : int
        Launches without and with the library, each.
    budget_ms : float
        About how long a way of a case is timed in a launch.
    repeats : int
        How often a loud launch is done again, at most.
    quick : bool
        Fewer cases.
    limit_s : float
        A launch that takes longer is an error.
    """

    rounds: int
    budget_ms: float
    repeats: int
    quick: bool
    limit_s: float = 900


FULL = Effort(5, 2.5, 2, False)
QUICK = Effort(2, 0.5, 0, True)


@dataclass(frozen=True)
class Time:
    """One way of one case in one launch, ns; the quartiles are those of its steps."""

    bytes: int
    median: float
    low: float
    high: float
    count: int


@dataclass
class Launch:
    """One launch: its times, the share of the processors that others had, and latencies from core to core.

    The latencies, ns, were measured before and after the times.
    """

    times: dict[Key, Time]
    foreign: float
    latencies: tuple[float, ...] = ()


def distance(launches: Iterable[Launch]) -> float:
    """The largest over the smallest latency that launches saw; 1 where they say nothing of it.

    Those up to `NEAR_NS` count as that.
    """
    seen = [max(latency, NEAR_NS) for each in launches for latency in each.latencies if latency > 0]
    return max(seen) / min(seen) if seen else 1.0


@dataclass
class Study:
    """Every launch of one setting and one part; how many rounds `steady` left out; what was done again."""

    setting: Setting
    part: str
    plain: list[Launch] = field(default_factory=list)
    library: list[Launch] = field(default_factory=list)
    left_out: int = 0
    again: Study | None = None

    def of(self, case: str) -> Study:
        """Where a case was measured: here, or once more and longer."""
        return self.again if self.again is not None and case in self.again.names() else self

    def names(self) -> set[str]:
        """Of the cases."""
        return {case for case, _ in self.cases()}

    def cases(self) -> list[tuple[str, str]]:
        """Cases and directions in the order of the program."""
        return list(dict.fromkeys((case, direction) for case, direction, _ in self.plain[0].times))

    def ways(self, case: str, direction: str) -> list[str]:
        """What was measured without the library."""
        return [way for each, towards, way in self.plain[0].times if (each, towards) == (case, direction)]

    def bytes_of(self, case: str) -> int:
        """Data bytes of a case's message."""
        return next(time.bytes for (name, _, _), time in self.plain[0].times.items() if name == case)

    def rounds(self, case: str, direction: str, way: str) -> list[float]:
        """Medians by round, ns; `OURS` is the unmodified program with the library."""
        if way != OURS:
            return [launch.times[case, direction, way].median for launch in self.plain]
        own = "mpi-pack" if direction in _ALONE else "datatype"
        return [launch.times[case, direction, own].median for launch in self.library]

    def time(self, case: str, direction: str, way: str) -> Spread:
        """Median over rounds, ns."""
        return spread_of(self.rounds(case, direction, way))

    def best(self, case: str, direction: str, ways: Iterable[str]) -> str:
        """The quickest of some ways, by median over rounds."""
        had = set(self.ways(case, direction))
        return min(
            (way for way in ways if way in had), key=lambda way: self.time(case, direction, way).median
        )

    def ratios(self, case: str, direction: str, way: str) -> list[float]:
        """Time of a way over ours, round by round: above 1 where we are quicker.

        Rounds in which the cores were not as far apart in both launches are left out (`steady`). Dividing by
        what contiguous messages took meanwhile, a tenth up or down by itself, made ratios less certain.
        """
        pairs = zip(self.rounds(case, direction, way), self.rounds(case, direction, OURS), strict=True)
        return [theirs / ours for theirs, ours in pairs]

    def ratio(self, case: str, direction: str, way: str) -> Spread:
        """Over the rounds."""
        return spread_of(self.ratios(case, direction, way))

    def drift(self) -> Spread | None:
        """Contiguous messages with the library over without: 1 where nothing changed between launches."""
        shared = [key for key in self.plain[0].times if key[2] == "contiguous"]
        if not shared:
            return None
        pairs = zip(self.plain, self.library, strict=True)
        return spread_of([b.times[key].median / a.times[key].median for a, b in pairs for key in shared])

    def steady(self) -> Study:
        """The rounds in which both launches saw the cores as far apart; all of them where none did."""
        pairs = list(zip(self.plain, self.library, strict=True))
        kept = [pair for pair in pairs if distance(pair) <= DISTANCE_LIMIT] or pairs
        plain, library = map(list, zip(*kept, strict=True))
        return Study(self.setting, self.part, plain, library, left_out=len(pairs) - len(kept))

    def launches(self) -> list[Launch]:
        """All of them."""
        return [*self.plain, *self.library, *(self.again.launches() if self.again is not None else ())]


# ---- settings --------------------------------------------------------------------------------------------


def settings_of(wanted: str) -> list[Setting]:
    """The MPIs to measure: the newest of each name, MPICH with and without copies from process to process.

    Parameters
    ----------
    wanted : ``both``, or what `corewise.mpi.find.find` takes.
    """
    if wanted == "both":
        newest = [_newest(name) for name in ("openmpi", "mpich")]
        libraries = [each for each in newest if each is not None]
        if not libraries:
            raise InputError(f"--mpi both: no MPI found; found here: {find.found_here()}")
    else:
        libraries = [_newest(wanted) or find.find(wanted)]
    settings = []
    for mpi in libraries:
        settings.append(Setting(mpi.name, mpi))
        if mpi.name == "mpich":
            settings.append(Setting("mpich-no-cma", mpi, {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}))
    return settings


def _newest(name: str) -> find.MpiLibrary | None:
    def version(mpi: find.MpiLibrary) -> tuple[int, ...]:
        return tuple(int(number) for number in re.findall(r"\d+", mpi.version))

    return max((mpi for mpi in find.find_all() if mpi.name == name), key=version, default=None)


def two_processors(allowed: Sequence[int] | None = None) -> tuple[int, int] | None:
    """Two processors of different cores, of one package where the system says so; None of a single one.

    Parameters
    ----------
    allowed : processors to choose from; None: those of this process.
    """
    processors = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    first = processors[0]
    others = [each for each in processors[1:] if _core(each) != _core(first)] or processors[1:]
    near = [each for each in others if _core(each)[0] == _core(first)[0]] or others
    return (first, near[0]) if near else None


def _core(processor: int) -> tuple[str, str]:
    """Package and core of a processor; its own number where the system does not say."""
    folder = _TOPOLOGY / f"cpu{processor}" / "topology"
    try:
        package = (folder / "physical_package_id").read_text().strip()
        return package, (folder / "core_id").read_text().strip()
    except OSError:
        return "", str(processor)


# ---- launches --------------------------------------------------------------------------------------------


def build_for(mpi: find.MpiLibrary, folder: Path) -> Path:
    """apps/packing, optimised for this host, so that the loops written by hand are worthy rivals."""
    fast = dataclasses.replace(mpi, compile_flags=("-O3", "-march=native", *mpi.compile_flags))
    return build_program(fast, "packing", folder)


def library_variables(mpi: find.MpiLibrary, knob: str = "") -> dict[str, str]:
    """What puts the packing library behind a program; `knob`: COREWISE_PACKING, empty for its default."""
    variables = {"LD_PRELOAD": str(build.build_packing(mpi))}
    return {**variables, "COREWISE_PACKING": knob} if knob else variables


def study(
    setting: Setting,
    part: str,
    effort: Effort,
    program: Path,
    *,
    knob: str = "",
    cases: Sequence[str] = (),
    advance: Callable[[], None] = lambda: None,
) -> Study:
    """Measures one setting and one part.

    Parameters
    ----------
    setting, part, effort : see there; `part` is a key of `PARTS`.
    program : from `build_for`.
    knob : COREWISE_PACKING for the launches with the library.
    cases : only these, e.g. ``constant/64``.
    advance : told after every launch.
    """
    result = Study(setting, part)
    for turn in range(effort.rounds):
        add_round(result, effort, program, knob=knob, cases=cases, turn=turn, advance=advance)
    return result


def add_round(
    result: Study,
    effort: Effort,
    program: Path,
    *,
    knob: str,
    cases: Sequence[str],
    turn: int,
    advance: Callable[[], None],
) -> None:
    """One round more; `turn` says which one, and the others are as `study` has them."""
    setting, words = result.setting, PARTS[result.part]
    variables = library_variables(setting.mpi, knob)
    commands = [
        _command(program, words, ways, effort, cases, check=turn == 0)
        for ways in (words.plain_ways, words.library_ways)
    ]
    pair = [
        functools.partial(_quiet_launch, setting, command, extra, effort, advance)
        for command, extra in zip(commands, ({}, variables), strict=True)
    ]
    plain, library = steady_round(pair, effort.repeats, backwards=turn % 2 == 1)
    result.plain.append(plain)
    result.library.append(library)


def cases_of(setting: Setting, part: str, program: Path, *, quick: bool) -> list[str]:
    """The program's cases of a part."""
    command = [str(program), "--set", ",".join(PARTS[part].sets), "--list", *(["--quick"] if quick else [])]
    return re.findall(r"^case (\S+)$", _output(setting, command, {}, limit_s=Effort.limit_s), re.M)


def steady_round(
    pair: Sequence[Callable[[], Launch]], repeats: int, *, backwards: bool = False
) -> tuple[Launch, ...]:
    """One launch of each, done again while the cores' distance changed meanwhile.

    Parameters
    ----------
    pair : what launches, in the order of the result.
    repeats : how often a round is done again, at most; the round whose latencies differ least counts.
    backwards : whether the last one is launched first.
    """
    best: tuple[Launch, ...] = ()
    for _ in range(repeats + 1):
        order = range(len(pair))[:: -1 if backwards else 1]
        done = {index: pair[index]() for index in order}
        found = tuple(done[index] for index in range(len(pair)))
        if not best or distance(found) < distance(best):
            best = found
        if distance(best) <= DISTANCE_LIMIT:
            break
    return best


def _command(
    program: Path, part: Part, ways: Sequence[str], effort: Effort, cases: Sequence[str], *, check: bool
) -> list[str]:
    command = [str(program), "--set", ",".join(part.sets), "--directions", ",".join(part.directions)]
    command += ["--ways", ",".join(ways), "--budget", f"{effort.budget_ms:g}"]
    if cases:
        command += ["--cases", ",".join(cases)]
    if effort.quick:
        command.append("--quick")
    if check:
        command.append("--check")
    processors = two_processors()
    return [*command, "--cpus", ",".join(map(str, processors))] if processors is not None else command


def _quiet_launch(
    setting: Setting,
    command: Sequence[str],
    variables: Mapping[str, str],
    effort: Effort,
    advance: Callable[[], None],
) -> Launch:
    best = _launch(setting, command, variables, effort.limit_s)
    for _ in range(effort.repeats):
        if best.foreign <= FOREIGN_LIMIT:
            break
        again = _launch(setting, command, variables, effort.limit_s)
        best = min(best, again, key=lambda each: each.foreign)
    advance()
    return best


def _launch(setting: Setting, command: Sequence[str], variables: Mapping[str, str], limit_s: float) -> Launch:
    return parse(_output(setting, command, variables, limit_s))


def _output(setting: Setting, command: Sequence[str], variables: Mapping[str, str], limit_s: float) -> str:
    plan = launch.plan(command, ranks=2, mpi=str(setting.mpi.launcher))
    try:
        done = subprocess.run(
            plan.with_environment({**setting.variables, **variables}),
            env=launch.environment(plan),
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"packing with {setting.title}: not done after {limit_s:g} s") from None
    if done.returncode != 0:
        raise RunError(
            f"packing with {setting.title}: exit status {done.returncode}\n"
            f"{done.stdout[-1500:]}{done.stderr[-1500:]}"
        )
    return done.stdout


_TIME = re.compile(
    r"^time case=(\S+) direction=(\S+) way=(\S+) bytes=(\d+) n=(\d+) "
    r"median_ns=(\d+) low_ns=(\d+) high_ns=(\d+)$",
    re.M,
)
_MACHINE = re.compile(r"^machine seconds=[\d.]+ foreign=([\d.]+)(?: latency_ns=([\d,]+))?$", re.M)


def parse(text: str) -> Launch:
    """What apps/packing prints."""
    times = {
        (case, direction, way): Time(int(size), float(median), float(low), float(high), int(count))
        for case, direction, way, size, count, median, low, high in _TIME.findall(text)
    }
    machine = _MACHINE.search(text)
    if not times or machine is None:
        raise RunError(f"packing: its output cannot be read:\n{text[-1500:]}")
    latencies = tuple(float(number) for number in (machine[2] or "").split(",") if number)
    return Launch(times, float(machine[1]), latencies)
