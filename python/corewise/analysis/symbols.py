"""Functions behind code addresses: an offset in an ELF file to ``function+0x1c``.

Works on offsets in the file, not on run-time addresses, so that position-independent programs and libraries
need no special case. Reads each file's symbol table once. A file that is gone, changed or stripped gives no
name, never a wrong one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import bisect
import ctypes
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_FORTRAN_MODULE = re.compile(r"^__(\w+?)_MOD_(\w+)$")


@dataclass(frozen=True)
class Symbol:
    """A function and how far into it the address lies."""

    function: str
    offset: int


@dataclass
class _Table:
    """Functions of one file, sorted by address, and its loaded segments as (file offset, size, address)."""

    segments: list[tuple[int, int, int]] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    functions: list[tuple[int, str]] = field(default_factory=list)  # size, name


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
    address = _address(table, file_offset - 1)
    if address is None:
        return None
    at = bisect.bisect_right(table.addresses, address) - 1
    if at < 0:
        return None
    size, name = table.functions[at]
    # Hand-written assembly has functions of size 0: they reach to the next one.
    if size and address >= table.addresses[at] + size:
        return None
    return Symbol(demangled(name), address + 1 - table.addresses[at])


def demangled(name: str) -> str:
    """A symbol as its source wrote it: C++ and Fortran modules; without parameter lists."""
    module = _FORTRAN_MODULE.match(name)
    if module:
        return f"{module[1]}::{module[2]}"
    if not name.startswith("_Z"):
        return name
    return _without_parameters(_demangle_cpp(name))


def _without_parameters(name: str) -> str:
    """Cuts from the parenthesis that opens the parameter list: the last one at depth 0."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        if name[at] == ")":
            depth += 1
        elif name[at] == "(":
            depth -= 1
            if depth == 0 and not name.startswith("(anonymous", at):
                return name[:at]
    return name


def _demangle_cpp(name: str) -> str:
    library = _cpp_library()
    if library is None:
        return name
    status = ctypes.c_int()
    found = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    text = ctypes.string_at(found).decode(errors="replace")
    _c_library().free(ctypes.c_void_p(found))
    return text


@lru_cache(maxsize=1)
def _cpp_library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
    except (OSError, AttributeError):
        return None
    return library


@lru_cache(maxsize=1)
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _address(table: _Table, file_offset: int) -> int | None:
    for start, size, address in table.segments:
        if start <= file_offset < start + size:
            return file_offset - start + address
    return None


@lru_cache(maxsize=256)
def _table(path: str) -> _Table:
    try:
        with Path(path).open("rb") as stream:
            return _read(ELFFile(stream))
    except (OSError, ELFError, ValueError):
        return _Table()


def _read(elf: ELFFile) -> _Table:
    segments = [
        (int(segment["p_offset"]), int(segment["p_filesz"]), int(segment["p_vaddr"]))
        for segment in elf.iter_segments()
        if segment["p_type"] == "PT_LOAD"
    ]
    found: dict[int, tuple[int, str]] = {}
    for name in (".dynsym", ".symtab"):  # the full table, where there is one, has the last word
        section = elf.get_section_by_name(name)
        if isinstance(section, SymbolTableSection):
            found.update(_functions(section))
    addresses = sorted(found)
    return _Table(segments, addresses, [found[address] for address in addresses])


def _functions(section: SymbolTableSection) -> dict[int, tuple[int, str]]:
    return {
        int(symbol["st_value"]): (int(symbol["st_size"]), str(symbol.name))
        for symbol in section.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF" and symbol.name
    }
