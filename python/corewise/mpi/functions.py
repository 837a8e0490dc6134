"""Which functions are recorded: names turned into addresses before the run.

Owns the file that the preload maps (``functions_filter.hpp`` has its layout) and what a
pattern
means: a function is recorded if a pattern matches one of its names (or there are none to match), and no
pattern that starts with ``!`` does. Its names are the symbol, the symbol without a trailing underscore
(Fortran), the C++ name with and without parameters, and that name's last part. Only programs and libraries
that were compiled with ``-finstrument-functions`` are looked at: no others call the hooks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import difflib
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TypeVar

from corewise.base import late
from corewise.base.files import write_bytes
from corewise.errors import InputError

with late.imports():
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    from corewise.mpi import elf

_T = TypeVar("_T")

FILTER = "functions.filter"
"""Name of the file in a profile."""

HOOK = "__cyg_profile_func_enter"
DEEPEST = 63
_NOT_COMPILED = frozenset(
    {
        "_init",
        "_fini",
        "_start",
        "call_weak_fn",
        "frame_dummy",
        "register_tm_clones",
        "deregister_tm_clones",
        "__do_global_ctors_aux",
        "__do_global_dtors_aux",
        "__libc_csu_init",
        "__libc_csu_fini",
        "_dl_relocate_static_pie",
    }
)
"""What compiler and linker add to every file (crt1.o, crti.o, crtbegin.o): without hooks."""
_MAGIC = b"CCWFILT1"
_FILTERED, _LISTED_ARE_RECORDED = 1, 2
_HEADER, _OBJECT = struct.Struct("<8sQIIQ"), struct.Struct("<QQQQ")


@dataclass(frozen=True)
class FunctionChoice:
    """What is recorded of the functions that a run enters.

    Attributes
    ----------
    patterns : shell patterns of names, with ``!`` before what is left out; none: every function.
    least_ns : functions that took less leave no record.
    depth : how many functions deep is recorded, 0: any.
    libraries : further files with functions, which the program loads itself (``dlopen``).
    """

    patterns: tuple[str, ...] = ()
    least_ns: int = 0
    depth: int = 0
    libraries: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.patterns or self.least_ns or self.depth or self.libraries)


@dataclass(frozen=True)
class Function:
    """One function of a file: the address its symbol table gives, and the names it is known by."""

    address: int
    names: tuple[str, ...]


def write_filter(choice: FunctionChoice, programs: Sequence[Path], file: Path) -> None:
    """Writes the file by which the preload decides.

    Parameters
    ----------
    choice : what the user asked for.
    programs : the executables that will run; their libraries are found by the loader's rules.
    file : where to write.

    Raises
    ------
    InputError
        A pattern is empty or matches nothing, or no file was compiled with the hooks.
    """
    check_patterns(choice.patterns)
    objects = instrumented(choice, programs)
    if not objects:
        tried = ", ".join(str(path) for path in [*programs, *choice.libraries]) or "the program"
        raise InputError(
            f"{tried}: no function there calls the hooks of -finstrument-functions, so there is nothing to "
            "choose from: compile with it, or name the library that the program loads with --function-library"
        )
    listed = [(path, _listed(choice.patterns, functions)) for path, functions in objects.items()]
    _refuse_unmatched(choice.patterns, [f for functions in objects.values() for f in functions])
    write_bytes(file, _packed(choice, listed))


def check_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns, none of which says nothing.

    Raises
    ------
    InputError
        An empty one, or a lone ``!``.
    """
    for pattern in patterns:
        if not pattern.removeprefix("!").strip():
            raise InputError(
                f"--functions: found '{pattern}', allowed: a name with * and ? as in a shell, e.g. 'solve*', "
                "or one to leave out, e.g. '!tiny_*'"
            )
    return tuple(patterns)


def instrumented(choice: FunctionChoice, programs: Sequence[Path]) -> dict[Path, list[Function]]:
    """The functions of every file that calls the hooks, by the file's real path."""
    files: dict[Path, None] = {}
    for program in [*programs, *choice.libraries]:
        files |= dict.fromkeys(path.resolve() for path in [program, *elf.loaded_files(program)])
    return {path: functions_of(path) for path in files if calls_hooks(path)}


def calls_hooks(path: Path) -> bool:
    """Whether a file imports the hook; the C library exports one that does nothing."""
    return _read(path, _imports_hook, False)


def functions_of(path: Path) -> list[Function]:
    """The functions that were compiled into a file, static ones too where it was not stripped."""
    return _read(path, _defined, [])


def _read(path: Path, what: Callable[[ELFFile], _T], otherwise: _T) -> _T:
    try:
        with path.open("rb") as file:
            return what(ELFFile(file))
    except (OSError, ELFError):
        return otherwise


def _imports_hook(file: ELFFile) -> bool:
    table = file.get_section_by_name(".dynsym")
    return isinstance(table, SymbolTableSection) and any(
        symbol.name == HOOK and symbol["st_shndx"] == "SHN_UNDEF" for symbol in table.iter_symbols()
    )


def _defined(file: ELFFile) -> list[Function]:
    table = file.get_section_by_name(".symtab") or file.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return []
    return [
        Function(symbol["st_value"], names_of(symbol.name))
        for symbol in table.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC"
        and symbol["st_value"] != 0
        and symbol.name not in _NOT_COMPILED
    ]


def names_of(symbol: str) -> tuple[str, ...]:
    """What a user may call the function of a symbol.

    Parameters
    ----------
    symbol : e.g. ``solve``, ``solve_`` (Fortran), ``__grid_MOD_solve``, ``_ZN6Solver5solveEi``.

    Returns
    -------
    tuple of str
        Without repetitions, the symbol first.
    """
    base = symbol.partition(".")[0] or symbol  # clones: solve.part.0
    names = [symbol, base, base.removesuffix("_")]
    module = re.fullmatch(r"__(\w+)_MOD_(\w+)", base)
    if module is not None:
        names += [f"{module[1]}::{module[2]}", module[2]]
    if base.startswith("_Z"):
        full = demangled(base)
        plain = _without_parameters(full)
        names += [full, plain, _last_part(plain)]
    return tuple(dict.fromkeys(name for name in names if name))


@cache
def _demangler() -> tuple[ctypes.CDLL, ctypes.CDLL] | None:
    """The C++ runtime and the C library, None where there is no C++ runtime."""
    try:
        runtime, system = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
        runtime.__cxa_demangle.restype = ctypes.c_void_p
        system.free.argtypes = [ctypes.c_void_p]
        return runtime, system
    except (OSError, AttributeError):
        return None


def demangled(symbol: str) -> str:
    """The C++ name of a symbol, or the symbol."""
    libraries = _demangler()
    if libraries is None:
        return symbol
    runtime, system = libraries
    status = ctypes.c_int()
    place = runtime.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not place:
        return symbol
    try:
        return ctypes.string_at(place).decode(errors="replace")
    finally:
        system.free(place)


def _without_parameters(name: str) -> str:
    """``a::f<int>(b) const`` without the last list in parentheses and what follows it."""
    depth, at = 0, name.rfind(")")
    while at >= 0:
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            break
        at -= 1
    return name[:at] if at > 0 else name


def _last_part(name: str) -> str:
    """``f<int>`` of ``a::f<int>``, whatever the template's arguments hold."""
    depth, start = 0, 0
    for at, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if depth == 0 and name.startswith("::", at):
            start = at + 2
    return name[start:]


def _matches(pattern: str, function: Function) -> bool:
    return any(fnmatchcase(name, pattern) for name in function.names)


def _wanted(patterns: Sequence[str], function: Function) -> bool:
    only = [pattern for pattern in patterns if not pattern.startswith("!")]
    without = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    chosen = not only or any(_matches(pattern, function) for pattern in only)
    return chosen and not any(_matches(pattern, function) for pattern in without)


def _lists_recorded(patterns: Sequence[str]) -> bool:
    """Whether the list is of what is recorded: then functions nobody knows of are not."""
    return any(not pattern.startswith("!") for pattern in patterns)


def _listed(patterns: Sequence[str], functions: Sequence[Function]) -> list[int]:
    """Addresses for the list: what is recorded, or what is left out. One address may have several symbols."""
    if not patterns:
        return []
    kept = _lists_recorded(patterns)
    return sorted({f.address for f in functions if _wanted(patterns, f) == kept})


def _refuse_unmatched(patterns: Sequence[str], functions: Sequence[Function]) -> None:
    for pattern in patterns:
        bare = pattern.removeprefix("!")
        if any(_matches(bare, function) for function in functions):
            continue
        known = sorted({function.names[-1] for function in functions})
        near = difflib.get_close_matches(bare, known, n=3, cutoff=0.4) or known[:3]
        raise InputError(
            f"--functions: found '{pattern}', which matches no instrumented function; "
            f"there are {len(known)}, e.g. {', '.join(near)}"
        )


def _packed(choice: FunctionChoice, listed: Sequence[tuple[Path, Sequence[int]]]) -> bytes:
    flags = (_FILTERED if choice.patterns else 0) | (
        _LISTED_ARE_RECORDED if _lists_recorded(choice.patterns) else 0
    )
    paths = [str(path).encode() for path, _ in listed]
    addresses = [address for _, found in listed for address in found]
    path_at = _HEADER.size + _OBJECT.size * len(listed) + 8 * len(addresses)
    data = _HEADER.pack(_MAGIC, choice.least_ns, choice.depth, flags, len(listed))
    first = 0
    for path, (_, found) in zip(paths, listed, strict=True):
        data += _OBJECT.pack(first, len(found), path_at, len(path))
        first += len(found)
        path_at += len(path)
    return data + struct.pack(f"<{len(addresses)}Q", *addresses) + b"".join(paths)
