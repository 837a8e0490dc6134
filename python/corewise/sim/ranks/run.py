"""Runs a program on simulated ranks.

Owns the document that room simmpi's executable reads, and the reading of what it leaves behind. The program's
output goes where ours goes. A program that crashes ends the executable; that is a `RunError`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from corewise import _core
from corewise.base import late, simulators
from corewise.base.files import read_bytes
from corewise.errors import InputError, RunError, bad_field

with late.imports():
    import numpy as np
    from numpy.typing import NDArray

    from corewise._core import Machine
    from corewise.data.machines import MachineText, hwloc_libraries, machine_text
    from corewise.data.placement import Placement
    from corewise.sim.placements import named_placement
    from corewise.sim.ranks.profile import new_profile, write_meta
    from corewise.sim.ranks.result import (
        PPE,
        RANK,
        RANK_CACHE,
        RANK_LINK,
        RANK_MICROTASKS,
        RANK_OVERLAYS,
        TRAFFIC,
        RankRun,
    )
    from corewise.sim.timeline import EVENT, Kind, Timeline, Track

_RUNNER = Path(__file__).resolve().parents[2] / "corewise-simmpi"

_ROWS = _core.simmpi_settings()
SETTINGS: Mapping[str, float] = MappingProxyType({row[0]: row[1] for row in _ROWS})
"""Name -> value where none is set; the room has units, bounds and meanings (docs/simulating/simmpi.md)."""
MOST_EVENTS = 4_000_000
"""Of a timeline."""
DEFAULT_STACK_BYTES = 8 << 20
MOST_RANKS = 4096
"""Of a run, where ranks share units; as many as a machine has units otherwise."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is simulated.

    Attributes
    ----------
    granularity : str
        ``flow`` (whole messages that share links) or ``packet``.
    settings : mapping of str to float
        Some of `SETTINGS`.
    stack_bytes : int
        Of each rank; memory only where it is touched.
    limit_ns : int
        Simulated time after which a run is given up; 0 for none.
    timeline : bool
    quiet : bool
        The program's standard output goes to standard error.
    output : Path or None
        The program's standard output goes to this file.
    profile : Path or None
        Records the run as this new profile, ``NAME.cw`` (docs/simulating/simmpi.md). It is there as a
        whole or not at all; also where the program failed, but not where it crashed.
    function_depth : int
        The outermost functions that a profile records, of a program compiled with
        ``-finstrument-functions``; 0 for all.
    """

    granularity: str = "flow"
    settings: Mapping[str, float] = field(default_factory=dict)
    stack_bytes: int = DEFAULT_STACK_BYTES
    limit_ns: int = 0
    timeline: bool = False
    quiet: bool = False
    output: Path | None = None
    profile: Path | None = None
    function_depth: int = 0


def run_program(
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    machine: str,
    placement: Placement | Sequence[int] | str = "identity",
    options: RunOptions | None = None,
) -> RankRun:
    """Runs a program that `compile_program` made.

    Parameters
    ----------
    program : Path
    arguments : sequence of str
        Of its main.
    ranks : int
    machine : str
        As for `load_machine`.
    placement : Placement, sequence of int or str
        Unit of every rank, or a name, which gives each unit to as many ranks as may share it, in rank order.
    options : RunOptions, optional

    Returns
    -------
    RankRun
        Also where the program failed: then `ok` is false.

    Raises
    ------
    InputError
        Where ranks, machine, placement, settings, program or the profile's folder do not fit.
    RunError
        Where the program crashed.
    """
    options = options or RunOptions()
    _check_settings(options.settings)
    if not program.is_file():
        raise InputError(f"{program}: no such file, allowed: a program that corewise simcc made")
    described = machine_text(machine)
    loaded = described.load()
    tasks = tasks_per_unit(options.settings)
    _check_ranks(ranks, loaded, tasks)
    if isinstance(placement, str):
        used = named_placement(placement, loaded, -(-ranks // tasks))
        units = [used[rank // tasks] for rank in range(ranks)]
    else:
        units = list(placement.unit_of_rank if isinstance(placement, Placement) else placement)
    if len(units) != ranks:
        raise bad_field("", "placement", f"{len(units)} ranks", f"{ranks}, as many as the run has")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="corewise-simrun-")))
        profile = stack.enter_context(new_profile(options.profile)) if options.profile is not None else None
        document = _request(folder, program, arguments, units, described, options, profile)
        found = _launched(folder, document, options)
        timeline = _timeline(folder, found) if options.timeline else None
        if profile is not None:
            write_meta(profile, [program.name, *arguments], ranks, loaded.name, _exit_status(found), found)
    settings = {**SETTINGS, **options.settings}
    status = _exit_status(found)
    return RankRun(
        machine=loaded,
        program=program.name,
        ok=found["ok"],
        message=found["message"],
        exit_status=status,
        time_ns=found["time_ns"],
        wall_s=found["wall_s"],
        events=found["events"],
        settings=settings,
        granularity=options.granularity,
        ranks=np.array([tuple(row) for row in found["ranks"]], dtype=RANK),
        caches=_rows_or_none(found["caches"], RANK_CACHE),
        overlays=_rows_or_none(found["overlays"], RANK_OVERLAYS),
        microtasks=_rows_or_none(found["microtasks"], RANK_MICROTASKS),
        traffic=np.array([tuple(row) for row in found["traffic"]], dtype=TRAFFIC),
        links=np.array([tuple(row) for row in found["links"]], dtype=RANK_LINK),
        ppes=_rows_or_none(found["ppes"], PPE),
        timeline=timeline,
    )


def _check_settings(settings: Mapping[str, float]) -> None:
    """Names and bounds, by the room's table."""
    bounds = {row[0]: (row[3], row[4]) for row in _ROWS}
    for name, value in settings.items():
        if name not in bounds:
            raise bad_field("", "setting", name, ", ".join(bounds))
        least, most = bounds[name]
        if not least <= value <= most:
            raise bad_field("", name, f"{value:g}", f"{least:g} to {most:g}")


def tasks_per_unit(settings: Mapping[str, float]) -> int:
    """How many ranks may share a unit, by these settings; refuses what is no number of ranks."""
    chosen = settings.get("tasks_per_unit", SETTINGS["tasks_per_unit"])
    _check_settings({"tasks_per_unit": chosen})
    if chosen != int(chosen):
        raise bad_field("", "tasks_per_unit", f"{chosen:g}", "a whole number")
    return int(chosen)


def _check_ranks(ranks: int, machine: Machine, tasks: int) -> None:
    """Whether the machine has a place for each."""
    most = min(tasks * len(machine.units), MOST_RANKS)
    if not 1 <= ranks <= most:
        places = "the units" if tasks == 1 else f"{tasks} on each of the {len(machine.units)} units"
        raise bad_field("", "ranks", str(ranks), f"1 to {most}, {places} of '{machine.name}'")


def _request(
    folder: Path,
    program: Path,
    arguments: Sequence[str],
    units: Sequence[int],
    machine: MachineText,
    options: RunOptions,
    profile: Path | None,
) -> Path:
    document: dict[str, Any] = {
        "machine_form": machine.form,
        "machine": machine.text,
        "machine_source": machine.source,
        "libraries": hwloc_libraries() if machine.form == "hwloc" else [],
        "units": list(map(int, units)),
        "program": str(program.resolve()),
        "arguments": list(arguments),
        "result": str(folder / "result.json"),
        "granularity": options.granularity,
        "stack_bytes": options.stack_bytes,
        "limit_ns": options.limit_ns,
        **options.settings,
    }
    if options.timeline:
        document |= {"timeline": str(folder / "events"), "most_events": MOST_EVENTS}
    if profile is not None:
        document |= {"profile": str(profile), "started_ns": time.time_ns()}
        document |= {"function_depth": options.function_depth} if options.function_depth else {}
    path = folder / "request.json"
    path.write_text(json.dumps(document))
    return path


def _launched(folder: Path, request: Path, options: RunOptions) -> dict[str, Any]:
    simulators.require()
    sys.stdout.flush()
    try:
        with ExitStack() as stack:
            target: int | BinaryIO | None = sys.stderr.fileno() if options.quiet else None
            if options.output is not None:
                target = stack.enter_context(options.output.open("wb"))
            done = subprocess.run([str(_RUNNER), str(request)], check=False, stdout=target)
    except OSError as error:
        raise RunError(f"{_RUNNER}: cannot be run: {error.strerror}: reinstall corewise") from None
    result = folder / "result.json"
    if done.returncode < 0:
        raise RunError(f"the program ended with {signal.Signals(-done.returncode).name}")
    if not result.is_file():
        raise RunError(f"the program ended its process with {done.returncode} and left no result")
    found: dict[str, Any] = json.loads(read_bytes(result))
    if found["invalid"] and "ranks" not in found:
        raise InputError(found["message"])
    if "ranks" not in found:
        raise RunError(found["message"])
    return found


def _exit_status(found: Mapping[str, Any]) -> int:
    """As a launcher has it; bytes, as the system has them."""
    if found["abort_code"] >= 0:
        return int(found["abort_code"]) & 0xFF or 1
    if not found["ok"]:
        return 1
    return next((row[3] & 0xFF for row in found["ranks"] if row[3] & 0xFF), 0)


def _rows_or_none(
    rows: Sequence[Sequence[object]] | None, kind: np.dtype[np.void]
) -> NDArray[np.void] | None:
    return None if rows is None else np.array([tuple(row) for row in rows], dtype=kind)


def _timeline(folder: Path, found: Mapping[str, Any]) -> Timeline:
    about = found["timeline"]
    events = np.frombuffer(read_bytes(folder / "events"), dtype=EVENT)
    tracks = tuple(Track(*row) for row in about["tracks"])
    kinds = tuple(Kind(*row) for row in about["kinds"])
    return Timeline(about["tick_ns"], tracks, kinds, events, about["dropped"])
