"""Building the programs of recording/functions, and what their traces say of functions, regions and phases.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from preload_runs import library
from trace_decoder import Record, Trace, function_at

from corewise.mpi import build
from corewise.mpi.functions import names_of

SOURCES = Path(__file__).resolve().parent / "recording" / "functions"
HOOKS = "-finstrument-functions"
# -Wl,-rpath: a library lies beside its program.
FLAGS = ("-D_GNU_SOURCE", "-Wall", f"-I{build.include_folder()}", "-Wl,-rpath,$ORIGIN", "-lpthread")


def built(name: str, folder: Path, source: str, flags: Sequence[str] = (), output: str = "") -> Path:
    """A program or library of these sources."""
    target = folder / (output or Path(source).stem)
    return library(name).build(target, SOURCES / source, flags=[*flags, *FLAGS])


def with_libraries(name: str, folder: Path, flags: Sequence[str] = ()) -> tuple[Path, Path]:
    """functions.c with its shared library, and the plugin that it loads itself."""
    shared = ("-shared", "-fPIC", HOOKS)
    built(name, folder, "library.c", shared, "liblibrary.so")
    plugin = built(name, folder, "library.c", (*shared, "-DPLUGIN"), "plugin.so")
    linked = ("-Wl,--no-as-needed", f"-L{folder}", "-llibrary", "-ldl")
    return built(name, folder, "functions.c", (HOOKS, *flags, *linked)), plugin


@cache
def symbol_at(maps: tuple[str, ...], address: int) -> str:
    """The symbol of a function, by the trace's own mappings."""
    for line in maps:
        extent, _, offset, _, _, *path = line.split(maxsplit=5)
        low, high = (int(end, 16) for end in extent.split("-"))
        if low <= address < high and path:
            return function_at(path[0], address - low + int(offset, 16))
    return ""


def event(trace: Trace, record: Record) -> str:
    """``+f``, ``-f``: functions; ``<r``, ``>r``: regions; ``=p``: a phase; ``level n``; "" for others."""
    if record.role.startswith("function_"):
        symbol = symbol_at(tuple(trace.maps), record.address)
        return {"enter": "+", "exit": "-"}[record.role[9:]] + (names_of(symbol)[-1] if symbol else "?")
    if record.role in ("region_enter", "region_exit", "phase"):
        sign = {"region_enter": "<", "region_exit": ">", "phase": "="}[record.role]
        return sign + trace.regions[record.name]
    return f"level {record.name}" if record.role == "recording" else ""


def events(trace: Trace, slot: int = 0) -> list[str]:
    """Functions, regions, phases and stops of one thread slot, in order."""
    found = (event(trace, record) for record in trace.slots[slot])
    return [text for text in found if text]


def call(*path: str) -> list[str]:
    """Entries of functions inside each other and their exits."""
    return [f"+{name}" for name in path] + [f"-{name}" for name in reversed(path)]


def nested(texts: Sequence[str]) -> bool:
    """Whether every exit is of the function entered last, and every entry has its exit."""
    open_ones: list[str] = []
    for text in texts:
        if text[0] in "+<":
            open_ones.append(text[1:])
        elif text[0] in "->" and (not open_ones or open_ones.pop() != text[1:]):
            return False
    return not open_ones
