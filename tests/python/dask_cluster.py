"""A real Dask scheduler with its workers, for tests: each is a process, which a test may kill.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

START_S = 60
"""On a busy host Python may take long to start."""


class Cluster:
    """A Dask scheduler and its workers, each a process."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-show")
        self.address = self._told_address().replace("tcp://", "dask://")
        self.workers: list[subprocess.Popen[bytes]] = []

    def _told_address(self) -> str:
        """From the scheduler's file, which is there before all of it is written."""
        until = time.monotonic() + START_S
        while True:
            try:
                return str(json.loads(self.file.read_text())["address"])
            except (FileNotFoundError, json.JSONDecodeError):
                if time.monotonic() > until:
                    raise
            time.sleep(0.05)

    def add_workers(self, count: int) -> None:
        """They are the scheduler's when this returns."""
        for _ in range(count):
            self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny"))
        log = self.folder / "worker.log"
        until = time.monotonic() + START_S
        while log.read_text(errors="replace").count("Registered to:") < len(self.workers):
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.05)

    def _start(self, role: str, *options: str) -> subprocess.Popen[bytes]:
        words = [
            sys.executable,
            "-m",
            "dask",
            role,
            "--scheduler-file",
            str(self.file),
            "--no-dashboard",
            *options,
        ]
        log = (self.folder / f"{role}.log").open("ab")
        return subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log)

    def end(self) -> None:
        for each in [*self.workers, self.scheduler]:
            each.kill()
            each.wait()
