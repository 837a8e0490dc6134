"""Reading and writing files with errors that a user can act on.

Every file that a user names goes through here, so that a missing or unreadable file gives one `InputError`
naming it, a target that cannot be a file likewise, and a file that cannot be written one `RunError`.
Invariants: what is read is a regular file of bounded size; what is written is there as a whole or as it was
before: a temporary neighbour becomes the target with one rename, or is gone.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from corewise.errors import InputError, RunError

MOST_BYTES = 1 << 28
"""Of a text that is read: more than any of ours, and less than the memory of a small machine."""
_NUMBERS = itertools.count()


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The UTF-8 text of a file, or an `InputError` that names it; a byte order mark is left out."""
    content = read_bytes(path, most_bytes)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}), allowed: a text file") from None
    if "\0" in text:
        raise InputError(f"{path}: not text (byte {content.index(0)} is 0), allowed: a text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file; what never ends, or never begins, is not even opened to be read."""
    try:
        # A pipe that nobody writes to would block the opening.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"{str(path)!r}: cannot be read: {error}") from None
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            raise InputError(f"{path}: found {_kind_text(kind)}, allowed: a regular file")
        return _bounded(path, descriptor, most_bytes)
    finally:
        os.close(descriptor)


def _bounded(path: Path, descriptor: int, most_bytes: int) -> bytes:
    """All of a file, whatever its size is said to be: that of /proc says 0, and another may still grow."""
    parts, left = [], most_bytes + 1
    try:
        while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if left == 0:
        raise InputError(f"{path}: found more than {most_bytes >> 20} MiB, allowed: at most that")
    return b"".join(parts)


def _kind_text(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((text for is_kind, text in kinds if is_kind(mode)), "a device")


def check_target(path: Path, inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuses a path that no file can be written to, so that nobody waits for a result that is then lost.

    `inputs` are what the command reads (names that are no files do not count): none of them is replaced.
    """
    if any(each is not None and _one_file(path, Path(each)) for each in inputs):
        raise InputError(f"{path}: found a file that this command reads, allowed: another file to write")
    if path.is_dir():
        raise InputError(f"{path}: found a folder, allowed: a file to write")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{path}: cannot be written: Permission denied")


def check_ending(path: Path | None, allowed: str) -> None:
    """Refuses a file name that says another form than what is written; one without an ending says none."""
    if path is not None and path.suffix and path.suffix.lower() != allowed:
        raise InputError(f"{path}: found the ending '{path.suffix}', allowed: {allowed}")


def _one_file(path: Path, other: Path) -> bool:
    try:
        return path.is_file() and other.is_file() and path.samefile(other)
    except (OSError, ValueError):  # a name that no file can have
        return False


def check_folder(path: Path) -> None:
    """Refuses a target that cannot become a new folder."""
    if path.is_dir() and not any(path.iterdir()):
        return
    if path.exists():
        found = "a folder that is not empty" if path.is_dir() else "a file"
        raise InputError(f"{path}: found {found}, allowed: a folder that does not exist yet, or is empty")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"{path}: cannot be written: Permission denied")


def write_text(path: Path, text: str) -> None:
    """Writes a text file in one step, as UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file in one step; its folder must exist."""
    with staged_file(path) as file:
        file.write_bytes(content)


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A file to write; it takes the target's place when the block ends without an error.

    A pipe or a terminal cannot be replaced, nor what /dev/stdout leads to, nor a file in a folder where no
    other can be made: these are written to directly.
    """
    check_target(path)
    target = path.resolve()
    parts = path.absolute().parts
    device = parts[1] in ("dev", "proc") and parts[2:3] != ("shm",)
    special = (path.exists() and not path.is_file()) or device
    if special or not os.access(target.parent, os.W_OK):
        with _named_errors(path):
            yield path
        return
    staged = _neighbour(target)
    try:
        with _named_errors(path):
            yield staged
            if target.exists():
                staged.chmod(target.stat().st_mode & 0o7777)
            staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)


@contextmanager
def staged_folder(path: Path) -> Iterator[Path]:
    """The same for a folder, which must not exist yet or be empty. The block makes the folder it is given.

    An empty folder stays the one that it is, with its owner and its rights: somebody may be in it.
    """
    check_folder(path)
    target = path.resolve()
    staged = _neighbour(target)
    try:
        with _named_errors(path):
            yield staged
            if target.is_dir():
                _move_in(staged, target)
            else:
                staged.replace(target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _move_in(staged: Path, target: Path) -> None:
    """All that lies in a folder into another one, or nothing of it."""
    moved: list[Path] = []
    try:
        for each in staged.iterdir():
            moved.append(each.replace(target / each.name))
    except OSError:
        for each in moved:
            each.replace(staged / each.name)
        raise


def _neighbour(target: Path) -> Path:
    """A name beside the target; not made from its name, which may be as long as names can be."""
    return target.with_name(f".corewise.{os.getpid()}.{next(_NUMBERS)}.tmp")


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None
