"""Profiles: one folder ``NAME.cw`` with `meta.json` and a trace file per rank (docs/formats/trace.md).

Owns what `meta.json` says and how a folder that is no profile is refused. Invariant: a profile whose
launcher was killed (no `meta.json`, or one without an exit status) is read like any other; what is wrong
with single files stands in `Profile.problems`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corewise._core import CallGraph, Pattern, WaitWorld, World, read_run
from corewise.base.documents import MOST_WHOLE, Fields, read_json
from corewise.data.quantities import bytes_text
from corewise.errors import InputError

if TYPE_CHECKING:
    from corewise.base.executors import Workers

FORMAT = "corewise-profile"
VERSION = 1
META = "meta.json"


@dataclass(frozen=True)
class RunMeta:
    """What the launcher wrote down.

    Attributes
    ----------
    command, program : tuple of str
        The launcher's whole command line, and the program with its arguments (the same where unknown).
    mpi_name, mpi_version : str
        The MPI library.
    ranks : int or None
        As asked with -n.
    host, started : str
        Where and when (ISO time).
    exit_status : int or None
        The launcher's; None when it was killed itself.
    wall_s : float or None
        From launch to end.
    ended_ns : int or None
        When the launcher ended, in nanoseconds since 1970; None where it was killed itself.
    missing : tuple of str
        What nodes recorded and did not deliver, a sentence each.
    """

    command: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    mpi_name: str = ""
    mpi_version: str = ""
    ranks: int | None = None
    host: str = ""
    started: str = ""
    exit_status: int | None = None
    wall_s: float | None = None
    ended_ns: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """A run as recorded.

    Attributes
    ----------
    path : Path
        The folder.
    meta : RunMeta
        Empty fields where `meta.json` is missing or none of ours.
    has_meta : bool
        Whether there was one of ours.
    worlds : tuple of World
        The main one first; further ones were spawned or launched in the same run.
    problems : tuple of str
        Files that could not be read, `meta.json` among them.
    calls : CallGraph or None
        The call graph of the main world, where it was asked for.
    waits : tuple of WaitWorld
        Of the worlds, in their order, where they were asked for.
    """

    path: Path
    meta: RunMeta
    has_meta: bool
    worlds: tuple[World, ...]
    problems: tuple[str, ...]
    calls: CallGraph | None = None
    waits: tuple[WaitWorld, ...] = ()

    @property
    def world(self) -> World:
        """The main world."""
        return self.worlds[0]

    @property
    def name(self) -> str:
        """The folder's name without its suffix."""
        return self.path.resolve().stem

    def pattern(self) -> Pattern:
        """The main world's point-to-point messages, as one phase."""
        return self.world.pattern(self.name)


def datatype_text(name: str, size_bytes: int, derived: bool) -> str:
    """A datatype for people: ``MPI_DOUBLE``, or how a nameless one was made: ``vector of 800 B``.

    Parameters
    ----------
    name : as a trace has it; empty for all that are beyond a rank's table.
    size_bytes : of an element's data.
    derived : whether the program made it.
    """
    if not name:
        return "another datatype"
    return f"{name} of {bytes_text(size_bytes)}" if derived and name in _HOW_MADE else name


_HOW_MADE = frozenset(
    {
        "dup", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block",
        "struct", "subarray", "darray", "resized", "derived",
    }
)  # fmt: skip
"""What the recorder calls datatypes to which the program gave no name."""


EVERY_RANK = -1
"""Whose call graph is read: that of all ranks, summed."""


def profile_folder(path: str | Path) -> Path:
    """The folder of a profile, before anything of it is read.

    Parameters
    ----------
    path : path
        A folder ``NAME.cw``.

    Raises
    ------
    InputError
        It is no folder, holds no rank file, or a newer corewise wrote it.
    """
    folder = Path(path)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing (no such folder)"
        raise InputError(
            f"{path}: found {found}, allowed: a profile folder NAME.cw (corewise run writes one)"
        )
    if not any(folder.glob("*.cw[tn]")):
        raise InputError(_nothing_there(folder, _load_meta(folder / META)))
    _refuse_newer(folder / META)
    return folder


def _refuse_newer(path: Path) -> None:
    """A `meta.json` that cannot be read costs what it held; one of a newer version, the profile."""
    try:
        document = read_json(path)
        document.one_of("format", (FORMAT,))
        newer = document.whole("version", VERSION + 1)
    except InputError:
        return
    raise InputError(f"{path}: field 'version': found {newer}, allowed: {VERSION}")


def load_profile(
    path: str | Path, calls: int | None = None, waits: bool = False, workers: Workers | None = None
) -> Profile:
    """Reads a profile, in one pass over its records, or in parts.

    Parameters
    ----------
    path : path
        A folder ``NAME.cw``.
    calls : int, optional
        Also reads the call graph of this rank, or of `EVERY_RANK`.
    waits : bool
        Also matches messages and collectives over ranks.
    workers : Workers, optional
        Read it in parts; what they find together is the same. One core of this process without them.

    Raises
    ------
    InputError
        The folder is missing, or holds no rank file that can be read.
    """
    folder = profile_folder(path)
    meta, problems = None, []
    try:
        meta = _load_meta(folder / META)
    except InputError as error:
        problems.append(f"{error}; read without it")
    ended_ns = (meta.ended_ns or 0) if meta is not None else 0
    if workers is None:
        read = read_run(str(folder), waits=waits, calls=calls, ended_ns=ended_ns)
    else:
        from corewise.data.shards import read_in_parts  # an executor loads what most commands do not need

        read = read_in_parts(folder, workers, calls=calls, waits=waits, ended_ns=ended_ns)
    return Profile(
        folder,
        meta or RunMeta(),
        meta is not None,
        tuple(read.worlds),
        (*problems, *(meta.missing if meta is not None else ()), *read.problems),
        None if calls is None else read.calls,
        tuple(read.waits) if waits else (),
    )


def _nothing_there(folder: Path, meta: RunMeta | None) -> str:
    if meta is None:
        return f"{folder}: not a profile: it holds neither {META} nor rank files (*.cwt)"
    return (
        f"{folder}: 0 events seen: no rank of '{' '.join(meta.program)}' left a trace. It never called "
        f"MPI_Init, is linked statically, or is linked to another MPI than {meta.mpi_name or 'the launcher'} "
        "(corewise doctor)"
    )


def _load_meta(path: Path) -> RunMeta | None:
    if not path.exists():
        return None
    document = read_json(path)
    document.header(FORMAT, VERSION)
    mpi = document.table("mpi", {})
    command = _words(document, "command")
    return RunMeta(
        command=command,
        program=_words(document, "program") or command,
        mpi_name=mpi.text("name", ""),
        mpi_version=mpi.text("version", ""),
        ranks=_whole(document, "ranks", 0),
        host=document.text("host", ""),
        started=document.text("started", ""),
        exit_status=_whole(document, "exit_status", -MOST_WHOLE),
        wall_s=document.number("wall_s", 0) if "wall_s" in document else None,
        ended_ns=_whole(document, "ended_ns", 0),
        missing=_words(document, "missing") if "missing" in document else (),
    )


def _whole(document: Fields, field: str, least: int) -> int | None:
    return document.whole(field, least) if field in document else None


def _words(document: Fields, field: str) -> tuple[str, ...]:
    """A command line: an argument of a program may be empty."""
    words = document.value(field) or []
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise document.wrong(field, "a list of strings")
    return tuple(words)
