"""Settings: options of a command that few need, so that its help shows those that many need.

A setting is an option that ``--help`` leaves out (``hidden``). It is given as ``--set NAME=VALUE``, or like
every option; ``corewise explain settings COMMAND`` lists them. Invariant: both spellings are one option of
the command, so that checks, errors and defaults are the same.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand

from corewise.errors import InputError

_SET = "--set"
_NO_VALUE = {"": True, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
"""What a setting without a value of its own may be given."""


@dataclass(frozen=True)
class Setting:
    """One of a command's settings.

    Attributes
    ----------
    name : str
    takes : str
        What its value is: ``SIZE``, ``FILE``, ..., or ``yes`` for one that is only switched on.
    default : str
        Empty where the command decides.
    help : str
    option : str
        The same as an option.
    """

    name: str
    takes: str
    default: str
    help: str
    option: str


class WithSettings(TyperCommand):
    """A command with settings: takes ``--set NAME=VALUE`` for each of its hidden options."""

    def __init__(self, name: str | None, **more: Any) -> None:
        super().__init__(name, **more)
        self.has_own = any(_SET in each.opts for each in self.params)
        if not self.has_own:
            self.params.insert(len(self.params) - 1, _set_option(name or ""))

    def settings(self) -> tuple[Setting, ...]:
        """Every setting, in the order of the command's options."""
        return tuple(_setting(each) for each in self.params if getattr(each, "hidden", False))

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Turns settings into the options that they are."""
        return super().parse_args(ctx, self._expanded(ctx, args))

    def _expanded(self, ctx: typer.Context, args: Sequence[str]) -> list[str]:
        known = {each.name: each for each in self.settings()}
        takes_value = self._takes_value()
        expanded: list[str] = []
        at = 0
        while at < len(args):
            word, left = args[at], args[at + 1 :]
            if word == "--" or (not word.startswith("-") and not ctx.allow_interspersed_args):
                return [*expanded, *args[at:]]
            value = word.removeprefix(f"{_SET}=") if word.startswith(f"{_SET}=") else None
            if word == _SET and left:
                value, at = left[0], at + 1
            if value is not None:
                expanded += self._option(known, value)
            else:
                follows = takes_value.get(word, False) and bool(left)
                expanded += [word, left[0]] if follows else [word]
                at += follows
            at += 1
        return expanded

    def _takes_value(self) -> dict[str, bool]:
        options = [each for each in self.params if each.param_type_name == "option"]
        return {text: not getattr(each, "is_flag", False) for each in options for text in each.opts}

    def _option(self, known: Mapping[str, Setting], text: str) -> list[str]:
        name, equals, value = text.partition("=")
        setting = known.get(name)
        if setting is None and self.has_own:
            return [_SET, text]  # the command has others of its own
        if setting is None:
            allowed = f"{', '.join(known)} (corewise explain settings {self.name})"
            raise InputError(f"{_SET} {text}: found '{name}', allowed: {allowed}")
        if setting.takes != "yes":
            if not equals:
                raise InputError(f"{_SET} {text}: found no value, allowed: {name}={setting.takes}")
            return [setting.option, value]
        if value.lower() not in _NO_VALUE:
            raise InputError(f"{_SET} {text}: found '{value}', allowed: yes or no")
        return [setting.option] if _NO_VALUE[value.lower()] else []


def _set_option(command: str) -> Any:
    """The option itself, for the help alone. Typer makes it: what its class takes differs by release."""
    text = f"One of further settings (corewise explain settings {command}); may be repeated."
    app = typer.Typer(add_completion=False)

    def takes(chosen: list[str] = typer.Option([], _SET, metavar="NAME=VALUE", help=text)) -> None:
        """Never called."""

    app.command()(takes)
    made: Any = typer.main.get_command(app)
    option = next(each for each in made.params if _SET in each.opts)
    option.expose_value = False
    return option


def _setting(option: Any) -> Setting:
    spelt = max(option.opts, key=len)
    takes = "yes" if option.is_flag else str(option.metavar or "VALUE")
    default = option.default
    shown = "" if default in (None, "", False, ()) or callable(default) or default == [] else str(default)
    return Setting(spelt.lstrip("-"), takes, shown, option.help or "", spelt)
