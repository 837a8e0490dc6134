"""Every command line of corewise that a document shows names a command and options that there are.

SPDX-License-Identifier: BSD-3-Clause
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corewise.cli.commands import Commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^( *)```\w*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def lines_of(text: str) -> Iterator[str]:
    """Command lines of fenced and of indented blocks, and between backquotes."""
    fenced = "\n".join(block for _, block in _BLOCK.findall(text))
    rest = _BLOCK.sub("", text)
    indented = "\n".join(line for line in rest.splitlines() if line.startswith("    "))
    for line in f"{fenced}\n{indented}".replace("\\\n", " ").splitlines():
        if found := re.match(r"\s*(?:\$ )?(?:\S*/)?(corewise \S.*)$", line):
            yield found.group(1)
    yield from (found.replace("\n", " ") for found in re.findall(r"`(corewise [^`]+)`", rest))


def words_of(line: str) -> list[str]:
    """The words that are corewise's own: up to ``--``, a pipe or a redirection."""
    own = re.split(r" -- |[|>;&]|\$\(", line)[0].replace(")", "")
    try:
        words = shlex.split(own, comments=True)
    except ValueError:  # a quotation that the cut or a second line ends
        words = own.split()
    return [word for word in words[1:] if word != "--"]


def unknown(words: list[str]) -> list[str]:
    """Words of a command line that corewise would not know as command or option."""
    command: Any = Commands(name="corewise")
    rest = list(words)
    while rest and getattr(command, "commands", None) and not rest[0].startswith("-"):
        if rest[0] not in command.commands:
            # A group of one default reads it as an argument; the top level does not.
            return [rest[0]]
        command = command.commands[rest.pop(0)]
    if command.context_settings.get("ignore_unknown_options"):  # they are another program's
        return []
    known = {"--help", "-h", "--version"}
    known.update(name for each in command.params for name in [*each.opts, *each.secondary_opts])
    options = [word.split("=")[0] for word in rest if re.match(r"--?[A-Za-z]", word)]
    return [option for option in options if option not in known and option[:2] not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_documented_commands_exist(page: Path) -> None:
    wrong = {}
    for line in lines_of(page.read_text(encoding="utf-8")):
        if re.search(r"\bcorewise [a-z]", line) and (found := unknown(words_of(line))):
            wrong[line] = found
    assert wrong == {}


def test_an_unknown_command_and_an_unknown_option_are_found() -> None:
    assert unknown(["plaice", "ring.json"]) == ["plaice"]
    assert unknown(["place", "ring.json", "--bogus", "-m", "host"]) == ["--bogus"]
    assert unknown(["bench", "sim", "--quick", "--json"]) == []
