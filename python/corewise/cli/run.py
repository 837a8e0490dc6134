"""`corewise run`: an MPI program, unchanged, with its communication recorded.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import typer

from corewise import _core
from corewise.base import late
from corewise.base.endings import raised_endings
from corewise.cli import console
from corewise.cli.message_costs import before_a_run, keep_tables
from corewise.cli.settings import WithSettings
from corewise.errors import InputError, RunError
from corewise.mpi.functions import DEEPEST
from corewise.mpi.kinds import KINDS

with late.imports():
    from corewise.data.levels import levels_knob
    from corewise.data.machines import load_machine
    from corewise.data.packing_tuning import load_packing_tuning
    from corewise.data.placement import Placement, load_placement, make_placement
    from corewise.data.quantities import time_text
    from corewise.data.tuned_hosts import (
        HostTable,
        collectives_knob,
        host_collectives,
        host_packing,
        load_host_tuning,
        mpi_name,
    )
    from corewise.mpi import build, elf, launch, reorder
    from corewise.mpi.find import MpiLibrary
    from corewise.mpi.functions import FILTER, FunctionChoice, check_patterns
    from corewise.mpi.gather import local_disks
    from corewise.mpi.generators.packing import ENGINES, engine_is_known
    from corewise.mpi.kinds import chosen_kinds
    from corewise.trials import binding

Packer = Callable[[str], object]

OF_HOST = "of-host"
"""Stands for the host's own table until the MPI is known."""
NOTHING_RECORDED = 1
"""Exit status where the launcher has none of its own: no rank called MPI, or a node delivered no files."""
OTHER_MPI = "other-mpi.txt"
"""What the preload leaves in the profile when it meets a program of another MPI (src/preload/guard.cpp)."""

_HELP = """Run an MPI program and record who talks to whom.

The program is not rebuilt. What comes out is a profile directory, NAME.cw, for `corewise report` and
`corewise place`. The exit status is the launcher's own, or 1 where no rank called MPI.

\b
Example:
  corewise run -n 8 -- ./lbm --size 32x32x32 --steps 100
  corewise report lbm.cw
or with your own launcher line:
  corewise run -o flow.cw -- mpiexec -n 8 --bind-to core ./lbm
or in a job of Slurm, on all of its nodes and slots:
  salloc -N 2 -n 8 corewise run -- ./lbm

\b
What is recorded can be chosen:
  corewise run -n 8 --record messages,collectives -- ./lbm
  corewise run -n 8 --record '!functions,!sites' -- ./lbm
and, where the program was compiled with -finstrument-functions, which functions:
  corewise run -n 8 --functions 'solve*' --functions '!*_tiny' --min-function-time '1 us' -- ./lbm

\b
A run that hangs is ended, and the report says where every rank was:
  corewise run -n 8 --timeout '10 min' -- ./lbm

\b
Ranks go where a placement wants them by binding, or by reordering MPI_COMM_WORLD:
  corewise run -n 8 --placement best.json -- ./lbm
  corewise run --reorder best.json -- mpiexec -n 8 --bind-to core ./lbm

\b
Messages with derived datatypes are packed by corewise where that is quicker:
  corewise run -n 8 --packing -- ./lbm
  corewise run -n 8 --packing --packing-tuning host.csv -- ./lbm

\b
Blocking collectives are done by corewise inside a node, where its table says so:
  corewise run -n 8 --accelerate -- ./lbm
  corewise run -n 8 --accelerate --accelerate-tuning host.csv -- ./lbm
and by the levels of a machine, where ranks are bound inside its domains:
  corewise run --accelerate --accelerate-levels node.toml -- mpiexec -n 64 --bind-to core ./lbm

\b
A replay is held against the run, with what messages cost at that time:
  corewise run -n 2 --messages -- ./lbm
  corewise replay --validate lbm.cw
"""


_RANKS = typer.Option(None, "-n", "--ranks", help="number of ranks (default: an allocation's slots)")
_OUTPUT = typer.Option(None, "-o", "--output", help="profile directory (default: PROGRAM.cw)")
_RECORD = typer.Option(
    None, "--record", help=f"what is recorded: {', '.join(KINDS)}; '!sites' leaves one out (default: all)"
)
_FUNCTIONS = typer.Option(
    [], "--functions", help="functions by name: 'solve*', or '!tiny_*' to leave out; may be repeated"
)
_FUNCTION_LIBRARY = typer.Option(
    [],
    "--function-library",
    metavar="FILE",
    help="a library with functions that the program loads itself",
    hidden=True,
)
_MIN_FUNCTION_TIME = typer.Option(
    "",
    "--min-function-time",
    metavar="TIME",
    help="leave out functions that took less, e.g. '1 us'",
    hidden=True,
)
_FUNCTION_DEPTH = typer.Option(
    0, "--function-depth", metavar="N", help=f"the outermost N functions, 1 to {DEEPEST}", hidden=True
)
_MODE = typer.Option(
    "", "--mode", help="who empties full buffers: drain (the rank), thread (a helper), flight (nobody)"
)
_FLIGHT = typer.Option(
    False,
    "--flight-recorder",
    help="the same as --mode flight: only the newest records are kept",
    hidden=True,
)
_BUFFER = typer.Option(
    "",
    "--buffer",
    metavar="SIZE",
    help="size of each of a thread's two buffers, e.g. '16 KiB'",
    hidden=True,
)
_CLOCK = typer.Option("", "--clock", metavar="CLOCK", help="auto, tsc or os", hidden=True)
_FILES = typer.Option(
    "rank",
    "--files",
    metavar="rank|node",
    help="one trace file per rank, or one per node: rank, node",
    hidden=True,
)
_SYNC_CLOCKS = typer.Option(
    "",
    "--sync-clocks",
    metavar="WHEN",
    help="when clocks of several nodes are compared: never, ends, collectives",
    hidden=True,
)
_PRELOAD = typer.Option(
    None, "--preload", metavar="FILE", help="a library that corewise build-preload printed", hidden=True
)
_TIMEOUT = typer.Option(
    None, "--timeout", metavar="TIME", help="end the run after this time, e.g. '30 s': exit status 124"
)
_LOCAL_DIR = typer.Option(
    None,
    "--local-dir",
    metavar="DIR",
    help="record on each node's own disk, and gather the files when the run has ended",
    hidden=True,
)
_PLACEMENT = typer.Option(None, "--placement", help="bind ranks as this file of corewise place says")
_REORDERING = typer.Option(
    "",
    "--reorder",
    metavar="FILE|off",
    help="give the program a world in the order of this file of corewise place (default: off)",
)
_PACKING = typer.Option(
    False, "--packing", help="pack non-contiguous messages where it is quicker than the MPI's own way"
)
_PACKING_TUNING = typer.Option(
    None,
    "--packing-tuning",
    metavar="FILE",
    help="what is packed, by this file of corewise bench pack (default: the shipped one)",
    hidden=True,
)
_ACCELERATE = typer.Option(
    False,
    "--accelerate",
    help="do blocking collectives inside a node where that is quicker than by the MPI",
)
_ACCELERATE_TUNING = typer.Option(
    None,
    "--accelerate-tuning",
    metavar="FILE",
    help="which collectives, by this file of corewise bench collectives (default: the shipped one)",
    hidden=True,
)
_ACCELERATE_LEVELS = typer.Option(
    "",
    "--accelerate-levels",
    metavar="MACHINE|LEVELS",
    help="by the levels of this machine, or found, nodes, groups:RANKS, cpus:DOMAINS (default: off)",
    hidden=True,
)
_MESSAGES = typer.Option(
    False,
    "--messages",
    help="measure what messages cost before and after the run, for corewise replay; takes about 20 s",
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("run", help=_HELP, cls=WithSettings, context_settings={"allow_interspersed_args": False})(
        _run
    )


def _run(
    command: list[str] = typer.Argument(None, help="program and arguments, or a whole mpiexec command line"),
    ranks: int | None = _RANKS,
    output: Path | None = _OUTPUT,
    mpi: str | None = typer.Option(None, "--mpi", help="openmpi, mpich, abi, a prefix or a launcher"),
    record: str | None = _RECORD,
    functions: list[str] = _FUNCTIONS,
    function_library: list[Path] = _FUNCTION_LIBRARY,
    min_function_time: str = _MIN_FUNCTION_TIME,
    function_depth: int = _FUNCTION_DEPTH,
    mode: str = _MODE,
    flight: bool = _FLIGHT,
    buffer: str = _BUFFER,
    clock: str = _CLOCK,
    sync_clocks: str = _SYNC_CLOCKS,
    files: str = _FILES,
    timeout: str | None = _TIMEOUT,
    local_dir: Path | None = _LOCAL_DIR,
    preload: Path | None = _PRELOAD,
    placement: Path | None = _PLACEMENT,
    reordering: str = _REORDERING,
    packing: bool = _PACKING,
    packing_tuning: Path | None = _PACKING_TUNING,
    accelerate: bool = _ACCELERATE,
    accelerate_tuning: Path | None = _ACCELERATE_TUNING,
    accelerate_levels: str = _ACCELERATE_LEVELS,
    messages: bool = _MESSAGES,
    as_json: bool = typer.Option(False, "--json", help="print one JSON object when the program has ended"),
) -> int:
    wanted = _checked_reordering(reordering, ranks, placement)
    options = launch.RecordOptions(
        buffer=_checked_buffer(buffer),
        mode=_checked_mode(mode, flight),
        clock=_one_of("--clock", clock, ("auto", "tsc", "os")),
        sync_clocks=_one_of("--sync-clocks", sync_clocks, ("never", "ends", "collectives")),
        kinds=() if record is None else chosen_kinds(record, "--record"),
        functions=FunctionChoice(
            patterns=check_patterns(functions),
            least_ns=_checked_least(min_function_time),
            depth=_checked_depth(function_depth),
            libraries=tuple(map(_checked_file("--function-library"), function_library)),
        ),
        preload=None if preload is None else _checked_file("--preload")(preload),
        reordering=wanted,
        packing=_knob_of("packing", packing, packing_tuning, lambda file: load_packing_tuning(file).knob()),
        accelerate=_knob_of("accelerate", accelerate, accelerate_tuning, _collectives_of),
        levels=_levels(accelerate, accelerate_levels),
        timeout_s=_checked_timeout(timeout),
    )
    pack, command = _packer(files), command or []
    decided = _planned(command, ranks, mpi, output)
    storage = None if local_dir is None else local_disks(decided, local_dir)
    with raised_endings(), tempfile.TemporaryDirectory(prefix="corewise-bind-") as folder:
        if placed := _placed(placement, wanted, ranks, decided):
            bound = binding.arguments(decided.mpi, *placed, Path(folder))
            decided = launch.plan(command, ranks=ranks, mpi=mpi, binding=bound)
            binding.check(decided.mpi, *placed, bound)
        ready = _ready(decided.mpi, options)
        with profile_folder(decided.program or decided.command, output) as directory:
            return _record(decided, directory, ready, pack, as_json, storage, messages=messages)


def _planned(
    command: Sequence[str], ranks: int | None, mpi: str | None, output: Path | None
) -> launch.LaunchPlan:
    """The launch; a profile that cannot be made is refused before anything is built for it."""
    decided = launch.plan(command, ranks=ranks, mpi=mpi)
    if output is not None:
        launch.check_new(output)
    return decided


def _knob_of(option: str, wanted: bool, tuning: Path | None, read: Callable[[Path], str]) -> str:
    """A library's variable; empty where it is not wanted."""
    if tuning is not None and not wanted:
        raise InputError(f"--{option}-tuning: found '{tuning}' without --{option}, allowed: both, or none")
    if not wanted:
        return ""
    return OF_HOST if tuning is None else read(tuning)


def _levels(accelerate: bool, asked: str) -> str:
    """By which levels collectives are done: as the option says, or the variable; empty: by none."""
    if asked and not accelerate:
        raise InputError(f"--accelerate-levels: found '{asked}' without --accelerate, allowed: both, or none")
    named, text = "--accelerate-levels", asked
    if not asked:
        named, text = launch.LEVELS_KNOB, os.environ.get(launch.LEVELS_KNOB, "")
    return levels_knob(text, named) if accelerate and text else ""


def _placed(
    file: Path | None, wanted: reorder.Wanted | None, ranks: int | None, decided: launch.LaunchPlan
) -> tuple[_core.Machine, Placement] | None:
    """Where ranks are to be bound: as a file says, or core by core, for a reordering to find them there.

    None where the launcher decides.
    """
    if file is not None:
        machine = load_machine("host")
        return machine, _placement_of(file, machine, ranks)
    if wanted is None or decided.program is None:
        return None
    return wanted.machine, make_placement(wanted.machine, reorder.launch_order(wanted.placement))


def _ready(mpi: MpiLibrary, options: launch.RecordOptions) -> launch.RecordOptions:
    """Builds what an MPI needs; the options, with what is packed and taken over decided for it."""
    _build(mpi, options)
    return dataclasses.replace(
        options,
        packing=_chosen_packing(mpi, options.packing) if options.packing else "",
        accelerate=_chosen_collectives(mpi, options.accelerate),
    )


def _chosen_packing(mpi: MpiLibrary, wanted: str) -> str:
    """What is packed with an MPI, and says by which table."""
    if not engine_is_known(mpi.family, mpi.version):
        console.note(
            f"corewise: packing: the datatype engine of Open MPI {mpi.version} is not known (known: "
            f"{', '.join(ENGINES)}): nothing is taken over"
        )
        return "off"
    if wanted != OF_HOST:
        return wanted
    return _told(host_packing(mpi_name(mpi.family, os.environ), mpi.version))


def _chosen_collectives(mpi: MpiLibrary, wanted: str) -> str:
    """What is taken over with an MPI; says by which table where none is named."""
    if wanted != OF_HOST:
        return wanted
    return _told(host_collectives(mpi_name(mpi.family, os.environ), mpi.version))


def _told(found: HostTable) -> str:
    """A library's variable; says by which table."""
    console.note(f"corewise: {found.told}")
    return found.knob


def _placement_of(file: Path, machine: _core.Machine, ranks: int | None) -> Placement:
    placement = load_placement(file, machine)
    if ranks is not None and ranks != placement.ranks:
        raise InputError(f"{file}: places {placement.ranks} ranks, but -n is {ranks}")
    return placement


def _checked_reordering(text: str, ranks: int | None, placement: Path | None) -> reorder.Wanted | None:
    if text in ("", "off"):
        return None
    if placement is not None:
        raise InputError(f"--reorder: found '{text}' with --placement, allowed: one of the two")
    machine = load_machine("host")
    reorder.check_machine(machine)
    return reorder.Wanted(_placement_of(Path(text), machine, ranks), machine)


def _record(
    decided: launch.LaunchPlan,
    directory: Path,
    options: launch.RecordOptions,
    pack: Packer | None,
    as_json: bool,
    storage: launch.Storage | None,
    *,
    messages: bool,
) -> int:
    # With --json standard output is the object's alone.
    output = sys.stderr if as_json else None
    outcome, blank = _launched(decided, directory, options, output, storage, messages=messages)
    _tell_ended(outcome, options.timeout_s, directory)
    traces = list(directory.glob("rank-*.cwt"))
    spawned = len(list(directory.glob("*.cwt"))) - len(traces)
    if blank or (not traces and not spawned):
        why = (
            f"{blank} of the ranks recorded nothing: there was no space for their files."
            if blank
            else f"0 events seen: {_silence(decided, outcome)}{_other_mpi(directory)}"
        )
        removed = " The profile was removed." if _remove_if_empty(directory, outcome.missing) else ""
        console.warn(f"corewise: {directory}: {why}{removed}")
    if pack is not None and (traces or spawned):
        _pack(pack, directory)
    answer = None if options.reordering is None else reorder.read_answer(directory)
    if as_json:
        row: dict[str, object] = {
            "profile": str(directory),
            "ranks_seen": len(traces),
            "exit_status": outcome.exit_status,
            "wall_s": outcome.wall_s,
        }
        if answer is not None:
            row["reorder"] = asdict(answer)
        console.show_json("run", None, [row])
    elif traces or spawned:
        asked = decided.ranks
        count = f"{len(traces)} of {asked}" if asked is not None and len(traces) < asked else len(traces)
        more = f" and {spawned} of spawned programs" if spawned else ""
        console.note(
            f"corewise: {count} ranks{more} recorded in {directory}; next: corewise report {directory}"
        )
    if answer is not None and not as_json:
        _tell(answer)
    return _status(outcome, bool(traces or spawned))


def _launched(
    decided: launch.LaunchPlan,
    directory: Path,
    options: launch.RecordOptions,
    output: TextIO | None,
    storage: launch.Storage | None,
    *,
    messages: bool,
) -> tuple[launch.RunOutcome, int]:
    """Runs and records it, between two measurements of messages where they are wanted.

    Says also how many files of ranks got no space.
    """
    if messages:
        launch.check_new(directory)
    costs = before_a_run(decided.mpi) if messages else None
    try:
        outcome = launch.record(decided, directory, options, output, storage)
    finally:
        blank = _remove_blank(directory)
    if costs is not None and not blank and any(directory.glob("*.cwt")):
        keep_tables(costs, decided.mpi, directory, ended=outcome.exit_status == 0)
    return outcome, blank


def _tell_ended(outcome: launch.RunOutcome, timeout_s: float | None, directory: Path) -> None:
    """Says so where the run had to be ended, and what of it is missing."""
    if timeout_s is not None and outcome.exit_status == launch.TIMED_OUT:
        console.warn(f"corewise: the run was ended after {time_text(timeout_s * 1e9)} (--timeout)")
    for sentence in outcome.missing:
        console.warn(f"corewise: {directory}: {sentence}")


def _status(outcome: launch.RunOutcome, recorded: bool) -> int:
    whole = recorded and not outcome.missing
    return outcome.exit_status or (0 if whole else NOTHING_RECORDED)


def _collectives_of(file: Path) -> str:
    return collectives_knob([load_host_tuning(file)])


def _remove_blank(directory: Path) -> int:
    """Removes the files of ranks that got no space for them, which have no byte; says how many."""
    blank = [path for path in directory.glob("*.cwt") if path.stat().st_size == 0]
    for path in blank:
        path.unlink()
    return len(blank)


def _silence(decided: launch.LaunchPlan, outcome: launch.RunOutcome) -> str:
    """Why there may be no events. What a launcher or the loader said stands above."""
    ended = (
        f"{decided.command[0]} ended with exit status {outcome.exit_status}: the program may have failed "
        "before or in MPI_Init. Else "
    )
    return (
        f"{ended if outcome.exit_status else ''}no rank called {decided.mpi.name}'s MPI_Init through the "
        "preload: not an MPI program, linked statically or to another MPI (corewise doctor), setuid, or the "
        "loader could not load the preload."
    )


def _build(mpi: MpiLibrary, options: launch.RecordOptions) -> None:
    """Builds what the ranks will load: the first time for an MPI this takes a while, else nothing."""
    wanted = {
        "recording": options.preload is None,
        "reordering": options.reordering is not None,
        "packing": bool(options.packing),
        "accelerating": bool(options.accelerate),
        "allocating": bool(options.accelerate) and launch.heap_wanted(),
    }
    missing = not build.is_built(mpi, **wanted)
    with console.progress(f"building the preload for {mpi.name} {mpi.version}, once", log=missing):
        if wanted["recording"]:
            build.build_preload(mpi)
        if wanted["reordering"]:
            build.build_reorder(mpi)
        if wanted["packing"]:
            build.build_packing(mpi)
        if wanted["accelerating"]:
            build.build_accelerate(mpi, allocating=wanted["allocating"])


def _tell(answer: reorder.Answer) -> None:
    """What became of the order that was asked for."""
    if not answer.reordered:
        console.warn(f"corewise: MPI_COMM_WORLD kept the launcher's order: {answer.reason}")
        return
    launch_ranks = " ".join(map(str, answer.launch_ranks))
    console.note(f"corewise: MPI_COMM_WORLD was reordered; launch ranks of ranks 0, 1, ...: {launch_ranks}")


def _pack(pack: Packer, directory: Path) -> None:
    """Packs the rank files; where that fails they stay, and the exit status is still the launcher's."""
    try:
        pack(str(directory))
    except (InputError, RunError) as error:
        console.warn(f"corewise: the rank files were not packed: {error}")


def _remove_if_empty(directory: Path, missing: tuple[str, ...]) -> bool:
    """Removes a profile in which nothing lies but what the launch itself wrote, and that misses nothing."""
    found = list(directory.iterdir())
    if missing or any(path.name not in (launch.META, OTHER_MPI, FILTER, reorder.PLAN) for path in found):
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


@contextmanager
def profile_folder(command: Sequence[str], wanted: Path | None) -> Iterator[Path]:
    """The folder that is named, or else a new one in the working directory.

    That is PROGRAM.cw, numbered when that is taken: a profile is never overwritten. Where the block fails and
    nothing lies in the new folder, it is removed.

    Parameters
    ----------
    command : the program and its arguments, or a whole launcher command line.
    wanted : what the user named, if anything.
    """
    if wanted is not None:
        yield wanted
        return
    directory = _claimed(_stem(command))
    try:
        yield directory
    except BaseException:
        with suppress(OSError):
            directory.rmdir()
        raise


def _claimed(stem: str) -> Path:
    """Makes the first folder of this name that nobody has: of several runs at one time each gets its own."""
    directory, number = Path(f"{stem}.cw"), 2
    while True:
        try:
            directory.mkdir()
            return directory
        except FileExistsError:
            directory = Path(f"{stem}-{number}.cw")
            number += 1
        except OSError as error:
            raise launch.not_made(directory, error, "; name a profile with -o") from error


def _stem(command: Sequence[str]) -> str:
    """What a profile is named by: the program, without its ending; a script rather than its interpreter."""
    files = [word for word in command[1:] if not word.startswith("-") and _is_file(word)]
    program = command[0]
    if launch.is_launcher(program) and files:
        program = files.pop(0)
    if files and re.fullmatch(r"(python|perl|ruby|julia|Rscript|bash|sh)[\d.]*", Path(program).name):
        program = files[0]
    # A name with a dash in front would be an option of the next command.
    return Path(program).stem.lstrip("-") or "profile"


def _is_file(word: str) -> bool:
    """Whether a word of a command line names a file; where the system refuses to look, it does not."""
    try:
        return Path(word).is_file()
    except OSError:
        return False


def _checked_buffer(text: str) -> str:
    if not text:
        return ""
    size = _core.parse_size_bytes(text, "command line", "--buffer")
    if not 4096 <= size <= 64 << 20:
        raise InputError(f"--buffer: found '{text}', allowed: 4 KiB to 64 MiB")
    return text


def _one_of(option: str, text: str, allowed: tuple[str, ...]) -> str:
    if text and text not in allowed:
        raise InputError(f"{option}: found '{text}', allowed: {', '.join(allowed)}")
    return text


def _packer(files: str) -> Packer | None:
    """What makes one file per node out of one per rank, None where that is not wanted."""
    if _one_of("--files", files, ("rank", "node")) != "node":
        return None
    return _core.pack_profile


def _checked_mode(text: str, flight: bool) -> str:
    mode = _one_of("--mode", text, ("drain", "thread", "flight"))
    if flight and mode not in ("", "flight"):
        raise InputError(f"--flight-recorder: found with --mode {mode}, allowed: one of the two")
    return "flight" if flight else mode


def _checked_least(text: str) -> int:
    return round(_core.parse_time_ns(text, "command line", "--min-function-time")) if text else 0


def _checked_timeout(text: str | None) -> float | None:
    """In seconds; a run that is given no time would be one without an end."""
    if text is None:
        return None
    nanoseconds = _core.parse_time_ns(text, "command line", "--timeout")
    if nanoseconds <= 0:
        raise InputError(f"--timeout: found '{text}', allowed: more than 0 s; without the option: no end")
    return float(nanoseconds) / 1e9


def _checked_depth(depth: int) -> int:
    if not 0 <= depth <= DEEPEST:
        raise InputError(f"--function-depth: found {depth}, allowed: 1 to {DEEPEST}, or 0 for any depth")
    return depth


def _checked_file(option: str) -> Callable[[Path], Path]:
    def checked(path: Path) -> Path:
        if not elf.is_elf(path):
            raise InputError(f"{option}: found '{path}', allowed: a shared library")
        return path.resolve()

    return checked
