"""What an executable file says of itself: which libraries it needs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
from pathlib import Path

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
    if not is_elf(path):
        return []
    try:
        with path.open("rb") as file:
            sections = [s for s in ELFFile(file).iter_sections() if isinstance(s, DynamicSection)]
            return [
                str(getattr(tag, "needed"))  # noqa: B009 - pyelftools adds it to tags of this kind only
                for section in sections
                for tag in section.iter_tags()
                if tag.entry.d_tag == "DT_NEEDED"
            ]
    except (OSError, ELFError):
        return []


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
    if not needed_libraries(path):
        return []
    try:
        done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.split()[0] for line in done.stdout.splitlines() if "=>" in line]
