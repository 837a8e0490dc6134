"""Reading and writing text files with errors that a user can act on.

Every file that `corewise.data` touches goes through here, so that a missing or unreadable file gives one
`InputError` naming it, and a file that cannot be written one `RunError`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

from corewise.errors import InputError, RunError


def read_text(path: Path) -> str:
    """The UTF-8 text of a file, or an `InputError` that names it."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}), allowed: a text file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Writes a file; its folder must exist."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None
