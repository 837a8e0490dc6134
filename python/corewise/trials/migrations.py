"""Counts migrations: on which core the processes of one name are, looked at again and again in /proc.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

_LOOK_EVERY_S = 0.002


class Watcher:
    """Watches this process's descendants of one name while its ``with`` block runs.

    Parameters
    ----------
    name : str
        Of the program's file.

    Attributes
    ----------
    migrations : int
        How often one was found on another core than before: a lower bound.
    """

    def __init__(self, name: str) -> None:
        self.migrations = 0
        self._name = name[:15]  # as long as the kernel keeps it
        self._core: dict[int, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def works(self) -> bool:
        """Whether /proc says where a process is."""
        return _stat(os.getpid()) is not None

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.is_set():
            for entry in Path("/proc").iterdir():
                self._look(entry.name)
            time.sleep(_LOOK_EVERY_S)

    def _look(self, entry: str) -> None:
        found = _stat(int(entry)) if entry.isdigit() else None
        if found is None or found[0] != self._name or not _descends(int(entry)):
            return
        known = self._core.get(int(entry))
        self.migrations += known is not None and known != found[2]
        self._core[int(entry)] = found[2]


def _stat(process: int) -> tuple[str, int, int] | None:
    """Name, parent and core of a process (proc(5), /proc/PID/stat: fields 2, 4 and 39)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 1 :].split()
        return name, int(rest[1]), int(rest[36])
    except (OSError, ValueError, IndexError):
        return None


def _descends(process: int) -> bool:
    mine = os.getpid()
    while process > 1:
        if process == mine:
            return True
        found = _stat(process)
        if found is None:
            return False
        process = found[1]
    return False
