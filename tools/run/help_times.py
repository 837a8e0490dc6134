"""Prints how much of a core `--help` of every command takes, the least of some tries, slowest first.

    help_times.py [--tries N]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from corewise.cli.main import build_app

GOAL_S = 0.3
"""Of a core that is not shared; docs and tests name no time."""


def commands(command: Any, words: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and group, by the words that call it."""
    yield tuple(words)
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*words, name))


def core_s(words: Sequence[str]) -> float:
    """The time of a core, in user and in system mode, that one help takes."""
    before = os.times()
    tool = Path(sys.executable).with_name("corewise")
    subprocess.run([tool, *words, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    """Measures all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tries", type=int, default=3, help="of each command")
    tries = parser.parse_args().tries
    found = [
        (min(core_s(words) for _ in range(tries)), words)
        for words in commands(typer.main.get_command(build_app()))
    ]
    for seconds, words in sorted(found, reverse=True):
        mark = "" if seconds <= GOAL_S else f"  over {GOAL_S} s"
        print(f"{seconds:.2f} s  {' '.join(['corewise', *words])}{mark}")


if __name__ == "__main__":
    main()
