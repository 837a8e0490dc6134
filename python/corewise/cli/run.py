"""`corewise run`: an MPI program, unchanged, with its communication recorded.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import typer

from corewise import _core
from corewise.cli import console
from corewise.data.export import export_placement
from corewise.data.machines import load_machine
from corewise.data.placement import load_placement
from corewise.errors import InputError
from corewise.mpi import build, launch

OTHER_MPI = "other-mpi.txt"
"""What the preload leaves in the profile when it meets a program of another MPI (src/preload/guard.cpp)."""

_HELP = """Run an MPI program and record who talks to whom.

The program is not rebuilt. What comes out is a profile directory, NAME.cw, for `corewise report` and
`corewise place`. The exit status is the launcher's own.

\b
Example:
  corewise run -n 8 -- ./lbm --size 32x32x32 --steps 100
  corewise report lbm.cw
or with your own launcher line:
  corewise run -o flow.cw -- mpiexec -n 8 --bind-to core ./lbm
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("run", help=_HELP, context_settings={"allow_interspersed_args": False})(_run)


def _run(
    command: list[str] = typer.Argument(None, help="program and arguments, or a whole mpiexec command line"),
    ranks: int | None = typer.Option(None, "-n", "--ranks", help="number of ranks"),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="profile directory (default: PROGRAM.cw)"
    ),
    mpi: str | None = typer.Option(None, "--mpi", help="openmpi, mpich, abi, a prefix or a launcher"),
    buffer: str = typer.Option("", "--buffer", help="size of each of a thread's two buffers, e.g. '16 KiB'"),
    flight: bool = typer.Option(
        False, "--flight-recorder", help="keep only the newest records, write nothing else"
    ),
    clock: str = typer.Option("", "--clock", help="auto, tsc or os"),
    placement: Path | None = typer.Option(
        None, "--placement", help="bind ranks as this file of corewise place says"
    ),
    as_json: bool = typer.Option(False, "--json", help="print one JSON object when the program has ended"),
) -> int:
    options = launch.RecordOptions(
        buffer=_checked_buffer(buffer), mode="flight" if flight else "", clock=_checked_clock(clock)
    )
    command = command or []
    decided = launch.plan(command, ranks=ranks, mpi=mpi)
    directory = output if output is not None else _fresh_name(decided.command)
    if placement is not None:
        with tempfile.TemporaryDirectory(prefix="corewise-bind-") as folder:
            binding = _binding(decided.mpi.family, placement, ranks, Path(folder))
            return _record(
                launch.plan(command, ranks=ranks, mpi=mpi, binding=binding), directory, options, as_json
            )
    return _record(decided, directory, options, as_json)


def _binding(family: str, file: Path, ranks: int | None, folder: Path) -> tuple[str, ...]:
    """Launcher arguments that put each rank where the placement file says, on this host."""
    machine = load_machine("host")
    placement = load_placement(file, machine)
    if ranks != len(placement.unit_of_rank):
        raise InputError(f"{file}: places {len(placement.unit_of_rank)} ranks, but -n is {ranks}")
    form = "openmpi-pelist" if family == "openmpi" else "mpich"
    return export_placement(form, machine, placement, str(folder / "rankfile")).arguments


def _record(decided: launch.LaunchPlan, directory: Path, options: launch.RecordOptions, as_json: bool) -> int:
    with console.progress(f"building the preload for {decided.mpi.name} {decided.mpi.version}"):
        build.build_preload(decided.mpi)
    # With --json standard output is the object's alone.
    outcome = launch.record(decided, directory, options, sys.stderr if as_json else None)
    traces = list(directory.glob("rank-*.cwt"))
    spawned = len(list(directory.glob("*.cwt"))) - len(traces)
    if not traces and not spawned:
        other = _other_mpi(directory)
        removed = _remove_if_empty(directory)
        console.warn(
            f"corewise: {directory}: 0 events seen: no rank called {decided.mpi.name}'s MPI_Init through the "
            "preload. Not an MPI program, linked statically, or linked to another MPI (corewise doctor)."
            f"{other}{' The profile was removed.' if removed else ''}"
        )
    if as_json:
        row = {
            "profile": str(directory),
            "ranks_seen": len(traces),
            "exit_status": outcome.exit_status,
            "wall_s": outcome.wall_s,
        }
        console.show_json("run", None, [row])
    elif traces or spawned:
        asked = decided.ranks
        count = f"{len(traces)} of {asked}" if asked is not None and len(traces) < asked else len(traces)
        more = f" and {spawned} of spawned programs" if spawned else ""
        console.note(
            f"corewise: {count} ranks{more} recorded in {directory}; next: corewise report {directory}"
        )
    return outcome.exit_status


def _remove_if_empty(directory: Path) -> bool:
    """Removes a profile in which nothing lies but what the launch itself wrote."""
    found = list(directory.iterdir())
    if any(path.name not in (launch.META, OTHER_MPI) for path in found):
        return False
    for path in found:
        path.unlink()
    directory.rmdir()
    return True


def _other_mpi(directory: Path) -> str:
    """What the preload found when it stepped aside, as a sentence; empty when it did not."""
    note = directory / OTHER_MPI
    if not note.is_file():
        return ""
    return f" The program loads another MPI than this preload's: {', '.join(note.read_text().split())}."


def _fresh_name(command: tuple[str, ...]) -> Path:
    """PROGRAM.cw in the working directory, numbered when that is taken: a profile is never overwritten.

    A script's name stands for its interpreter's.
    """
    files = [w for w in command[1:] if not w.startswith("-") and Path(w).is_file()]
    program = files[0] if files else command[0]
    if len(files) > 1 and re.fullmatch(r"(python|perl|ruby|julia|Rscript|bash|sh)[\d.]*", Path(program).name):
        program = files[1]
    stem = Path(program).stem or "profile"
    candidate = Path(f"{stem}.cw")
    number = 2
    while candidate.exists():
        candidate = Path(f"{stem}-{number}.cw")
        number += 1
    return candidate


def _checked_buffer(text: str) -> str:
    if not text:
        return ""
    size = _core.parse_size_bytes(text, "command line", "--buffer")
    if not 4096 <= size <= 64 << 20:
        raise InputError(f"--buffer: found '{text}', allowed: 4 KiB to 64 MiB")
    return text


def _checked_clock(text: str) -> str:
    if text not in ("", "auto", "tsc", "os"):
        raise InputError(f"--clock: found '{text}', allowed: auto, tsc, os")
    return text
