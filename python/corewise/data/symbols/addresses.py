"""Functions and source lines behind code addresses: an offset in an ELF file to ``function``, ``file:line``.

Works on offsets in the file, not on run-time addresses, so that position-independent programs and libraries
need no special case. Reads each file once. A file that is gone or stripped gives no name; whether it changed
since a run is for `object_state` to say, and what it says goes before any name: none is better than a wrong
one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from corewise._core import DebugInfo, SourcePlace
from corewise.data.symbols.elf import FunctionTable, read_debug, read_functions
from corewise.data.symbols.names import demangled

__all__ = ["CodePoint", "Symbol", "call_site_text", "demangled", "find_points", "find_symbol", "object_state"]


@dataclass(frozen=True)
class Symbol:
    """A function and how far into it the address lies."""

    function: str
    offset: int


@dataclass(frozen=True)
class CodePoint:
    """What is known about one address.

    Attributes
    ----------
    function : str
        That the linker placed there, inlined into or not; empty where no symbol says.
    offset : int
        From its start.
    inlined : tuple of str
        Functions that are expanded there, innermost first; the address is theirs first of all.
    file, line : str, int
        Source of the instruction, in the innermost function; empty and 0 without debug information.
    defined_file, defined_line : str, int
        Where `function` is defined.
    """

    function: str = ""
    offset: int = 0
    inlined: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    defined_file: str = ""
    defined_line: int = 0


def find_symbol(path: str, file_offset: int) -> Symbol | None:
    """The function that a call returned into.

    Parameters
    ----------
    path : str
        The ELF file.
    file_offset : int
        Of the return address in it. The call itself lies just before, which decides the function.
    """
    table = _table(path)
    address = table.address(file_offset - 1)
    found = table.find(address) if address is not None else None
    if address is None or found is None:
        return None
    name, start = found
    return Symbol(demangled(name), address + 1 - start)


def find_points(path: str, file_offsets: Sequence[int], returns: bool) -> list[CodePoint]:
    """What is known about addresses in one file, all at once.

    Parameters
    ----------
    path : str
        The ELF file.
    file_offsets : sequence of int
        Of the addresses in it.
    returns : bool
        They are return addresses: the call lies just before each.
    """
    table = _table(path)
    addresses = [table.address(offset - 1 if returns else offset) for offset in file_offsets]
    debug = _debug(path) if table.segments else None
    places = debug.find([address or 0 for address in addresses]) if debug is not None else None
    points = []
    for index, address in enumerate(addresses):
        place = places[index] if places is not None else None
        points.append(
            _point(table, address, place, 1 if returns else 0) if address is not None else CodePoint()
        )
    return points


def _point(table: FunctionTable, address: int, place: SourcePlace | None, behind: int) -> CodePoint:
    found = table.find(address)
    function = demangled(found[0]) if found else ""
    nameless = not function or function.startswith("_Z")
    offset = address + behind - found[1] if found else 0
    if place is None or not place.frames:
        return CodePoint(function, offset)
    *inlined, outer = place.frames
    if outer.name and (nameless or (outer.fortran and "::" not in function)):
        readable = demangled(outer.linkage) if outer.linkage.startswith("_Z") else outer.name
        function = outer.name if readable.startswith("_Z") else readable
    innermost = place.frames[0]
    return CodePoint(
        function=function,
        offset=offset,
        inlined=tuple(demangled(each.linkage) if each.linkage else each.name for each in inlined),
        file=_path(innermost.file),
        line=innermost.line,
        defined_file=_path(place.declared_file),
        defined_line=place.declared_line,
    )


def call_site_text(path: str, file_offset: int) -> str:
    """A call site for people, by its return address: ``exchange (halo.cpp:42)``.

    Without debug information ``exchange+0x1c``; without symbols ``program+0x1234``; inlined calls name the
    function that was expanded: ``pack (halo.cpp:7, inlined into exchange)``.
    """
    if not path:
        return f"0x{file_offset:x}" if file_offset else "unknown"
    point = find_points(path, [file_offset], returns=True)[0]
    if not point.function:
        return f"{Path(path).name}+0x{file_offset:x}"
    if not point.line:
        return f"{point.function}+0x{point.offset:x}"
    source = f"{Path(point.file).name}:{point.line}"
    if point.inlined:
        return f"{point.inlined[0]} ({source}, inlined into {point.function})"
    return f"{point.function} ({source})"


def object_state(path: str, started_ns: int) -> str:
    """Whether a file is what a run used: "" if nothing speaks against it, else "missing" or "changed".

    Parameters
    ----------
    path : str
        As mapped; the kernel marks one that was replaced while it ran.
    started_ns : int
        When the run began, in nanoseconds since 1970; 0 unknown.
    """
    if not path.startswith("/"):
        return ""  # the kernel's own: [vdso]
    try:
        written_ns = Path(path).stat().st_mtime_ns
    except OSError:
        return "missing"
    return "changed" if 0 < started_ns < written_ns else ""


def _path(text: str) -> str:
    return os.path.normpath(text) if text else ""


@lru_cache(maxsize=256)
def _table(path: str) -> FunctionTable:
    return read_functions(path)


@lru_cache(maxsize=16)
def _debug(path: str) -> DebugInfo | None:
    return read_debug(path)
