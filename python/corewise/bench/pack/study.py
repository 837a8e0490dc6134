"""`corewise bench pack`: paper 004's packing experiment on this host, applications, engines, a tuning.

Joins the launches (`runs`), what is said about them (`rows`) and how it is shown (`views`). Nothing here
prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import bisect
import datetime
import math
import operator
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise import __version__
from corewise.base import late
from corewise.bench.pack.runs import ALONE, MAPPED, PARTS, Effort
from corewise.data.packing_tuning import LINES, TAKEN, TAKEN_ELSEWHERE, USES
from corewise.errors import InputError

with late.imports():
    from corewise.analysis.result import Progress
    from corewise.bench.pack.results import OURS, SENDING, Study, rival_of
    from corewise.bench.pack.rows import Claim, Goal, claims_of, goals_of, losers_of, rows_of
    from corewise.bench.pack.runs import Runner, Setting, build_for, build_straight, settings_of
    from corewise.bench.rows import Row
    from corewise.data.copy_hosts import host_name
    from corewise.data.packing_tuning import PackingRow, PackingTuning
    from corewise.data.tuned_hosts import processor_name

ALL = "all"
SETS = ("paper", "columns", "applications", "mpi-pack")
"""What `ALL` measures: the packing library."""
MORE_SETS = (MAPPED,)
AGAIN = (3, 9)
"""Of `FULL`: of some hundred cases that are left to the MPI a few lose by chance."""
FULL, QUICK = Effort(5, 2.5, 2, False, AGAIN), Effort(2, 0.5, 0, True)
GRID, QUICK_GRID = Effort(5, 0.4, 1, True), Effort(3, 0.2, 0, True)
_SETS = dict(zip(LINES, ("grid", "sparse"), strict=True))
_LENGTHS = (1 << 18, 1 << 22)
"""Messages shorter than the first are measured in one launch, those from there to the second in another."""
_BIG = 1 << 40
_SENT = ";".join(f"send{lines}={_BIG}:{_BIG}" for lines in ("", ".sparse"))
"""COREWISE_PACKING of a library that packs all that is sent, and nothing else."""


@dataclass(frozen=True)
class BenchResult:
    """Everything one `corewise bench pack` measured: a study per setting and part, and what they say."""

    machine: str
    studies: tuple[Study, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    goals: tuple[Goal, ...]

    @property
    def loudest(self) -> float:
        """The largest share of the processors that other programs had during a launch that counted."""
        return max(launch.foreign for each in self.studies for launch in each.launches())


def result_of(studies: Sequence[Study]) -> BenchResult:
    """What some studies say."""
    return BenchResult(
        host_name(),
        tuple(studies),
        tuple(row for each in studies for row in rows_of(each, processor_name())),
        tuple(claim for each in studies for claim in claims_of(each)),
        tuple(goal for each in studies for goal in goals_of(each)),
    )


def parts_of(wanted: str) -> tuple[str, ...]:
    """The parts of ``--cases``."""
    if wanted == ALL:
        return SETS
    if wanted not in (*SETS, *MORE_SETS):
        raise InputError(f"--cases: found '{wanted}', allowed: {', '.join((*SETS, *MORE_SETS, ALL))}")
    return (wanted,)


def run_bench(
    *,
    mpi: str = "both",
    parts: Sequence[str] = SETS,
    effort: Effort = FULL,
    knob_of: Callable[[Setting], str] = lambda _: "",
    cases: Mapping[str, Sequence[str]] | None = None,
    progress: Progress = lambda share: None,
) -> BenchResult:
    """Measures and assembles.

    Parameters
    ----------
    mpi : ``both``, ``openmpi``, ``mpich``, a prefix or a launcher.
    parts : keys of `corewise.bench.pack.runs.PARTS`.
    effort : how much, e.g. `QUICK`.
    knob_of : COREWISE_PACKING for a setting's launches with the library; empty: its default.
    cases : only these, by part; without a part's, all of them.
    """
    kinds = {PARTS[part].straight for part in parts}
    knobs = [(setting, "" if kinds == {True} else knob_of(setting)) for setting in settings_of(mpi)]
    studies = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        libraries = {setting.mpi.library: setting.mpi for setting, _ in knobs}
        programs = {
            (library, straight): build_straight(mpi) if straight else build_for(mpi, Path(name))
            for library, mpi in libraries.items()
            for straight in kinds
        }
        works = [
            (Runner(setting, effort, programs[setting.mpi.library, PARTS[part].straight], (knob,)), part)
            for part in parts
            for setting, knob in knobs
        ]
        for index, (runner, part) in enumerate(works):
            chosen = (cases or {}).get(part, ())
            studies.append(_study(runner, part, chosen, _share(progress, index, len(works))))
    return result_of(studies)


def _share(progress: Progress, index: int, count: int) -> Progress:
    """The progress of one of several works."""
    return lambda done: progress((index + done) / count)


def _study(runner: Runner, part: str, cases: Sequence[str], progress: Progress) -> Study:
    """A part; what lost in it is measured again, and longer, where the effort says so."""

    def measured(effort: Effort, cases: Sequence[str], progress: Progress) -> Study:
        rounds = replace(runner, effort=effort).rounds(part, cases, progress)
        return Study(runner.setting, part, list(rounds)).steady()

    effort = runner.effort
    found = last = measured(effort, cases, progress)
    for times in effort.again:
        if not (losers := losers_of(last)):
            break
        longer = replace(effort, rounds=times * effort.rounds)
        last.again = measured(longer, losers, lambda share: None)
        last = last.again
    return found


# ---- tuning ----------------------------------------------------------------------------------------------


def tune(
    *,
    mpi: str,
    effort: Effort = GRID,
    command: str,
    cases: Sequence[str] = (),
    progress: Progress = lambda share: None,
) -> Iterator[tuple[str, PackingTuning]]:
    """Measures what the library should take over: a run that packs everything beside one without it.

    On MPICH also one that packs what is sent alone: each side of a message decides for itself, and the MPI
    may be slow where it sends, and not where it receives.

    Parameters are those of `run_bench`, but that cases are of the grid, and the command line for the file.
    Yields the setting's name, as tunings call it, and its tuning.
    """
    settings = settings_of(mpi)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        for index, setting in enumerate(settings):
            knobs = ("always",) if setting.name == "openmpi" else (_SENT, "always")
            runner = Runner(setting, effort, build_for(setting.mpi, Path(name)), knobs)
            rows = _tuning_rows(runner, cases, _share(progress, index, len(settings)))
            yield (
                setting.name,
                PackingTuning(
                    processor=processor_name(),
                    host=host_name(),
                    mpi=f"{setting.name} {setting.mpi.version}",
                    who=f"corewise {__version__}",
                    when=datetime.date.today().isoformat(),
                    command=command,
                    rows=tuple(rows),
                ),
            )


def _tuning_rows(runner: Runner, cases: Sequence[str], progress: Progress) -> list[PackingRow]:
    """Every round goes through all groups, so that what changes slowly disturbs all of them."""
    groups = _by_length(cases or runner.cases("grid"))
    studies = [Study(runner.setting, "grid") for _ in groups]
    for turn in range(runner.effort.rounds):
        for index, group in enumerate(groups):
            studies[index].rounds.append(runner.round("grid", group, turn))
            progress((turn + (index + 1) / len(groups)) / runner.effort.rounds)
    return tuning_rows(*(each.steady() for each in studies))


def _by_length(cases: Iterable[str]) -> list[list[str]]:
    """Cases whose messages take about as long together: short launches, during which the cores stay."""
    groups: dict[int, list[str]] = {}
    for case in cases:
        groups.setdefault(bisect.bisect(_LENGTHS, _grid(case)[0]), []).append(case)
    return list(groups.values())


def tuning_rows(*studies: Study) -> list[PackingRow]:
    """The rows that measurements of the grid say, by use and shape; each study has its own cases.

    Of what a use is held against, a row has the smallest median, and the smallest lower quartile.
    """
    by_case = {case: each for each in studies for case in each.names()}
    rows = []
    for use in USES:
        for lines in LINES:
            cases = [case for case in by_case if case.startswith(f"{_SETS[lines]}/")]
            for case in sorted(cases, key=_grid):
                rows.append(PackingRow(use, lines, *_grid(case), *_won_by(by_case[case], case, use)))
    return rows


def _won_by(measured: Study, case: str, use: str) -> tuple[float, float]:
    """Median and lower quartile of ratios, each the smallest of what a use is held against.

    That is the program without the library. Where both sides are strided, what is received is also held
    against a library that packs what is sent alone, and what is sent is judged with that one where the
    receiver leaves the message to the MPI, or may on another processor (`TAKEN_ELSEWHERE`). Open MPI's engine
    has our loops: what is received stands alone.
    """
    alone, both = (use, rival_of(use), OURS), ("both", rival_of("both"))
    by_engine = measured.setting.name == "openmpi"
    if use in ALONE or (by_engine and use == "receive"):
        return _least(measured, case, alone)
    if use == "receive":
        return _least(measured, case, alone, (*both, OURS), ("both", SENDING, OURS))
    received = (math.inf, math.inf) if by_engine else _won_by(measured, case, "receive")
    packed, always = (all(map(operator.ge, received, least)) for least in (TAKEN, TAKEN_ELSEWHERE))
    others = [(*both, OURS)] if packed else []
    others += [] if always else [(*both, SENDING)]
    return _least(measured, case, alone, *others)


def _least(measured: Study, case: str, *pairs: tuple[str, str, str]) -> tuple[float, float]:
    """Of the ratios of some directions, each a way over one of ours; see `_won_by`."""
    found = [measured.ratios((case, direction), way, ours) for direction, way, ours in pairs]
    lows = [
        statistics.quantiles(each, n=4, method="inclusive")[0] if len(each) > 1 else each[0] for each in found
    ]
    return _stored(min(map(statistics.median, found))), _stored(min(lows))


def _stored(ratio: float) -> float:
    """Four digits of a ratio, however small: a round that was preempted may be thousands of times as long."""
    return float(f"{ratio:.4g}")


def _grid(case: str) -> tuple[int, int]:
    """Bytes of the message and of a run."""
    _, size, run = case.split("/")
    return int(size), int(run)
