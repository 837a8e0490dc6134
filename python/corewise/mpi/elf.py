"""What an executable file says of itself: which libraries it needs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile


def is_elf(path: Path) -> bool:
    """Whether `path` is a readable ELF file."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def needed_libraries(path: Path) -> list[str]:
    """Names of the shared libraries that an executable needs directly.

    Parameters
    ----------
    path : the file.

    Returns
    -------
    list of str
        Empty for scripts, static programs and files that cannot be read.
    """
    return _dynamic_texts(path, "DT_NEEDED", "needed")


def soname(path: Path) -> str:
    """The name under which the loader knows a shared library: its own, or else its file's."""
    return next(iter(_dynamic_texts(path, "DT_SONAME", "soname")), path.name)


def _dynamic_texts(path: Path, tag_name: str, attribute: str) -> list[str]:
    """Texts of one kind in the dynamic section; pyelftools adds `attribute` to tags of that kind only."""
    if not is_elf(path):
        return []
    try:
        with path.open("rb") as file:
            sections = [s for s in ELFFile(file).iter_sections() if isinstance(s, DynamicSection)]
            return [
                str(getattr(tag, attribute))
                for section in sections
                for tag in section.iter_tags()
                if tag.entry.d_tag == tag_name
            ]
    except (OSError, ELFError):
        return []


def exported_functions(path: Path) -> dict[str, int]:
    """Functions that a shared library exports -> their addresses; empty where nothing can be read."""
    try:
        with path.open("rb") as opened:
            table: Any = ELFFile(opened).get_section_by_name(".dynsym")
            return {
                str(each.name): int(each["st_value"])
                for each in (table.iter_symbols() if table is not None else ())
                if each["st_shndx"] != "SHN_UNDEF" and each["st_info"]["type"] == "STT_FUNC"
            }
    except (OSError, ELFError):
        return {}


def functions_with_parts(path: Path) -> set[str]:
    """Functions of a library, which a linker's script may name, and of those beside it that it is made of."""
    return {name for member in members(path) for name in exported_functions(member)}


def members(path: Path) -> list[Path]:
    """A library and what it needs beside it; for a linker's script what it names."""
    if is_elf(path):
        names = needed_libraries(path)
        beside = [path.resolve().parent / name for name in names if name.startswith(("libmpi", "libpmpi"))]
        return [path, *(each for each in beside if each.is_file())]
    try:
        named = re.findall(r"[\w./+-]+\.so[\w.]*", path.read_text(errors="replace"))
    except OSError:
        return []
    files = [path.resolve().parent / name for name in named]
    return [member for file in files if is_elf(file) for member in members(file)]


def loaded_files(path: Path) -> list[Path]:
    """Files of all shared libraries that an executable loads, as the loader finds them without running it."""
    return [
        Path(words[2]) for words in _listed_by_loader(path) if len(words) > 2 and words[2].startswith("/")
    ]


def loaded_libraries(path: Path) -> list[str]:
    """Names of all shared libraries that an executable loads, as the loader lists them without running it.

    Parameters
    ----------
    path : the file.

    Returns
    -------
    list of str
        Empty for what is no dynamic ELF file, and where there is no ``ldd``.
    """
    return [words[0] for words in _listed_by_loader(path)]


def _listed_by_loader(path: Path) -> list[list[str]]:
    """Lines ``name => file (address)`` of ``ldd``, as words."""
    if not needed_libraries(path):
        return []
    try:
        # Absolute: a name that begins with a dash would be an option.
        command = ["ldd", str(path.absolute())]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.split() for line in done.stdout.splitlines() if "=>" in line]
