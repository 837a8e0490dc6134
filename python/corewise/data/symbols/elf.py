"""What an ELF file says about its code: loaded segments, functions, debug information, where the rest lies.

A stripped program's symbols and debug information may lie in a file of their own: by build id or by its
``.gnu_debuglink`` (whose checksum must fit). A file that is gone or damaged has no functions.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import platform
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from numpy.typing import NDArray

from corewise._core import DebugInfo

DEBUG_ROOT = Path("/usr/lib/debug")
"""Where distributions put separate debug files."""
_SYMBOL = {
    32: [("name", "u4"), ("value", "u4"), ("size", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2")],
    64: [("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8")],
}
_FUNCTION_TYPES = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_FAILURES = (OSError, ELFError, ValueError, KeyError, IndexError, zlib.error)


@dataclass
class FunctionTable:
    """Functions of one file in order of address; of several at one address one is kept.

    Attributes
    ----------
    segments : list of (int, int, int)
        What is loaded: file offset, size, address.
    addresses, sizes : ndarray of uint64
        Of the functions.
    names : ndarray of int64
        Where each one's name starts in `text`.
    """

    segments: list[tuple[int, int, int]] = field(default_factory=list)
    addresses: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    sizes: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    names: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    text: bytes = b""

    def address(self, file_offset: int) -> int | None:
        """Of what lies at an offset in the file; None where that is not loaded."""
        for start, size, address in self.segments:
            if start <= file_offset < start + size:
                return file_offset - start + address
        return None

    def find(self, address: int) -> tuple[str, int] | None:
        """The function around an address, and where it starts."""
        at = int(np.searchsorted(self.addresses, np.uint64(address), side="right")) - 1
        if at < 0:
            return None
        start, size = int(self.addresses[at]), int(self.sizes[at])
        # Hand-written assembly has functions of size 0: they reach to the next one.
        if size and address >= start + size:
            return None
        name = int(self.names[at])
        return self.text[name : self.text.index(b"\0", name)].decode(errors="replace"), start


_LONGEST_CALL = 7


def follows_call(path: str, file_offset: int) -> bool:
    """Whether a call instruction of x86-64 ends at an offset of a file, as one does before a return address.

    On other processors, where instructions are of one length, every word may be an address of return.
    """
    if platform.machine() != "x86_64":
        return True
    try:
        with Path(path).open("rb") as stream:
            stream.seek(max(0, file_offset - _LONGEST_CALL))
            code = stream.read(min(file_offset, _LONGEST_CALL))
    except OSError:
        return False
    direct = len(code) >= 5 and code[-5] == 0xE8
    # FF /2: call through a register or memory, 2 to 7 bytes long.
    through = any(
        code[at] == 0xFF and at + 1 < len(code) and code[at + 1] >> 3 & 7 == 2 for at in range(len(code) - 1)
    )
    return direct or through


def read_functions(path: str) -> FunctionTable:
    """The functions of a file, its separate debug file's included."""
    try:
        with Path(path).open("rb") as stream:
            elf = ELFFile(stream)
            segments = [
                (int(segment["p_offset"]), int(segment["p_filesz"]), int(segment["p_vaddr"]))
                for segment in elf.iter_segments()
                if segment["p_type"] == "PT_LOAD"
            ]
            tables = _symbols(elf, ".dynsym")
            if elf.get_section_by_name(".symtab") is None:
                tables += _symbols_beside(elf, path)
            tables += _symbols(elf, ".symtab")  # the full table, where there is one, has the last word
    except _FAILURES:
        return FunctionTable()
    return _table(segments, tables)


def read_debug(path: str) -> DebugInfo | None:
    """The debug information of a file, or of the debug file that belongs to it; None where there is none."""
    try:
        with Path(path).open("rb") as stream:
            elf = ELFFile(stream)
            if elf.get_section_by_name(".debug_info") is not None:
                return _debug(elf)
            beside = _file_beside(elf, path)
        if beside is None:
            return None
        with beside.open("rb") as stream:
            return _debug(ELFFile(stream))
    except _FAILURES:
        return None


def _debug(elf: ELFFile) -> DebugInfo | None:
    wanted = ("info", "abbrev", "line", "str", "line_str", "ranges", "rnglists", "addr", "str_offsets")
    sections = {}
    for name in wanted:
        section = elf.get_section_by_name(f".debug_{name}")
        if section is not None and section["sh_type"] != "SHT_NOBITS":
            sections[f".debug_{name}"] = bytes(section.data())
    return DebugInfo(sections) if ".debug_info" in sections else None


# ---- symbol tables ---------------------------------------------------------------------------------------


@dataclass
class _Symbols:
    symbols: NDArray[Any]
    text: bytes


def _symbols(elf: ELFFile, name: str) -> list[_Symbols]:
    section = elf.get_section_by_name(name)
    if not isinstance(section, SymbolTableSection) or section["sh_type"] == "SHT_NOBITS":
        return []
    order = "<" if elf.little_endian else ">"
    layout = np.dtype([(field, order + kind) for field, kind in _SYMBOL[int(elf.elfclass)]])
    data = bytes(section.data())
    symbols = np.frombuffer(data[: len(data) // layout.itemsize * layout.itemsize], dtype=layout)
    functions = np.isin(symbols["info"] & 15, _FUNCTION_TYPES) & (symbols["section"] != 0)
    text = bytes(section.stringtable.data()) + b"\0"
    functions &= (symbols["name"] > 0) & (symbols["name"] < len(text))
    return [_Symbols(symbols[functions], text)]


def _symbols_beside(elf: ELFFile, path: str) -> list[_Symbols]:
    beside = _file_beside(elf, path)
    if beside is None:
        return []
    with beside.open("rb") as stream:
        return _symbols(ELFFile(stream), ".symtab")


def _table(segments: list[tuple[int, int, int]], tables: list[_Symbols]) -> FunctionTable:
    if not tables:
        return FunctionTable(segments)
    starts = np.cumsum([0] + [len(table.text) for table in tables[:-1]])
    addresses = np.concatenate([table.symbols["value"].astype(np.uint64) for table in tables])
    sizes = np.concatenate([table.symbols["size"].astype(np.uint64) for table in tables])
    names = np.concatenate(
        [table.symbols["name"].astype(np.int64) + start for table, start in zip(tables, starts, strict=True)]
    )
    # At one address the last one counts, one with a size before one without.
    order = np.lexsort((np.arange(len(addresses)), sizes > 0, addresses))
    last = np.ones(len(order), bool)
    last[:-1] = addresses[order][1:] != addresses[order][:-1]
    order = order[last]
    text = b"".join(table.text for table in tables)
    return FunctionTable(segments, addresses[order], sizes[order], names[order], text)


# ---- separate debug files --------------------------------------------------------------------------------


def _file_beside(elf: ELFFile, path: str) -> Path | None:
    build_id = _build_id(elf)
    if len(build_id) > 2:
        found = DEBUG_ROOT / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        if found.is_file():
            return found
    section = elf.get_section_by_name(".gnu_debuglink")
    if section is None:
        return None
    data = bytes(section.data())
    name = data[: data.index(b"\0")].decode(errors="replace")
    checksum = int.from_bytes(data[-4:], "little" if elf.little_endian else "big")
    folder = Path(path).resolve().parent
    for found in (folder / name, folder / ".debug" / name, DEBUG_ROOT / str(folder).lstrip("/") / name):
        if found.is_file() and found != Path(path) and _checksum(found) == checksum:
            return found
    return None


def _build_id(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".note.gnu.build-id")
    return bytes(section.data())[16:].hex() if section is not None else ""


def _checksum(path: Path) -> int:
    total = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            total = zlib.crc32(block, total)
    return total
