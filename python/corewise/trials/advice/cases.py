"""From a launch, or a profile, to what levers look at.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from corewise._core import Machine
from corewise.analysis.noise.spare import FEWEST_CORES, cores_of
from corewise.analysis.placement.comparison import PlacementStudy, study_placements
from corewise.analysis.profile.findings import findings_of, look_at
from corewise.analysis.profile.findings.launching import cpus_by_host
from corewise.analysis.profile.rows import ProfileAnalysis
from corewise.analysis.profile.tables import analyse_profile, placement_scope
from corewise.base.quota import quota_cores
from corewise.data.profile import Profile, load_profile
from corewise.errors import InputError, RunError
from corewise.mpi import launch
from corewise.mpi.lines import Line, line_of
from corewise.mpi.recorded import recorded_program
from corewise.sim.replay import open_recording
from corewise.trials.levers.lever import Case
from corewise.trials.levers.seats import units_of_ranks
from corewise.trials.replaying import Replays


def record(line: Line, folder: Path, limit_s: float | None = None) -> None:
    """Records the plain launch; what the program prints is left out.

    Parameters
    ----------
    line : Line
    folder : Path
        The new profile.
    limit_s : float, optional
        Then the launch is ended.

    Raises
    ------
    RunError
        The program failed, or no rank left a trace.
    """
    plan = line.plain()
    outcome = launch.record(plan, folder, launch.RecordOptions(timeout_s=limit_s), subprocess.DEVNULL)
    if outcome.exit_status != 0:
        raise RunError(f"{' '.join(plan.command)}: ended with exit status {outcome.exit_status}")
    if not any(folder.glob("rank-*.cwt")):
        shutil.rmtree(folder)  # it was new, and says nothing
        raise RunError(
            f"{' '.join(line.program)}: no rank called {line.mpi.name}'s MPI_Init through the preload. Not "
            "an MPI program, linked statically or to another MPI (corewise doctor), setuid, or the loader "
            "could not load the preload"
        )


def line_of_profile(folder: Path, profile: Profile) -> tuple[Line | None, str]:
    """How a recorded program is launched here; or None, and why it is not.

    Parameters
    ----------
    folder : Path
        The profile.
    profile : Profile
        The same, read.
    """
    meta = profile.meta
    if not profile.has_meta or not meta.command:
        return None, "the profile does not say how it was launched"
    if meta.host != socket.gethostname():
        return None, f"it was recorded on {meta.host or 'an unknown host'}, not here"
    try:
        if meta.ranks is None:
            return line_of(meta.command, None, None), ""
        words, ranks, launcher = recorded_program(folder)
        return line_of(words, ranks, launcher), ""
    except (InputError, RunError) as error:
        return None, str(error)


def case_of(
    profile: Path,
    machine: Machine | None,
    is_host: bool,
    line_from: Callable[[Profile], Line | None],
) -> Case:
    """What levers look at.

    Parameters
    ----------
    profile : Path
        The recorded run.
    machine : Machine or None
        Where placements are searched.
    is_host : bool
        Whether that is this host.
    line_from : callable
        How the profile's program is launched here.

    Raises
    ------
    RunError
        The recorded run did not finish: what a whole one would spend its time on is not known.
    """
    read = load_profile(profile, waits=True)
    analysis = analyse_profile(read)
    if any(rank.ending in ("running", "aborted") for rank in analysis.ranks):
        raise RunError(f"{profile}: nothing can be advised, the run {analysis.ending.statement}")
    line = line_from(read)
    study, note = _study(analysis, machine, is_host)
    quota = quota_cores() if line is not None else None
    run = look_at(read, study=study, quota_cores=quota, analysis=analysis)
    replays = None if study is None else _replays(profile, study.machine)
    return Case(run, findings_of(run), line, machine, is_host, note, replays=replays)


def wants_noise(case: Case) -> bool:
    """Whether the noise of this host says something about a core left idle: it takes a while to measure."""
    if not case.is_host or case.machine is None:
        return False
    return case.ranks == cores_of(case.machine) >= FEWEST_CORES


def _study(
    analysis: ProfileAnalysis, machine: Machine | None, is_host: bool
) -> tuple[PlacementStudy | None, str]:
    """Placements beside the one that the ranks had, where each had a core of its own."""
    possible, note = placement_scope(analysis.world, machine)
    if machine is None or not possible:
        return None, note
    given = _seats(analysis, machine) if is_host else None
    return study_placements(analysis.pattern, machine, given=given), note


def _replays(profile: Path, machine: Machine) -> Replays | None:
    """The run as it can be replayed; None where threads, or a recording that ends early, do not let it."""
    try:
        recording = open_recording(profile)
    except InputError:
        return None
    return None if recording.unfinished else Replays(recording, machine, profile.name)


def _seats(analysis: ProfileAnalysis, machine: Machine) -> tuple[int, ...] | None:
    hosts = cpus_by_host(analysis.world)
    ranks = next(iter(hosts.values()), {})
    if len(hosts) != 1 or sorted(ranks) != list(range(analysis.world.size)):
        return None
    return units_of_ranks(machine, [ranks[rank] for rank in range(analysis.world.size)])
