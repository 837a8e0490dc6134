"""A group of commands whose help says whole sentences.

Owns nothing else: what the libraries below write of a command is cut after some words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class Group(TyperGroup):
    """A group that lists each of its commands with the first sentence of its help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list."""
        rows = [(name, first_sentence(command.help or "")) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """The first paragraph up to its first full stop, without it."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")
