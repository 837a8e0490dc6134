"""Targets that are there as a whole or not at all, however large what is written to them.

Owns the temporary neighbour that becomes the target with one rename. Invariant: whatever goes wrong, the
target is what it was and the temporary is gone.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corewise.data.files import check_target
from corewise.errors import InputError, RunError


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A file to write; it takes the target's place when the block ends without an error.

    What is no regular file (a pipe, a terminal) is written to directly.
    """
    check_target(path)
    if path.exists() and not path.is_file():
        with _named_errors(path):
            yield path
        return
    target = path.resolve()
    staged = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with _named_errors(path):
            yield staged
            if target.exists():
                staged.chmod(target.stat().st_mode & 0o7777)
            staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Refuses a target that cannot become a new folder."""
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.exists():
        found = "a folder that is not empty" if path.is_dir() else "a file"
        raise InputError(f"{path}: found {found}, allowed: a folder that does not exist yet")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"{path}: cannot be written: Permission denied")


@contextmanager
def staged_folder(path: Path) -> Iterator[Path]:
    """The same for a folder, which must not exist yet or be empty. The block makes the folder it is given."""
    check_folder(path)
    target = path.absolute()
    staged = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with _named_errors(path):
            yield staged
            staged.replace(target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None
