"""Commands that documents show, and whether what they print is what is shown.

A block that opens with ```` ```console ```` is a terminal: a line ``$ command`` (a backslash at its end
continues it), then the lines that it prints. ``...`` alone stands for any lines, at the end of a line for its
rest. Blanks, and the lines of boxes, do not count. Where a command measures, numbers and their units are not
compared, nor what is drawn from them. A block of commands without output only lists them. A page's commands
run one after another in one folder, as a reader would type them. A block after a line that ends with "save
this as `NAME`:" is a file of that name.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MEASURING = {
    "run",
    "report",
    "waits",
    "advise",
    "bench",
    "probe",
    "doctor",
    "diff",
    "call-graph",
    "matrix",
    "export",
}
"""Commands whose numbers differ from run to run."""
TIMEOUT_S = 300.0

_BLOCK = re.compile(r"^( *)```console\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"[Ss]ave this as `([\w.-]+)`:\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BOX = re.compile(r"[─-╿▀-▟|]+")
_NUMBER = re.compile(
    r"[-+]?\d+(?:[.,   ]\d+)*(?:e[-+]?\d+)?(?:\s*(?:%|[munpµ]?s|min|[KMGT]?i?B(?:/s)?|times)(?!\w))?"
)


@dataclass
class Shown:
    """A command of a page.

    Attributes
    ----------
    command : str
    lines : list of str
        What it prints, as the page shows it.
    """

    command: str
    lines: list[str] = field(default_factory=list)

    @property
    def measures(self) -> bool:
        """Whether its numbers differ from run to run."""
        words = shlex.split(self.command, comments=True)
        return words[:1] != ["corewise"] or len(words) < 2 or words[1] in MEASURING or "host" in words


def shown(text: str) -> list[Shown]:
    """The commands of a page, in their order."""
    blocks = (_commands(indent, block) for indent, block in _BLOCK.findall(text))
    return [each for block in blocks if any(one.lines for one in block) for each in block]


def saved(text: str) -> dict[str, str]:
    """The files that a page tells its reader to save, by name."""
    return dict(_SAVED.findall(text))


def _commands(indent: str, block: str) -> list[Shown]:
    found: list[Shown] = []
    continued = False
    for line in (line.removeprefix(indent) for line in block.splitlines()):
        if continued:
            found[-1].command += line.rstrip("\\").rstrip()
        elif line.startswith("$ "):
            found.append(Shown(line[2:].rstrip("\\")))
        elif found:
            found[-1].lines.append(line)
        continued = line.endswith("\\") and (continued or line.startswith("$ "))
    return found


def run(
    commands: list[Shown], folder: Path, path: str, environment: Mapping[str, str] = os.environ
) -> Iterator[tuple[Shown, str]]:
    """Runs a page's commands; each with what it printed on both streams.

    Parameters
    ----------
    commands : list of Shown
    folder : Path
        Where they run; empty at first.
    path : str
        What stands before the search path of programs.
    environment : mapping
        The other variables, and the rest of that path.

    Raises
    ------
    AssertionError
        A command failed.
    """
    env = {**environment, "PATH": f"{path}:{environment['PATH']}", "COLUMNS": "120"}
    for each in commands:
        done = subprocess.run(
            ["bash", "-c", each.command],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, f"$ {each.command}\n{done.stdout}"
        yield each, done.stdout


def missing(each: Shown, printed: str) -> list[str]:
    """Lines of the page that the command did not print in this order; empty where all is as shown."""
    there = [_plain(line, each.measures) for line in printed.splitlines()]
    at, free, lost = 0, False, []
    for line in each.lines:
        if line.strip() == "...":
            free = True
            continue
        wanted = _plain(line, each.measures)
        if not wanted:
            continue
        ahead = [i for i in range(at, len(there)) if there[i]]
        ends = ahead if free else ahead[:1]
        hit = next((i for i in ends if _matches(there[i], wanted)), None)
        if hit is None:
            lost.append(line)
        else:
            at, free = hit + 1, False
    return lost


def _matches(printed: str, wanted: str) -> bool:
    return printed.startswith(wanted[:-3]) if wanted.endswith("...") else printed == wanted


def _plain(line: str, measured: bool) -> str:
    """A line without what does not count."""
    text = _BOX.sub(" ", line)
    if measured:
        text = re.sub(r"\S*\d{4}-\d\d-\d\dT\S*", "#", _NUMBER.sub("#", text))
        text = re.sub(r"\bon \S+, #", "on #, #", text)
    return " ".join(text.split())
