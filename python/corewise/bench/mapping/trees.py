"""Mappings onto trees by corewise, Scotch, SharedMap and KaHIP: weighted distance J, and CPU time.

Every contestant is a file of ``bench/mapping`` and runs as a program of its own, on one core, all in turn.
Timed is CPU time inside the program, without reading and printing. Validity (every rank on a unit of its own)
is checked before a cost is looked at: an invalid mapping never counts, whatever its J. A rival stands for the
best valid mapping over its variants and seeds, with the median time of the variant that found it; corewise
for its median over the same seeds.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from corewise.bench.mapping.problems import Problem
from corewise.bench.mpis import output_of
from corewise.bench.peers import KAHIP, SCOTCH, SHAREDMAP, Peer
from corewise.bench.programs import Program, folder_of, has_header
from corewise.bench.rounds import alone, in_turns, rounded
from corewise.bench.rows import Listener, Row
from corewise.errors import RunError

EFFORTS = ("1", "4")
"""Of corewise."""
CORE = (
    "pattern/pattern.cpp",
    *(
        f"place/distance/{name}.cpp"
        for name in ("distance", "multilevel", "multilevel_graph", "multilevel_swaps")
    ),
)
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_SCOTCH_INCLUDE = "-I/usr/include/scotch"
_WHEELS = {SHAREDMAP: ("sharedmap", "chszlablib"), KAHIP: ("kahip", "kahip")}
"""A peer's file, and the module of its wheel."""


@dataclass(frozen=True)
class Contestant:
    """One variant of a tool: the command that maps a problem, without problem and seed."""

    tool: str
    variant: str
    command: tuple[str, ...]

    def run(self, problem: Path, seed: int) -> tuple[float, list[int]]:
        """CPU seconds and the unit of every rank."""
        command = [*self.command, str(problem), self.variant, str(seed)]
        cpu_s, *units = output_of(command, {**os.environ, **_ENVIRONMENT}).split()
        return float(cpu_s), [int(unit) for unit in units]


@dataclass
class Outcomes:
    """What one variant did on one problem."""

    costs: list[int] = field(default_factory=list)  # of valid mappings
    times_s: list[float] = field(default_factory=list)
    invalid: int = 0

    def add(self, problem: Problem, cpu_s: float, unit_of_rank: list[int]) -> None:
        """Validity first: the cost of an invalid mapping is not even computed."""
        self.times_s.append(cpu_s)
        if problem.is_valid(unit_of_rank):
            self.costs.append(problem.cost(unit_of_rank))
        else:
            self.invalid += 1


def has_module(python: str, module: str) -> bool:
    """Whether that Python has the peer's wheel; it is not imported."""
    code = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0


def ours(listener: Listener) -> list[Contestant]:
    """corewise, by its efforts."""
    made = Program("mapping", "multilevel_mapping", ("multilevel_mapping.cpp",), CORE)
    program = str(made.build(listener))
    return [Contestant("corewise", effort, (program,)) for effort in EFFORTS]


def scotch(listener: Listener) -> list[Contestant]:
    """Its strategies; none where its headers are not here."""
    if not has_header("scotch.h", "-include", "cstdio", _SCOTCH_INCLUDE):
        return []
    flags, libraries = (_SCOTCH_INCLUDE,), ("-lscotch", "-lscotcherr", "-lm")
    made = Program("mapping", "scotch_mapping", ("scotch_mapping.c",), flags=flags, libraries=libraries)
    program = str(made.build(listener))
    return [Contestant("scotch", variant, (program,)) for variant in ("default", "balance")]


def wheel(peer: Peer, python: str) -> list[Contestant]:
    """The modes of a peer that is a wheel; none where that Python does not have it."""
    tool, module = _WHEELS[peer]
    if not has_module(python, module):
        return []
    command = (python, str(folder_of("mapping") / f"{tool}_mapping.py"))
    return [Contestant(tool, variant, command) for variant in ("fast", "strong")]


def contestants(python: str, listener: Listener) -> tuple[list[Contestant], list[Peer]]:
    """Those that are here, and the peers that are not."""
    peers = {SCOTCH: scotch(listener), **{peer: wheel(peer, python) for peer in _WHEELS}}
    found = [contestant for each in peers.values() for contestant in each]
    return [*ours(listener), *found], [peer for peer, each in peers.items() if not each]


def measure(problem: Problem, runners: Sequence[Contestant], seeds: int) -> dict[Contestant, Outcomes]:
    """All of them with every seed."""
    outcomes = {runner: Outcomes() for runner in runners}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.txt"
        problem.write(path)
        for seed in range(1, seeds + 1):
            runs = {str(index): partial(runner.run, path, seed) for index, runner in enumerate(runners)}
            for index, (cpu_s, units) in in_turns(runs, 1)[0].items():
                outcomes[runners[int(index)]].add(problem, cpu_s, units)
    return outcomes


def pair_of_rows(
    case: str, effort: str, mine: Outcomes, tool: str, variants: Mapping[str, Outcomes]
) -> list[Row]:
    """J and time of one of our efforts beside one tool; without variants alone."""
    valid = {variant: each for variant, each in variants.items() if each.costs}
    best = min(
        valid,
        key=lambda name: (min(valid[name].costs), statistics.median(valid[name].times_s)),
        default=None,
    )
    tried = sum(len(each.times_s) for each in variants.values())
    invalid = sum(each.invalid for each in variants.values())
    end = f"{case}-effort-{effort}" + (f"-{tool}" if tool else "")
    cost = Row(
        f"mapping-J-{end}",
        f"weighted distance of {case}, effort {effort}; theirs: best valid",
        "J",
        None,
        more={"ours_best": min(mine.costs), "rival_invalid": f"{invalid} of {tried}"},
    )
    spent = Row(f"mapping-time-{end}", f"CPU time of mapping {case}, effort {effort}", "ms", None)
    made = [alone(cost, mine.costs), alone(spent, [1e3 * each for each in mine.times_s])]
    if not tool:
        return made
    rival = tool if best is None else f"{tool} {best}"
    theirs: list[float | None] = [None, None]
    if best is not None:
        theirs = [float(min(valid[best].costs)), 1e3 * statistics.median(valid[best].times_s)]
    return [_with_rival(row, rival, value) for row, value in zip(made, theirs, strict=True)]


def _with_rival(row: Row, rival: str, theirs: float | None) -> Row:
    if theirs is None or not row.ours:
        return replace(row, rival=rival)
    return replace(row, rival=rival, theirs=rounded(theirs), ratio=rounded(theirs / row.ours))


def rows_of(case: str, outcomes: Mapping[Contestant, Outcomes]) -> list[Row]:
    """Every effort of ours beside every tool."""
    tools = list(dict.fromkeys(runner.tool for runner in outcomes if runner.tool != "corewise"))
    found = []
    for mine, outcome in outcomes.items():
        if mine.tool != "corewise":
            continue
        if outcome.invalid:
            raise RunError(f"bench mapping: {case}: corewise itself gave an invalid mapping")
        for tool in tools or [""]:
            variants = {runner.variant: each for runner, each in outcomes.items() if runner.tool == tool}
            found += pair_of_rows(case, mine.variant, outcome, tool, variants)
    return found


def rows(
    problems: Mapping[str, Problem], seeds: int, python: str, listener: Listener
) -> tuple[list[Row], list[Peer]]:
    """Every problem, and who is absent."""
    runners, absent = contestants(python, listener)
    found: list[Row] = []
    for index, (name, problem) in enumerate(problems.items()):
        found += rows_of(name, measure(problem, runners, seeds))
        listener.progress((index + 1) / len(problems))
    return found, absent
