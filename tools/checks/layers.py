"""Check that the C++ rooms keep to their floors (ARCHITECTURE.md, Floors).

Owns the one table of floors and the list of who may include which foreign header. Reads every source
under ``src/`` and reports each violation as ``file:line: message``. Programs in ``apps/`` see public faces
only and are not read. Needs nothing but the standard library, so it runs before anything is installed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FLOORS: dict[str, int] = {
    "base": 0,
    "machine": 1,
    "pattern": 1,
    "kernels": 1,
    "trace": 1,
    "sim": 2,
    "port": 2,
    "profile": 2,
    "coll": 3,
    "shm": 3,
    "cell": 3,
    "place": 3,
    "probe": 3,
    "lab": 4,
    "overlap": 4,
    "simmpi": 4,
    "preload": 4,
    "replay": 5,
    "bind": 6,
}

SOURCE_SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".ipp"}
UNIT_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")

_INCLUDE = re.compile(r'^\s*#\s*include(?:_next)?\s*(?P<form>["<])(?P<path>[^">]+)[">]')
_IF_ZERO = re.compile(r"^\s*#\s*if\s+(?:0|false)\b")
_POSIX = re.compile(
    r"^(?:unistd\.h|fcntl\.h|dirent\.h|poll\.h|pthread\.h|sched\.h|dlfcn\.h|semaphore\.h|sys/.+)$"
)
_MPI = re.compile(r"^(?:mpi\.h|mpi_abi\.h|mpi-ext\.h)$")
_PYTHON = re.compile(r"^(?:nanobind/.+|Python\.h|pybind11/.+|numpy/.+)$")
_HWLOC = re.compile(r"^hwloc(?:\.h|/.+)$")


@dataclass(frozen=True)
class Violation:
    """One broken rule: where it stands and what it breaks."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        """Return the form that editors can jump to."""
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class ForeignRule:
    """Headers from outside that only some rooms may include."""

    header: re.Pattern[str]
    allowed: frozenset[str]
    message: str


FOREIGN_RULES = (
    ForeignRule(
        _MPI, frozenset({"preload", "overlap"}), "only preload, overlap and apps include an MPI header"
    ),
    ForeignRule(_PYTHON, frozenset({"bind"}), "only bind includes Python or nanobind"),
    ForeignRule(
        _HWLOC, frozenset(FLOORS) - {"preload"}, "preload must not use hwloc (the MPI brings its own)"
    ),
)


def check_tree(source: Path) -> list[Violation]:
    """Check every room below a ``src`` folder.

    Parameters
    ----------
    source
        The folder that holds one folder per room.

    Returns
    -------
    list of Violation
        Sorted by file and line; empty when the tree keeps every rule.
    """
    found: list[Violation] = []
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            found += _check_room(source, entry)
        elif entry.suffix in SOURCE_SUFFIXES:
            found.append(Violation(entry, 1, "a source file outside every room"))
    return sorted(found, key=lambda violation: (str(violation.path), violation.line))


def _check_room(source: Path, room: Path) -> Iterator[Violation]:
    if room.name not in FLOORS:
        yield Violation(room, 1, f"room '{room.name}' has no floor; known: {', '.join(FLOORS)}")
        return
    if not (room / "README.md").is_file():
        yield Violation(room / "README.md", 1, "every room has a README.md")
    for path in sorted(room.rglob("*")):
        if path.is_file() and path.suffix in SOURCE_SUFFIXES:
            yield from _check_file(source, room.name, path)


def _check_file(source: Path, room: str, path: Path) -> Iterator[Violation]:
    text = path.read_text(encoding="utf-8", errors="replace")
    recorder = path.relative_to(source).as_posix().startswith("trace/recorder")
    for number, line in enumerate(text.splitlines(), start=1):
        if _IF_ZERO.match(line):
            yield Violation(path, number, "no '#if 0': delete the code, history keeps it")
        include = _INCLUDE.match(line)
        if include is None:
            continue
        for message in _judge(source, room, path, include["path"], quoted=include["form"] == '"'):
            yield Violation(path, number, message)
        if recorder and _POSIX.match(include["path"]):
            yield Violation(path, number, f"the recorder is free of POSIX, yet includes <{include['path']}>")


def _judge(source: Path, room: str, path: Path, header: str, *, quoted: bool) -> Iterator[str]:
    """Yield what is wrong with one include of `header` by a file of `room`."""
    if header.endswith(UNIT_SUFFIXES) and quoted:
        yield f"a source includes a source: '{header}'"
    for rule in FOREIGN_RULES:
        if rule.header.match(header) and room not in rule.allowed:
            yield f"{rule.message}: room '{room}' includes '{header}'"
    target = _room_of(source, path, header)
    if target is None or target == room:
        return
    if FLOORS[target] >= FLOORS[room]:
        yield (
            f"room '{room}' (floor {FLOORS[room]}) may not see room '{target}' (floor {FLOORS[target]}): "
            f"'{header}'; arrows point strictly down"
        )


def _room_of(source: Path, path: Path, header: str) -> str | None:
    """Name the room that an include reaches, through ``src/`` or relative to the including file."""
    first = header.split("/", 1)[0]
    if "/" in header and first in FLOORS and not (path.parent / header).is_file():
        return first
    local = (path.parent / header).resolve()
    if local.is_file() and local.is_relative_to(source.resolve()):
        return local.relative_to(source.resolve()).parts[0]
    return None


def main(arguments: list[str] | None = None) -> int:
    """Check a tree and print what it breaks; the exit status is 1 when anything is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", nargs="?", type=Path, default=Path(__file__).resolve().parents[2] / "src")
    source: Path = parser.parse_args(arguments).source
    if not source.is_dir():
        print(f"{source}: no such folder", file=sys.stderr)
        return 2
    violations = check_tree(source)
    for violation in violations:
        print(violation)
    print(f"layers: {len(violations)} violation(s)", file=sys.stderr)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
