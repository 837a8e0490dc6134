"""`corewise bench pack`: paper 004's packing experiment on this host, applications, engines, a tuning.

Joins the launches (`bench_pack_runs`), what is said about them (`bench_pack_rows`) and how it is shown
(`bench_pack_views`). Nothing here prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import bisect
import datetime
import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise import __version__
from corewise.analysis.result import Progress
from corewise.bench.pack.rows import Claim, Goal, Row, claims_of, goals_of, rows_of
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
from corewise.bench.pack.turns import found_turn, turn_launches
from corewise.data.copy_hosts import host_name
from corewise.data.packing_tuning import LINES, PackingRow, PackingTuning, ranges_of
from corewise.errors import InputError, RunError

ALL = "all"
TUNING_GAIN = 1.03
"""A tuning packs where that is at least so many times as fast: what the noise cannot turn round."""
SHARE_WON = 0.75
"""And in at least so many of the rounds."""
FAR_GAIN = 1.3
"""And so many times as fast at the largest measured size, for messages that are larger still."""
GRID = Effort(5, 0.6, 2, False)
QUICK_GRID = Effort(4, 0.3, 1, True)
"""A table in a minute or two."""
_SETS = dict(zip(LINES, ("grid", "sparse"), strict=True))
MOST_BYTES = 1 << 28
"""Larger messages are never packed (``kMostBytes`` of ``preload/packing.hpp``)."""
_LENGTHS = (1 << 18, 1 << 22)
"""Messages shorter than the first are measured in one launch, those from there to the second in another."""
_MESSAGES = ("send", "receive", "both")
_BESIDE: Mapping[str, str] = {"openmpi": "auto"}
"""What a packed message has to beat: on Open MPI the library's loops in the MPI's own engine."""
_TUNED = (
    *((use, "datatype") for use in _MESSAGES),
    *((use, "mpi-pack") for use in ("pack", "unpack")),
)


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
    """The parts of ``--set``."""
    if wanted == ALL:
        return SETS
    if wanted not in SETS:
        raise InputError(f"--set: found '{wanted}', allowed: {', '.join((*SETS, ALL))}")
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
        tuple(row for each in studies for row in rows_of(each)),
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
                measured = study(
                    setting,
                    part,
                    effort,
                    programs[setting.mpi.library],
                    knob=knob,
                    cases=chosen,
                    advance=advance,
                )
                found.append(measured.steady())
    return found


# ---- tuning ----------------------------------------------------------------------------------------------


def tune(
    *,
    mpi: str,
    quick: bool = False,
    command: str,
    variables: Mapping[str, str] | None = None,
    effort: Effort | None = None,
    cases: Sequence[str] = (),
    progress: Progress | None = None,
) -> PackingTuning:
    """Measures what the library should pack: a run that packs everything beside one that does not.

    Parameters
    ----------
    mpi : one MPI, as `corewise.mpi.find.find` takes it; ``both`` is refused.
    quick : fewer rounds and sizes.
    command : the command line, for the file.
    variables : what the ranks' environment gets; None: nothing.
    effort, cases, progress : as `run_bench`.
    """
    if mpi == "both":
        raise InputError(
            "--tune: found --mpi both, allowed: one MPI, a file is for one (--mpi openmpi, --mpi mpich)"
        )
    setting = replace(settings_of(mpi)[0], variables=variables or {})
    wanted = effort or (QUICK_GRID if quick else GRID)
    beside = _BESIDE.get(setting.mpi.name)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        program = build_for(setting.mpi, Path(name))
        groups = _by_length(cases or cases_of(setting, "grid", program, quick=wanted.quick))
        advance = _counter(turn_launches() + 2 * wanted.rounds * len(groups), progress)
        turn = found_turn(setting, program, limit_s=wanted.limit_s, advance=advance)
        always = f"always;rotate={turn.rotate}:{turn.least}"
        studies = [Study(setting, "grid") for _ in groups]
        for index in range(wanted.rounds):
            for measured, group in zip(studies, groups, strict=True):
                add_round(
                    measured,
                    wanted,
                    program,
                    knob=always,
                    beside=beside,
                    cases=group,
                    turn=index,
                    advance=advance,
                )
    return PackingTuning(
        host=host_name(),
        mpi=f"{setting.mpi.name} {setting.mpi.version}",
        who=f"corewise {__version__}",
        when=datetime.date.today().isoformat(),
        command=command,
        rows=tuple(tuning_rows(*(each.steady() for each in studies))),
        rotate=turn.rotate,
        rotate_from=turn.least,
    )


def _by_length(cases: Iterable[str]) -> list[list[str]]:
    """Cases whose messages take about as long together: short launches, during which the cores stay."""
    groups: dict[int, list[str]] = {}
    for case in cases:
        groups.setdefault(bisect.bisect(_LENGTHS, _grid(case)[0]), []).append(case)
    return list(groups.values())


def tuning_rows(*studies: Study) -> list[PackingRow]:
    """The rows that measurements of the grid say, by use, closeness and bytes; each study has its own cases.

    Between a length of runs that won and one that did not the border lies where their ratios, joined by a
    straight line over the logarithms, cross 1.
    """
    by_case = {case: each for each in studies for case, _ in each.cases()}
    if not by_case:
        raise RunError("--tune: nothing was measured")
    rows = []
    for use, way in _TUNED:
        for lines in LINES:
            cases = [case for case in by_case if case.startswith(f"{_SETS[lines]}/")]
            sizes = sorted({_grid(case)[0] for case in cases})
            for index, size in enumerate(sizes):
                own = sorted((_grid(case)[1], case) for case in cases if _grid(case)[0] == size)
                runs = tuple(run for run, _ in own)
                ratios = [by_case[case].ratios(case, use, way) for _, case in own]
                row = PackingRow(
                    use,
                    lines,
                    _reach(sizes, index),
                    packed_ranges(runs, ratios),
                    runs,
                    tuple(_us(by_case[case], case, use, "ours") for _, case in own),
                    tuple(_us(by_case[case], case, use, way) for _, case in own),
                )
                rows.append(row)
            if sizes:
                rows.append(replace(row, bytes=MOST_BYTES, runs=packed_ranges(runs, ratios, FAR_GAIN)))
    return rows


def _reach(sizes: Sequence[int], index: int) -> int:
    """A measured size stands for those that are nearer to it than to the next, by their ratio.

    The largest one stands for those that are larger by half, too.
    """
    if index + 1 == len(sizes):
        return sizes[index] * 3 // 2
    return math.isqrt(sizes[index] * sizes[index + 1])


def packed_ranges(
    runs: Sequence[int], ratios: Sequence[Sequence[float]], gain: float = TUNING_GAIN
) -> tuple[tuple[int, int], ...]:
    """Ranges of runs that are packed.

    Parameters
    ----------
    runs : lengths in bytes, rising.
    ratios : for each, the MPI's time over ours, round by round.
    gain : what the median must be.
    """
    medians = [statistics.median(each) for each in ratios]
    sure = [_won(each, gain) for each in ratios]
    # What was not lost, but is not sure, goes with its two neighbours.
    won = [
        each or (median >= 1 and sure[index - 1 : index] + sure[index + 1 : index + 2] == [True, True])
        for index, (each, median) in enumerate(zip(sure, medians, strict=True))
    ]
    found = []
    for least, most in ranges_of(runs, won):
        first, last = runs.index(max(least, runs[0])), runs.index(most)
        if first > 0:
            least = _border(runs, medians, first, first - 1)
        if last + 1 < len(runs):
            most = _border(runs, medians, last, last + 1)
        found.append((least, most))
    return tuple(found)


def _border(runs: Sequence[int], ratios: Sequence[float], won: int, lost: int) -> int:
    """The length of a run from which on, towards the one that lost, packing does not pay any more."""
    high, low = math.log(ratios[won]), math.log(ratios[lost])
    share = 1.0 if low >= 0 else high / (high - low)
    border = round(math.exp(math.log(runs[won]) + share * math.log(runs[lost] / runs[won])), 6)
    return min(math.floor(border), runs[lost] - 1) if lost > won else max(math.ceil(border), runs[lost] + 1)


def _won(ratios: Sequence[float], gain: float) -> bool:
    """By more than the noise: in the median, and in most rounds."""
    better = sum(ratio > 1 for ratio in ratios)
    return statistics.median(ratios) >= gain and better >= SHARE_WON * len(ratios)


def _grid(case: str) -> tuple[int, int]:
    """Bytes of the message and of a run."""
    _, size, run = case.split("/")
    return int(size), int(run)


def _us(measured: Study, case: str, use: str, way: str) -> float:
    return round(measured.beside(case, use, way).median / 1000, 3)
