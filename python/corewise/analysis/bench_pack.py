"""`corewise bench pack`: paper 004's packing experiment on this host, applications, engines, a tuning.

Joins the launches (`bench_pack_runs`), what is said about them (`bench_pack_rows`) and how it is shown
(`bench_pack_views`). Nothing here prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import datetime
import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise import __version__
from corewise.analysis.bench_pack_rows import Claim, Goal, Row, claims_of, goals_of, rows_of
from corewise.analysis.bench_pack_runs import (
    FULL,
    PARTS,
    QUICK,
    SETS,
    Effort,
    Setting,
    Study,
    build_for,
    set_of,
    settings_of,
    study,
)
from corewise.analysis.paper import Progress
from corewise.data.copy_hosts import host_name
from corewise.data.packing_tuning import LINES, PackingRow, PackingTuning, ranges_of
from corewise.errors import InputError, RunError

ALL = "all"
TUNING_GAIN = 1.05
"""A tuning packs where that is at least so many times as fast: what the noise cannot turn round."""
TUNING_LOSS = 0.97
"""And where neither side alone is slower than this."""
SHARE_WON = 0.75
"""And in at least so many of the rounds."""
GRID = Effort(5, 0.6, 2, False)
QUICK_GRID = Effort(4, 0.3, 1, True)
"""A table in less than a minute."""
_SETS = dict(zip(LINES, ("grid", "sparse"), strict=True))
_SIDES = ("send", "receive")
_BESIDE: Mapping[str, str] = {"openmpi": "auto"}
"""What a packed message has to beat: on Open MPI the library's loops in the MPI's own engine."""
_TUNED = (("send", "datatype"), ("receive", "datatype"), ("pack", "mpi-pack"), ("unpack", "mpi-pack"))


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
    parts : keys of `corewise.analysis.bench_pack_runs.PARTS`.
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


def _studies(
    settings: Sequence[Setting],
    parts: Sequence[str],
    effort: Effort,
    knobs: Sequence[str],
    cases: Sequence[str],
    progress: Progress | None,
    beside: str | None = None,
) -> list[Study]:
    steps = len(settings) * len(parts) * effort.rounds * 2
    done = 0

    def advance() -> None:
        nonlocal done
        done = min(done + 1, steps)  # a round that is done again is no progress
        if progress is not None:
            progress(done / steps)

    found = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        libraries = {setting.mpi.library: setting.mpi for setting in settings}
        programs = {library: build_for(mpi, Path(name)) for library, mpi in libraries.items()}
        for part in parts:
            for setting, knob in zip(settings, knobs, strict=True):
                chosen = [each for each in cases if set_of(each) in PARTS[part].sets]
                if cases and not chosen:
                    continue
                found.append(
                    study(
                        setting,
                        part,
                        effort,
                        programs[setting.mpi.library],
                        knob=knob,
                        beside=beside,
                        cases=chosen,
                        advance=advance,
                    )
                )
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
    (measured,) = _studies([setting], ["grid"], wanted, ["always"], cases, progress, beside)
    return PackingTuning(
        host=host_name(),
        mpi=f"{setting.mpi.name} {setting.mpi.version}",
        who=f"corewise {__version__}",
        when=datetime.date.today().isoformat(),
        command=command,
        rows=tuple(tuning_rows(measured)),
    )


def tuning_rows(measured: Study) -> list[PackingRow]:
    """The rows that measurements of the grid say, by use, closeness and bytes.

    A message is packed on both sides or on none: each decides without the other, and what a packed side costs
    beside one that the MPI packs is not measured.
    """
    if not measured.cases():
        raise RunError("--tune: nothing was measured")
    rows = []
    for use, way in _TUNED:
        for lines in LINES:
            cases = [each for each in measured.cases() if each[0].startswith(f"{_SETS[lines]}/")]
            sizes = sorted({_grid(case)[0] for case, _ in cases})
            for index, size in enumerate(sizes):
                own = sorted({(_grid(case)[1], case) for case, _ in cases if _grid(case)[0] == size})
                runs = tuple(run for run, _ in own)
                rows.append(
                    PackingRow(
                        use,
                        lines,
                        _reach(sizes, index),
                        ranges_of(runs, [_pays(measured, case, use, way) for _, case in own]),
                        runs,
                        tuple(_us(measured, case, use, "ours") for _, case in own),
                        tuple(_us(measured, case, use, way) for _, case in own),
                    )
                )
    return rows


def _reach(sizes: Sequence[int], index: int) -> int:
    """A measured size stands for those that are nearer to it than to the next, by their ratio.

    Messages that are larger than the largest by half are the MPI's: nobody has measured them.
    """
    if index + 1 == len(sizes):
        return sizes[index] * 3 // 2
    return math.isqrt(sizes[index] * sizes[index + 1])


def _pays(measured: Study, case: str, use: str, way: str) -> bool:
    """Both sides of a message must win together, and neither may lose where the other is contiguous."""
    if use not in _SIDES:
        return _won(measured, case, use, way)
    if (case, "both") not in measured.cases():
        return False
    alone = [each for each in _SIDES if (case, each) in measured.cases()]
    return _won(measured, case, "both", way) and not any(_lost(measured, case, each, way) for each in alone)


def _lost(measured: Study, case: str, use: str, way: str) -> bool:
    return measured.ratio(case, use, way).median < TUNING_LOSS


def _won(measured: Study, case: str, use: str, way: str) -> bool:
    """By more than the noise: in the median, and in most rounds."""
    ratios = measured.ratios(case, use, way)
    better = sum(ratio > 1 for ratio in ratios)
    return statistics.median(ratios) >= TUNING_GAIN and better >= SHARE_WON * len(ratios)


def _grid(case: str) -> tuple[int, int]:
    """Bytes of the message and of a run."""
    _, size, run = case.split("/")
    return int(size), int(run)


def _us(measured: Study, case: str, use: str, way: str) -> float:
    return round(measured.time(case, use, way).median / 1000, 3)
