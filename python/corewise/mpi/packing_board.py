"""The board on which ranks tell each other what their messages look like (``preload/packing_hints.hpp``).

Owns the memory: its head, its size, and how ranks find it. It is a file without a name, which the launcher
holds open: ranks open it through the launcher's entry in /proc, and it goes with the last process that has
it, however that one ends. Where /proc cannot be had nothing is told.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KNOB = "COREWISE_PACKING_BOARD"
MOST_RANKS = 512
_MAGIC, _TAGS = b"CWHINTS1", 16
_HEAD = struct.Struct("=8sI52x")
_UNKNOWN_RANKS = 128
"""Served where the launcher's command line says how many ranks there are, and we do not read it."""
_PROC = Path("/proc")


@contextmanager
def board(ranks: int | None) -> Iterator[dict[str, str]]:
    """A board for one launch; gives the variable that names it, or nothing where there can be none.

    Parameters
    ----------
    ranks : of the launch; None: not known; fewer than 2: no board is wanted.
    """
    served = _UNKNOWN_RANKS if ranks is None else ranks
    file = _made(served) if 1 < served <= MOST_RANKS else None
    if file is None:
        yield {}
        return
    try:
        yield {KNOB: str(_PROC / str(os.getpid()) / "fd" / str(file))}
    finally:
        os.close(file)


def _made(ranks: int) -> int | None:
    if not (_PROC / "self" / "fd").is_dir():
        return None
    try:
        file = os.memfd_create("corewise-packing")
    except (OSError, AttributeError):  # some builds of Python lack it
        return None
    try:
        # All of its memory is there before a rank touches it: where there is none, that would end the rank.
        os.posix_fallocate(file, 0, _HEAD.size + 2 * _TAGS * ranks * ranks)
        os.write(file, _HEAD.pack(_MAGIC, ranks))
    except OSError:
        os.close(file)
        return None
    return file
