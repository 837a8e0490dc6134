"""Launches a program under an MPI, with or without the preload.

Owns how a launcher is told to pass environment variables to the ranks (and only to them), the profile
directory's ``meta.json``, and the rule that the launcher's own exit status is what `corewise run` returns.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import datetime
import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Protocol

from corewise import __version__
from corewise._core import parse_size_bytes
from corewise.base.files import write_text
from corewise.errors import InputError, RunError
from corewise.mpi import elf, find, own_preload, reorder, signals
from corewise.mpi.allocation import Allocation, read_allocation
from corewise.mpi.build import build_accelerate, build_packing, build_preload, build_reorder
from corewise.mpi.find import MpiLibrary
from corewise.mpi.functions import FILTER, FunctionChoice, write_filter

LAUNCHERS = (
    "mpiexec",
    "mpirun",
    "mpiexec.hydra",
    "prterun",
    "mpiexec.openmpi",
    "mpirun.openmpi",
    "mpiexec.mpich",
    "mpirun.mpich",
)
MOST_RANKS = 1 << 23
"""A trace has 24 bits, with a sign, for a rank (docs/formats/trace.md)."""
OTHER_LAUNCHERS = ("srun", "aprun", "jsrun", "flux", "prun")
WRAPPERS = (
    "timeout",
    "time",
    "env",
    "nice",
    "ionice",
    "nohup",
    "numactl",
    "taskset",
    "stdbuf",
    "setsid",
    "strace",
)
META = "meta.json"
PACKING_KNOB = "COREWISE_PACKING"
"""The packing library's variable: off, always, or a table (``packing/plans/cost.hpp``)."""
ACCELERATE_KNOB = "COREWISE_ACCELERATE"
"""The accelerate library's variable: on (its own table), or a table's rows."""
LEVELS_KNOB = "COREWISE_ACCELERATE_LEVELS"
"""By which levels the accelerate library does collectives (``corewise.data.levels``)."""
HEAP_KNOB = "COREWISE_ACCELERATE_HEAP"
"""Whether the accelerate library gives large blocks of malloc, too: off, on or forced, and a size behind."""
_HEAP = re.compile(r"off|(on|forced)(?::(?P<size>.+))?")
_LEAST_HEAP_BYTES = 1 << 16
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when its parent dies."""


@dataclass(frozen=True)
class LaunchPlan:
    """A launch that is decided but not started.

    Attributes
    ----------
    mpi : whose launcher runs it and whose preload is used.
    command : the whole command line, launcher included, as it is executed without the preload.
    launcher_words : how many leading words of `command` are the launcher itself.
    ranks : as asked with -n, or the slots of the allocation; None where the user wrote the launcher's line.
    program : the program and its arguments, None where the user wrote the launcher's command line.
    """

    mpi: MpiLibrary
    command: tuple[str, ...]
    launcher_words: int
    ranks: int | None
    program: tuple[str, ...] | None

    def with_environment(self, variables: Mapping[str, str]) -> list[str]:
        """`command` with options that give `variables` to every rank.

        An LD_PRELOAD of the line itself is loaded behind the one given.

        Parameters
        ----------
        variables : name -> value.
        """
        line, own = list(self.command[self.launcher_words :]), ""
        if own_preload.PRELOAD in variables and self.program is None:
            line, own = own_preload.taken(line, self.mpi.family)
        options: list[str] = []
        for name, value in variables.items():
            if name == own_preload.PRELOAD and own:
                value = f"{value}:{own}"
            options += ["-x", f"{name}={value}"] if self.mpi.family == "openmpi" else ["-genv", name, value]
        words = list(self.command[: self.launcher_words]) + options
        for word in line:
            words.append(word)
            # Open MPI gives -x to one program of several, MPICH -genv to all.
            if word == ":" and self.program is None and self.mpi.family == "openmpi":
                words += options
        return words


TIMED_OUT = 124
"""Exit status of a run that took longer than it was allowed, as of timeout(1)."""


@dataclass
class RunOutcome:
    """What came of a launch.

    Attributes
    ----------
    exit_status : the launcher's, or 128 + signal number when it or we were told to end; `TIMED_OUT` after the
        time allowed.
    wall_s : seconds from launch to its end.
    ended_ns : when it ended, in nanoseconds since 1970.
    missing : what nodes recorded and did not deliver, a sentence each.
    """

    exit_status: int
    wall_s: float
    ended_ns: int = 0
    missing: tuple[str, ...] = ()


Said = subprocess.CompletedProcess[str]
"""What came of a launch that was tried."""


class Storage(Protocol):
    """Where ranks write during the run, if not into the profile."""

    @property
    def folder(self) -> Path:
        """The folder, on every node."""

    def prepare(self) -> None:
        """Makes it on every node."""

    def gather(self, directory: Path) -> tuple[str, ...]:
        """Brings what was written into the profile; says what is missing."""


@dataclass(frozen=True)
class RecordOptions:
    """What is recorded and how.

    Attributes
    ----------
    buffer, mode, clock, sync_clocks : knobs of the recorder as environment values; empty: the default.
    kinds : words of `corewise.mpi.kinds`; empty: everything that the preload was built for.
    functions : which functions.
    preload : a library of `corewise build-preload` to use, None: the one of the program's MPI.
    reordering : the order that the program's world gets, None: the launcher's.
    packing : which non-contiguous messages are packed, as the packing library's variable says it; empty: the
        library is not loaded.
    accelerate : which collectives corewise does itself, as the accelerate library's variable says it; empty:
        the library is not loaded.
    levels : by which levels, as its variable for these says it (`corewise.data.levels`); empty: as in the
        environment.
    variables : of the MPI itself, given to the ranks.
    timeout_s : then the run is ended, None: never.
    """

    buffer: str = ""
    mode: str = ""
    clock: str = ""
    sync_clocks: str = ""
    kinds: tuple[str, ...] = ()
    functions: FunctionChoice = field(default_factory=FunctionChoice)
    preload: Path | None = None
    reordering: reorder.Wanted | None = None
    packing: str = ""
    accelerate: str = ""
    levels: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None

    def lever_knobs(self) -> dict[str, str]:
        """The variables of packing and of collectives; empty ones are not to be set."""
        return {
            PACKING_KNOB: self.packing,
            ACCELERATE_KNOB: self.accelerate,
            LEVELS_KNOB: self.levels,
        }

    def environment(self) -> dict[str, str]:
        """The variables to set."""
        values = {
            **self.lever_knobs(),
            "COREWISE_TRACE_BUFFER": self.buffer,
            "COREWISE_TRACE_MODE": self.mode,
            "COREWISE_TRACE_CLOCK": self.clock,
            "COREWISE_TRACE_SYNC": self.sync_clocks,
            "COREWISE_TRACE_RECORD": ",".join(self.kinds),
        }
        return {**{name: value for name, value in values.items() if value}, **self.variables}


def is_launcher(word: str) -> bool:
    """Whether a command's first word is an MPI launcher."""
    return Path(word).name in LAUNCHERS


def plan(
    command: Sequence[str], *, ranks: int | None = None, mpi: str | None = None, binding: Sequence[str] = ()
) -> LaunchPlan:
    """Decides which MPI runs `command` and how.

    Parameters
    ----------
    command : the program and its arguments, or a whole launcher command line.
    ranks : number of ranks; needed unless `command` starts with a launcher, or an allocation of Slurm,
        PRRTE or Hydra says how many slots there are.
    mpi : see `corewise.mpi.find.find`.
    binding : launcher arguments that say how many ranks run and on which cores (`corewise.data.export`); they
        stand in for the ones that corewise would choose.

    Raises
    ------
    InputError
        No program, no MPI, or a program that belongs to another MPI than the one asked for.
    """
    if not command or not command[0]:
        raise InputError(
            "no program to run: corewise run -n 4 -- ./program, or corewise run -- mpiexec -n 4 ./program"
        )
    _refuse_wrappers(command)
    if is_launcher(command[0]):
        return _plan_launcher(command, ranks, mpi, binding)
    program = _find_program(command[0])
    chosen = _choose(program, mpi)
    allocation = read_allocation(os.environ, chosen.family)
    if ranks is None and allocation is not None:
        ranks = allocation.slots
    if ranks is None or ranks < 1:
        found = "nothing" if ranks is None else ranks
        raise InputError(
            f"-n: found {found}, allowed: the number of ranks, 1 or more (corewise run -n 4 -- {command[0]})"
        )
    if ranks > MOST_RANKS:
        raise InputError(f"-n: found {ranks}, allowed: 1 to {MOST_RANKS}, what a trace can tell apart")
    placed = _placed(chosen, ranks, allocation, binding)
    words = [str(chosen.launcher), *placed, program, *command[1:]]
    return LaunchPlan(chosen, tuple(words), 1, ranks, (program, *command[1:]))


def _placed(mpi: MpiLibrary, ranks: int, allocation: Allocation | None, binding: Sequence[str]) -> list[str]:
    """The launcher's words before the program: how many ranks, and where they may run."""
    spread = [] if allocation is None else allocation.words(mpi.family)
    if binding and allocation is not None and spread:
        raise InputError(
            f"--placement: places on this host, found {allocation.text()}, allowed: one node, or a "
            "launcher's own line (corewise place --export)"
        )
    if binding:
        return [*as_root(mpi), *binding]
    # What is said to fit needs no leave to share cores, which would leave it unbound.
    fits = allocation is not None and bool(spread) and ranks <= allocation.slots
    return ["-n", str(ranks), *(as_root(mpi) if fits else _comfort(mpi)), *spread]


def _plan_launcher(
    command: Sequence[str], ranks: int | None, mpi: str | None, binding: Sequence[str]
) -> LaunchPlan:
    if ranks is not None:
        raise InputError(
            f"-n {ranks}: the command starts with the launcher {command[0]}: give the number of ranks there"
        )
    if binding:
        raise InputError(
            f"--placement: the command starts with the launcher {command[0]}: bind there "
            "(corewise place --export)"
        )
    if shutil.which(command[0]) is None:
        raise InputError(
            f"{command[0]}: no such launcher; found here: {find.found_here()}; give its whole path"
        )
    chosen = find.from_launcher(command[0])
    if mpi is not None and mpi not in (chosen.name, "abi"):
        raise InputError(f"--mpi {mpi}: {command[0]} belongs to {chosen.name} {chosen.version}")
    words, _ = own_preload.taken(command[1:], chosen.family)  # refuses what cannot be joined
    programs = [word for word in words if own_preload.is_program(word)]
    wanted = _linked_mpi(programs[0]) if programs else None
    if wanted not in (None, chosen.name, "abi"):
        raise InputError(f"{programs[0]}: is linked to {wanted}, but {command[0]} belongs to {chosen.name}")
    if mpi == "abi" or wanted == "abi":
        chosen = find.from_launcher(command[0], abi=True)
    return LaunchPlan(chosen, (str(chosen.launcher), *command[1:]), 1, None, None)


def _refuse_wrappers(command: Sequence[str]) -> None:
    """A launcher that corewise does not know would itself be recorded, or nothing would be."""
    first = Path(command[0]).name
    launcher = next((word for word in command[1:] if is_launcher(word)), None)
    by_hand = "set LD_PRELOAD to what corewise build-preload prints and COREWISE_TRACE_DIR for the ranks"
    if first in OTHER_LAUNCHERS:
        raise InputError(
            f"{first}: corewise run starts {LAUNCHERS[0]} and its like only; {by_hand} "
            "(docs/recording/run.md)"
        )
    if launcher is not None and first in WRAPPERS:
        raise InputError(
            f"{first}: stands before the launcher {launcher}: put it before corewise run instead, or "
            f"{by_hand} (docs/recording/run.md)"
        )


def _find_program(name: str) -> str:
    found = shutil.which(name)
    if Path(name).is_dir() and (found is None or os.sep in name):
        raise InputError(f"{name}: found a folder, allowed: a program")
    if found is None and Path(name).exists():
        raise InputError(f"{name}: not executable (chmod +x, or run its interpreter: python3 {name})")
    if found is None:
        raise InputError(f"{name}: no such program")
    return found if os.sep not in name else name


def _linked_mpi(program: str) -> str | None:
    """The MPI that a program's file names; None for a script or a program linked statically."""
    for library in [*elf.needed_libraries(Path(program)), *elf.loaded_libraries(Path(program))]:
        if library.startswith("libmpi_abi.so"):
            return "abi"
        if library.startswith("libmpi.so.40"):
            return "openmpi"
        if library.startswith(("libmpi.so.12", "libmpich.so")):
            return "mpich"
    return None


def _choose(program: str, wanted: str | None) -> MpiLibrary:
    linked = _linked_mpi(program)
    loaded = find.of_program(Path(program)) if linked is not None else None
    if loaded is not None and wanted in (None, loaded.name):
        return loaded
    chosen = find.find(wanted or linked)
    if linked is None or linked == chosen.name:
        return chosen
    if linked == "abi" and wanted is not None:
        return find.from_launcher(chosen.launcher, abi=True)
    raise InputError(
        f"{program}: is linked to {linked}, but --mpi {wanted} is {chosen.name} {chosen.version}"
    )


def _comfort(mpi: MpiLibrary) -> list[str]:
    """Options that let more ranks than cores run, also as root, for launches whose command line we write."""
    if mpi.family == "mpich":
        return []
    return ["--oversubscribe", *as_root(mpi)]


def as_root(mpi: MpiLibrary) -> list[str]:
    """What Open MPI's launcher wants to hear from root; else nothing.

    Parameters
    ----------
    mpi : whose launcher it is.
    """
    return ["--allow-run-as-root"] if mpi.family == "openmpi" and os.geteuid() == 0 else []


_YIELDING = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    # 8 ranks on 2 cores: a barrier of MPICH takes 16 ms when idle ranks spin, 50 us when they yield.
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
}


def environment(decided: LaunchPlan) -> dict[str, str]:
    """The environment of this process; with more ranks than cores, waiting ranks are told to yield.

    What the user has set stays as it is.
    """
    crowded = decided.ranks is not None and decided.ranks > len(os.sched_getaffinity(0))
    return {**(_YIELDING[decided.mpi.family] if crowded else {}), **os.environ}


def record(
    decided: LaunchPlan,
    directory: Path,
    options: RecordOptions,
    output: IO[str] | int | None = None,
    storage: Storage | None = None,
) -> RunOutcome:
    """Runs the program with the preload in every rank; its records go to `directory`.

    Parameters
    ----------
    decided : from `plan`.
    directory : a new profile directory.
    options : the recorder's knobs.
    output : where the program's standard output goes; None: to ours.
    storage : where the ranks write meanwhile; None: into `directory`.

    Raises
    ------
    InputError
        `directory` exists and is not empty, or cannot be made, or a pattern of functions is wrong.
    RunError
        The preload could not be built, the launcher could not be started, or what describes the run could not
        be written. Where that was before the run nothing is left, after it the records are.
    """
    libraries = _libraries(decided.mpi, options)
    preload = ":".join(filter(None, [*map(str, libraries), os.environ.get("LD_PRELOAD", "")]))
    meta = _meta(decided)
    with _new_profile(directory) as made:
        variables = {
            "LD_PRELOAD": preload,
            "COREWISE_TRACE_DIR": str(directory.resolve() if storage is None else storage.folder),
            **options.environment(),
            **_write_filter(decided, directory, options.functions),
            **_write_plan(directory, options.reordering),
        }
        if storage is not None:
            storage.prepare()
            meta["local_folder"] = str(storage.folder)
        _write_meta(directory, meta)
    try:
        outcome = execute(
            decided.with_environment(variables), environment(decided), output, options.timeout_s
        )
    except RunError:  # nothing has been started
        _unmake(directory, made)
        raise
    if storage is not None:
        outcome.missing = storage.gather(directory)
        meta["missing"] = list(outcome.missing)
    meta |= {
        "exit_status": outcome.exit_status,
        "wall_s": round(outcome.wall_s, 6),
        "ended_ns": outcome.ended_ns,
    }
    if options.reordering is not None:
        meta["reorder"] = asdict(reorder.read_answer(directory))
    try:
        _write_meta(directory, meta)
    except (InputError, RunError) as error:
        recorded = any(each.stat().st_size for each in directory.glob("*.cwt"))
        kept = ", and its records are kept" if recorded else ""
        ended = f"the program ended with exit status {outcome.exit_status}{kept}"
        raise RunError(f"{error}; {ended}") from None
    return outcome


def unrecorded(mpi: MpiLibrary, options: RecordOptions, directory: Path) -> dict[str, str]:
    """The variables with which ranks do the same as in `record`, without being recorded.

    Parameters
    ----------
    mpi : whose libraries are loaded.
    options : the order of ranks, packing, collectives and variables; what is recorded plays no part.
    directory : where the file of an order is written; it must stay while ranks start.

    Returns
    -------
    dict
        Empty where neither a library nor a variable is asked for.
    """
    libraries = _levers(mpi, options)
    if not libraries:
        return dict(options.variables)
    return {
        "LD_PRELOAD": ":".join(filter(None, [*map(str, libraries), os.environ.get("LD_PRELOAD", "")])),
        **{name: value for name, value in options.lever_knobs().items() if value},
        **_write_plan(directory, options.reordering),
        **options.variables,
    }


def _libraries(mpi: MpiLibrary, options: RecordOptions) -> list[Path]:
    """What the ranks load, in its order: a call passes through all of them, the first to the last."""
    return [options.preload or build_preload(mpi), *_levers(mpi, options)]


def _levers(mpi: MpiLibrary, options: RecordOptions) -> list[Path]:
    """The libraries behind the recording one."""
    found = [build_reorder(mpi)] if options.reordering is not None else []
    found += [build_packing(mpi)] if options.packing else []
    found += [build_accelerate(mpi, allocating=heap_wanted())] if options.accelerate else []
    return found


def heap_wanted() -> bool:
    """Whether the environment asks for large blocks of malloc in mapped memory.

    Raises
    ------
    InputError
        The variable has another value than those it may have.
    """
    value = os.environ.get(HEAP_KNOB, "") or "off"
    found = _HEAP.fullmatch(value)
    allowed = "off, on, forced, and a least size of 64 KiB or more behind (on:1 MiB)"
    if found is None:
        raise InputError(f"{HEAP_KNOB}: found '{value}', allowed: {allowed}")
    if found["size"] and parse_size_bytes(found["size"], "", HEAP_KNOB) < _LEAST_HEAP_BYTES:
        raise InputError(f"{HEAP_KNOB}: found '{value}', allowed: {allowed}")
    return value != "off"


def execute(
    command: Sequence[str],
    variables: Mapping[str, str],
    output: IO[str] | int | None = None,
    timeout_s: float | None = None,
) -> RunOutcome:
    """Runs a command to its end; an interrupt is for it, not for us, and what tells us to end, ends it.

    Should we be killed, the kernel tells it to end. Outside the main thread no signals are handled.

    Parameters
    ----------
    command : what to run.
    variables : its environment.
    output : where its standard output goes; None: to ours.
    timeout_s : then it is told to end, and killed where it does not.

    Raises
    ------
    RunError
        The command could not be started: nothing has run.
    """
    told = signals.Told()
    with told.handled():
        begin = time.monotonic()
        try:
            child = subprocess.Popen(
                list(command), env=dict(variables), stdout=output, preexec_fn=_end_with(os.getpid())
            )
        except OSError as error:
            raise RunError(f"{command[0]}: cannot be started: {error.strerror}") from error
        told.pass_on_to(child)
        status = _waited(child, timeout_s, told)
        seconds, ended_ns = time.monotonic() - begin, time.time_ns()
    if told.received:
        status = 128 + told.received[0]
    elif status is None:
        status = TIMED_OUT
    return RunOutcome(status if status >= 0 else 128 - status, seconds, ended_ns)


def _waited(child: subprocess.Popen[bytes], timeout_s: float | None, told: signals.Told) -> int | None:
    """The child's status when it has ended; None where it had to be ended after the time allowed."""
    try:
        return child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        told.end()
    child.wait()
    return None


def tried(decided: LaunchPlan, timeout_s: float = 60.0) -> Said:
    """Runs a launch that is over in a moment, and keeps what it says.

    Parameters
    ----------
    decided : from `plan`.
    timeout_s : then it is ended, with exit status 124.
    """
    child = subprocess.Popen(
        list(decided.command), env=environment(decided), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=_end_with(os.getpid()),
    )  # fmt: skip
    status = None
    with child:
        try:
            out, err = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            child.terminate()
            out, err = child.communicate()
            status = TIMED_OUT
    return subprocess.CompletedProcess(
        decided.command, child.returncode if status is None else status, out, err
    )


def _end_with(parent: int) -> Callable[[], None]:
    """For a child before its exec: that it is told to end when its parent dies.

    Nobody can handle SIGKILL. The launcher passes SIGTERM on to its ranks, as it does when we send it.
    """

    def ask() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return ask


@contextmanager
def _new_profile(directory: Path) -> Iterator[list[Path]]:
    """Makes the folder for the block to prepare; where that fails, all that was made goes again.

    The block is told which folders were not there.
    """
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    try:
        _make_directory(directory)
    except BaseException:
        _remove(missing)
        raise
    try:
        yield missing
    except BaseException:
        _unmake(directory, missing)
        raise


def _unmake(directory: Path, made: list[Path]) -> None:
    """Removes what was prepared for a run that never was."""
    for file in directory.iterdir():
        file.unlink()
    _remove(made)


def _remove(folders: list[Path]) -> None:
    for each in folders:
        with suppress(OSError):
            each.rmdir()


@contextmanager
def _claimed_by_another(directory: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise InputError(f"{directory}: another run writes there: name another profile with -o") from None


def check_new(directory: Path) -> None:
    """Refuses a folder for a profile in which something lies."""
    if directory.is_dir() and any(directory.iterdir()):
        raise InputError(f"{directory}: exists and is not empty: name another profile with -o")


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        check_new(directory)
        # Of two runs that find the folder empty at one time, one makes this file.
        with _claimed_by_another(directory):
            (directory / META).touch(exist_ok=False)
    except OSError as error:
        raise not_made(directory, error) from error


def not_made(directory: Path, error: OSError, advice: str = "") -> InputError | RunError:
    """What to raise where a profile's folder cannot be made: a full disk is no fault of the name."""
    kind = RunError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else InputError
    return kind(f"{directory}: cannot be made: {error.strerror}{advice}")


def programs(decided: LaunchPlan) -> list[Path]:
    """The executables that a launch runs, as far as its command line names them."""
    if decided.program is not None:
        return [Path(decided.program[0])]
    words = decided.command[decided.launcher_words :]
    found = [shutil.which(word) for word in words if not word.startswith("-")]
    return [Path(path) for path in dict.fromkeys(found) if path is not None and elf.is_elf(Path(path))]


def _write_filter(decided: LaunchPlan, directory: Path, choice: FunctionChoice) -> dict[str, str]:
    """The variable that names the file; empty where every function is recorded."""
    if not choice:
        return {}
    file = directory.resolve() / FILTER
    write_filter(choice, programs(decided), file)
    return {"COREWISE_TRACE_FUNCTIONS": str(file)}


def _write_plan(directory: Path, wanted: reorder.Wanted | None) -> dict[str, str]:
    """The variable that names the prepared order; empty without one."""
    if wanted is None:
        return {}
    file = directory.resolve() / reorder.PLAN
    reorder.write_plan(wanted.placement, wanted.machine, file)
    return {reorder.KNOB: str(file)}


def _meta(decided: LaunchPlan) -> dict[str, object]:
    return {
        "format": "corewise-profile",
        "version": 1,
        "corewise_version": __version__,
        "command": list(decided.command),
        "program": list(decided.program) if decided.program is not None else None,
        "mpi": {"name": decided.mpi.name, "version": decided.mpi.version, "prefix": str(decided.mpi.prefix)},
        "ranks": decided.ranks,
        "host": socket.gethostname(),
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "exit_status": None,
        "wall_s": None,
        "ended_ns": None,
    }


def _write_meta(directory: Path, meta: dict[str, object]) -> None:
    """Replaces meta.json in one step: a reader never meets half of it."""
    write_text(directory / META, json.dumps(meta, indent=2) + "\n")
