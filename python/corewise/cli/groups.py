"""A group of commands whose help says whole sentences, and which says what a mistyped command may have meant.

Owns nothing else: what the libraries below write of a command is cut after some words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup

from corewise.errors import InputError, shortened


class LeanGroup(TyperGroup):
    """A group whose own option of help is False where it is not given.

    Typer's is None, and from version 0.29 on Typer imports pydantic to make a truth value of that, which
    takes longer than all the rest of a help.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """The option."""
        option: Any = super().get_help_option(ctx)
        if option is not None and option.default is None:
            option.default = False
        return option


class Group(LeanGroup):
    """A group that lists each of its commands with the first sentence of its help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the command; of one that is not there it says what may have been meant."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            close = get_close_matches(name, self.commands, 1, 0.6)
            meant = f": did you mean {ctx.command_path} {close[0]}?" if close else ""
            raise InputError(f"no command '{shortened(name, 80)}'{meant} (see {ctx.command_path} --help)")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list."""
        rows = [(name, first_sentence(command.help or "")) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group_of(name: str, text: str) -> typer.Typer:
    """A group of commands with a name and a help."""
    return typer.Typer(
        name=name,
        cls=Group,
        help=text,
        no_args_is_help=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def first_sentence(text: str) -> str:
    """The first paragraph up to its first full stop, without it."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")
