"""Memory that all ranks of a launch on this node can share: a file without a name, held open by the launcher.

Owns how it is made and named. The ranks open it through the launcher's entry in /proc. It goes with the last
process that has it, however that one ends. A file in /dev/shm would stay where the launcher is killed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROC = Path("/proc")


@contextmanager
def launch_memory(size_bytes: int) -> Iterator[Path | None]:
    """Zeroed memory for as long as the context lasts; None where this system has no way to it.

    Parameters
    ----------
    size_bytes : all of it is there before a rank starts: a rank that touches a hole where memory is short
        would be ended.

    Yields
    ------
    Path or None
        What ranks of this user open and map.
    """
    file = _made(size_bytes)
    if file is None:
        yield None
        return
    try:
        yield _PROC / str(os.getpid()) / "fd" / str(file)
    finally:
        os.close(file)


def _made(size_bytes: int) -> int | None:
    if not (_PROC / "self" / "fd").is_dir():
        return None
    try:
        file = os.memfd_create("corewise-launch")
    except (OSError, AttributeError):  # some builds of Python lack it
        return None
    try:
        os.posix_fallocate(file, 0, size_bytes)
    except OSError:
        os.close(file)
        return None
    return file
