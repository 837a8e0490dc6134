"""`corewise bench pack`: paper 004's packing experiment on this host, applications, engines, a tuning.

Joins the launches (`bench_pack_runs`), what is said about them (`bench_pack_rows`) and how it is shown
(`bench_pack_views`). Nothing here prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import bisect
import datetime
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise import __version__
from corewise.analysis.result import Progress
from corewise.bench.pack.rows import Claim, Goal, Row, claims_of, goals_of, losers_of, rows_of
from corewise.bench.pack.runs import (
    FULL,
    PARTS,
    QUICK,
    SETS,
    Effort,
    Setting,
    Study,
    add_round,
    build_for,
    cases_of,
    set_of,
    settings_of,
    study,
)
from corewise.data.copy_hosts import host_name
from corewise.data.packing_hosts import processor_name
from corewise.data.packing_tuning import LINES, PackingRow, PackingTuning
from corewise.errors import InputError, RunError

ALL = "all"
AGAIN = 3
"""So many times the rounds for cases that were slower than without the library."""
GRID = Effort(5, 0.4, 1, True)
QUICK_GRID = Effort(3, 0.2, 0, True)
_SETS = dict(zip(LINES, ("grid", "sparse"), strict=True))
_LENGTHS = (1 << 18, 1 << 22)
"""Messages shorter than the first are measured in one launch, those from there to the second in another."""
_OF_MESSAGES = {"message": ("send", "receive", "both"), "pack": ("pack",), "unpack": ("unpack",)}
_OF_ENGINE = {"send": ("send", "both"), "receive": ("receive",), "pack": ("pack",), "unpack": ("unpack",)}
"""Directions that must all win for a use. Open MPI's engine has our loops: each side decides for itself."""


@dataclass(frozen=True)
class BenchResult:
    """Everything one `corewise bench pack` measured.

    Attributes
    ----------
    machine : str
        The host's processor.
    studies : tuple of Study
        Per setting and part.
    rows : tuple of Row
        A row per case and direction.
    claims : tuple of Claim
        The paper's statements, per setting.
    goals : tuple of Goal
        What the rows say together, per setting.
    """

    machine: str
    studies: tuple[Study, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    goals: tuple[Goal, ...]

    @property
    def loudest(self) -> float:
        """The largest share of the processors that other programs had during a launch that counted."""
        return max(launch.foreign for each in self.studies for launch in each.launches())


def parts_of(wanted: str) -> tuple[str, ...]:
    """The parts of ``--cases``."""
    if wanted == ALL:
        return SETS
    if wanted not in SETS:
        raise InputError(f"--cases: found '{wanted}', allowed: {', '.join((*SETS, ALL))}")
    return (wanted,)


def run_bench(
    *,
    mpi: str = "both",
    parts: Sequence[str] = SETS,
    quick: bool = False,
    rounds: int | None = None,
    knob_of: Callable[[Setting], str] = lambda _: "",
    effort: Effort | None = None,
    cases: Sequence[str] = (),
    progress: Progress | None = None,
) -> BenchResult:
    """Measures and assembles.

    Parameters
    ----------
    mpi : ``both``, ``openmpi``, ``mpich``, a prefix or a launcher.
    parts : keys of `corewise.bench.pack.runs.PARTS`.
    quick : fewer rounds and cases.
    rounds : in place of what `quick` says.
    knob_of : COREWISE_PACKING for a setting's launches with the library; empty: its default.
    effort : in place of what `quick` says.
    cases : only these.
    progress : told the share that is done.
    """
    settings = settings_of(mpi)
    wanted = effort or (QUICK if quick else FULL)
    if rounds is not None:
        wanted = replace(wanted, rounds=rounds)
    knobs = [knob_of(each) for each in settings]
    studies = _studies(settings, parts, wanted, knobs, cases, progress)
    return BenchResult(
        host_name(),
        tuple(studies),
        tuple(row for each in studies for row in rows_of(each, processor_name())),
        tuple(claim for each in studies for claim in claims_of(each)),
        tuple(goal for each in studies for goal in goals_of(each)),
    )


def _counter(steps: int, progress: Progress | None) -> Callable[[], None]:
    """What is told after each of some launches, and tells the share that is done."""
    done = 0

    def advance() -> None:
        nonlocal done
        done = min(done + 1, steps)  # a round that is done again is no progress
        if progress is not None:
            progress(done / steps)

    return advance


def _studies(
    settings: Sequence[Setting],
    parts: Sequence[str],
    effort: Effort,
    knobs: Sequence[str],
    cases: Sequence[str],
    progress: Progress | None,
) -> list[Study]:
    advance = _counter(len(settings) * len(parts) * effort.rounds * 2, progress)
    found = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        libraries = {setting.mpi.library: setting.mpi for setting in settings}
        programs = {library: build_for(mpi, Path(name)) for library, mpi in libraries.items()}
        for part in parts:
            for setting, knob in zip(settings, knobs, strict=True):
                chosen = [each for each in cases if set_of(each) in PARTS[part].sets]
                if cases and not chosen:
                    continue
                program = programs[setting.mpi.library]
                measured = study(
                    setting, part, effort, program, knob=knob, cases=chosen, advance=advance
                ).steady()
                if losers := losers_of(measured):
                    longer = replace(effort, rounds=AGAIN * effort.rounds)
                    measured.again = study(setting, part, longer, program, knob=knob, cases=losers).steady()
                found.append(measured)
    return found


# ---- tuning ----------------------------------------------------------------------------------------------


def tune(
    *,
    mpi: str,
    quick: bool = False,
    command: str,
    effort: Effort | None = None,
    cases: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[tuple[str, PackingTuning]]:
    """Measures what the library should take over: a run that packs everything beside one without the library.

    Parameters
    ----------
    mpi, progress : as `run_bench`.
    quick : fewer rounds.
    command : the command line, for the file.
    effort, cases : in place of what is usual.

    Yields
    ------
    (str, PackingTuning)
        The setting's name, as tunings call it, and its tuning.
    """
    settings = settings_of(mpi)
    wanted = effort or (QUICK_GRID if quick else GRID)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        for index, setting in enumerate(settings):
            program = build_for(setting.mpi, Path(name))
            groups = _by_length(cases or cases_of(setting, "grid", program, quick=wanted.quick))
            advance = _counter(2 * wanted.rounds * len(groups), _part_of(progress, index, len(settings)))
            studies = [Study(setting, "grid") for _ in groups]
            for turn in range(wanted.rounds):
                for measured, group in zip(studies, groups, strict=True):
                    add_round(
                        measured, wanted, program, knob="always", cases=group, turn=turn, advance=advance
                    )
            yield (
                setting.name,
                PackingTuning(
                    processor=processor_name(),
                    host=host_name(),
                    mpi=f"{setting.name} {setting.mpi.version}",
                    who=f"corewise {__version__}",
                    when=datetime.date.today().isoformat(),
                    command=command,
                    rows=tuple(tuning_rows(*(each.steady() for each in studies))),
                ),
            )


def _part_of(progress: Progress | None, index: int, count: int) -> Progress | None:
    """The progress of one of several works."""
    return None if progress is None else lambda done: progress((index + done) / count)


def _by_length(cases: Iterable[str]) -> list[list[str]]:
    """Cases whose messages take about as long together: short launches, during which the cores stay."""
    groups: dict[int, list[str]] = {}
    for case in cases:
        groups.setdefault(bisect.bisect(_LENGTHS, _grid(case)[0]), []).append(case)
    return list(groups.values())


def tuning_rows(*studies: Study) -> list[PackingRow]:
    """The rows that measurements of the grid say, by use and shape; each study has its own cases."""
    by_case = {case: each for each in studies for case in each.names()}
    if not by_case:
        raise RunError("--tune: nothing was measured")
    uses = _OF_ENGINE if studies[0].setting.name == "openmpi" else _OF_MESSAGES
    rows = []
    for use, directions in uses.items():
        for lines in LINES:
            cases = [case for case in by_case if case.startswith(f"{_SETS[lines]}/")]
            for case in sorted(cases, key=_grid):
                ratio, low = min(_won_by(by_case[case], case, each) for each in directions)
                rows.append(PackingRow(use, lines, *_grid(case), ratio, low))
    return rows


def _won_by(measured: Study, case: str, direction: str) -> tuple[float, float]:
    """Median and lower quartile of the ratios beside what the program has without the library."""
    ratios = measured.ratios(case, direction, "mpi-pack" if direction in ("pack", "unpack") else "datatype")
    low = statistics.quantiles(ratios, n=4, method="inclusive")[0] if len(ratios) > 1 else ratios[0]
    return round(statistics.median(ratios), 3), round(low, 3)


def _grid(case: str) -> tuple[int, int]:
    """Bytes of the message and of a run."""
    _, size, run = case.split("/")
    return int(size), int(run)
