"""Runs a long build and shows one line of how far it is; everything that it says goes to a file.

    progress.py --log FILE TITLE -- COMMAND...

Reads the ``[done/all]`` that ninja writes. On a terminal the line is rewritten, elsewhere it appears every
ten seconds. Where the command fails, the end of what it said is shown. The exit status is the command's.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

_STEP = re.compile(r"\[(\d+)/(\d+)\]")
_EVERY_S = 10.0
_SHOWN_LINES = 60


class Line:
    """The line of progress on a stream."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.begin = time.monotonic()
        self.written = -_EVERY_S
        self.rewrites = sys.stdout.isatty()

    def show(self, amount: str, *, last: bool = False) -> None:
        """Writes it, where it is time to."""
        seconds = time.monotonic() - self.begin
        if not (last or self.rewrites or seconds - self.written >= _EVERY_S):
            return
        self.written = seconds
        text = f"{self.title}: {amount}, {seconds:.0f} s"
        sys.stdout.write(f"\r{text:<78}" + ("\n" if last else "") if self.rewrites else f"{text}\n")
        sys.stdout.flush()


def followed(command: list[str], log: Path, line: Line) -> int:
    """Runs the command to its end; returns its exit status."""
    log.parent.mkdir(parents=True, exist_ok=True)
    line.show("starting")
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child,
    ):
        assert child.stdout is not None
        for text in child.stdout:
            file.write(text)
            if step := _STEP.search(text):
                line.show(f"{step[1]} of {step[2]} steps")
    return child.returncode


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="where everything goes")
    parser.add_argument("title", help="what is being done")
    parser.add_argument("command", nargs="+", help="what to run, after --")
    given = parser.parse_args()
    line = Line(given.title)
    status = followed(given.command, given.log, line)
    line.show("done" if status == 0 else "FAILED", last=True)
    if status != 0:
        said = given.log.read_text(encoding="utf-8").splitlines()
        print("\n".join(said[-_SHOWN_LINES:]), f"(all of it: {given.log})", sep="\n", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
