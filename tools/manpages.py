"""Writes a manual page for every command, from the command line's own help.

    manpages.py FOLDER        FOLDER/corewise.1, FOLDER/corewise-place.1, FOLDER/corewise-machines-show.1, ...

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import corewise
from corewise.cli.commands import SECTIONS
from corewise.cli.groups import first_sentence
from corewise.cli.main import build_app

_STATUS = """.SH EXIT STATUS
0: done. 1: the run failed. 2: the input is wrong; one line on standard error says what was found and
what is allowed.
"""


def commands(command: Any, words: list[str]) -> Iterator[tuple[list[str], Any]]:
    """Every command below one, with the words that call it."""
    yield words, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, [*words, name])


def escaped(text: str) -> str:
    """Text that roff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def page(words: list[str], command: Any) -> str:
    """One command's page."""
    name = "-".join(words)
    context = typer.Context(command, info_name=" ".join(words))
    # The mark stands before paragraphs that are not to be filled.
    text = (command.help or "").replace("\b\n", "")
    about, _, example = text.partition("Example:")
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [
        f'.TH "{name.upper()}" "1" "" "corewise {corewise.__version__}" "corewise"',
        f".SH NAME\n{escaped(name)} \\- {escaped(first_sentence(text))}",
        f".SH SYNOPSIS\n.B {escaped(' '.join(usage.split()))}",
        f".SH DESCRIPTION\n{_paragraphs(about)}",
    ]
    options = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    if options:
        rows = "".join(f".TP\n.B {escaped(left)}\n{escaped(right)}\n" for left, right in options)
        parts.append(f".SH OPTIONS\n{rows.rstrip()}")
    if example:
        parts.append(f".SH EXAMPLES\n.nf\n{escaped(example.strip(chr(10)))}\n.fi")
    return "\n".join([*parts, _STATUS + _see_also(words, command)])


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(escaped(each.strip()) for each in text.strip().split("\n\n"))


def _see_also(words: list[str], command: Any) -> str:
    below = ["-".join([*words, name]) for name in getattr(command, "commands", {})]
    if len(words) == 1:
        below = [f"corewise-{each.name}" for section in SECTIONS.values() for each in section]
    above = ["-".join(words[:-1])] if len(words) > 1 else []
    named = ", ".join(f"{escaped(each)}(1)" for each in [*above, *below])
    return f".SH SEE ALSO\n{named}\n"


def main() -> None:
    """Writes all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for words, command in commands(typer.main.get_command(build_app()), ["corewise"]):
        (folder / f"{'-'.join(words)}.1").write_text(page(words, command), encoding="utf-8")


if __name__ == "__main__":
    main()
