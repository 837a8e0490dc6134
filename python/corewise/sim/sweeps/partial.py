"""The file in which a sweep keeps what is done, and from which an interrupted one goes on.

Owns the format (docs/formats/sweep.md). The file is written as a whole, beside its target, and renamed. It
says which sweep it belongs to; another sweep's is refused, not overwritten. When the sweep is complete the
file is gone.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corewise.base.documents import read_json
from corewise.base.files import check_target, write_text
from corewise.errors import bad_field, shown

FORMAT, VERSION = "corewise-sweep", 1
SUFFIX = ".partial"
EVERY_S = 2.0
"""Between two writings, or twenty times what one takes; what was done since is done again after a kill."""
MOST_BYTES = 1 << 25
"""Of the file; what goes beyond is done again."""


def beside(output: Path | None, named: Path | None) -> Path | None:
    """Where a sweep keeps what is done: the file named, or one beside its output; none without both."""
    if named is not None or output is None:
        return named
    return output.with_name(output.name + SUFFIX)


class Partial:
    """What is done of a sweep.

    Parameters
    ----------
    path : Path or None
        The file; None: nothing is kept.
    identity : str
        Of the sweep: everything that its results depend on.
    jobs : int
        How many it has.
    valid : callable
        Whether a value can be the result of a job.
    """

    def __init__(
        self, path: Path | None, identity: str, jobs: int, valid: Callable[[int, Any], bool]
    ) -> None:
        self._path, self._identity, self._jobs, self._valid = path, identity, jobs, valid
        self.results: dict[int, Any] = {}
        self._unwritten, self._every_s = 0, EVERY_S
        self._written_s = time.monotonic()
        if path is not None:
            check_target(path)
            if path.exists():
                self._read(path)

    def _read(self, path: Path) -> None:
        document = read_json(path)
        if document.value("format") != FORMAT:
            raise document.wrong("format", f"'{FORMAT}'")
        if document.value("version") != VERSION:
            raise document.wrong("version", str(VERSION))
        if document.text("sweep") != self._identity:
            raise bad_field(
                str(path),
                "sweep",
                "another sweep, or another version of corewise",
                f"{self._identity[:12]}... of this sweep; remove the file or name another with --resume",
            )
        results = document.table("results")
        for key, value in results.raw().items():
            if not (key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < self._jobs):
                raise bad_field(str(path), "results", key, f"numbers of jobs, 0 to {self._jobs - 1}")
            if not self._valid(int(key), value):
                raise bad_field(str(path), f"results.{key}", shown(value), "the result of that job")
            self.results[int(key)] = value

    def add(self, job: int, value: Any) -> None:
        """One job is done; a job that is done twice counts once."""
        self.results[job] = value
        self._unwritten += 1
        if time.monotonic() - self._written_s >= self._every_s:
            self.write()

    def write(self) -> None:
        """Keeps what is done so far."""
        begun_s = time.monotonic()
        if self._path is not None and self._unwritten:
            document = {
                "format": FORMAT,
                "version": VERSION,
                "sweep": self._identity,
                "jobs": self._jobs,
                "results": {str(job): self.results[job] for job in sorted(self.results)},
            }
            text = json.dumps(document, allow_nan=False) + "\n"
            if len(text) <= MOST_BYTES:
                write_text(self._path, text)
        self._unwritten, self._written_s = 0, time.monotonic()
        self._every_s = max(EVERY_S, 20 * (self._written_s - begun_s))

    def complete(self) -> None:
        """All is done: nothing is left to go on from."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
