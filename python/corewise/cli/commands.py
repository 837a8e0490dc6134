"""The table of commands: where each stands in `corewise --help`, and which module has it.

A module is imported when its command is asked for, so that `corewise --version` and a mistyped command cost
no more than Python itself; what it imports late (`base/late.py`) waits where only help is wanted. Each has
``register(app)``, which adds its command or group.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from typing import Any

import typer

from corewise.base import late
from corewise.cli.groups import LeanGroup
from corewise.errors import InputError, shortened


@dataclass(frozen=True)
class Command:
    """A line of ``corewise --help``.

    Attributes
    ----------
    name : str
    module : str
        Below ``corewise.cli``.
    summary : str
    """

    name: str
    module: str
    summary: str


SECTIONS: Mapping[str, tuple[Command, ...]] = {
    "Begin here": (Command("advise", "advise", "Say what slows a program down, and find a faster launch"),),
    "Record": (
        Command("run", "run", "Run an MPI program and record who talks to whom"),
        Command("bundle", "bundle", "Put a profile's rank files into one file per node"),
        Command(
            "build-preload", "build_preload", "Build the preload library of an MPI and print where it is"
        ),
    ),
    "Read": (
        Command("report", "report", "Show what a profile says, on the terminal or as a page"),
        Command("call-graph", "call_graph", "Show which function called which, how often and for how long"),
        Command("matrix", "matrix", "Show the communication matrix of a profile"),
        Command("waits", "waits", "Show where ranks waited because another rank was late"),
        Command("diff", "diff", "Compare profiles: wall time, calls, bytes and time"),
        Command("export", "export", "Write a profile for other tools: OTF2, Perfetto, tables"),
    ),
    "Place": (
        Command("place", "place.command", "Find the placement of ranks that communicates fastest"),
        Command("certify", "place.certify", "Check the proof that a placement is the best"),
        Command("explore", "explore", "Time a pattern, or a program, under all or sampled placements"),
    ),
    "Simulate": (
        Command("sim", "sim.command", "Run a communication pattern on a simulated machine"),
        Command(
            "collective", "sim.collective", "Run a collective on simulated SPEs, by any of its algorithms"
        ),
        Command("simcc", "sim.compiling", "Compile an MPI program for simulated ranks"),
        Command("simrun", "sim.running", "Run an MPI program on the ranks of a simulated machine"),
        Command("replay", "sim.replaying", "Run a recorded program again, on any machine"),
        Command("patterns", "patterns", "List the generators of patterns; make and show patterns"),
        Command("machines", "machines", "List the machines that come with corewise; show, check"),
    ),
    "Measure": (
        Command("probe", "probe", "Measure this host's cores and write its machine file"),
        Command("bench", "bench.group", "Measure corewise on this host, beside what people use now"),
        Command("explain", "explain.command", "Say why a choice is made: the row of data that decides"),
        Command("doctor", "doctor", "Say which MPI libraries and capabilities this machine has"),
        Command("completion", "completion", "Print a script by which bash, zsh or fish complete commands"),
    ),
    "Papers": (
        Command("paper", "papers.group", "Run the papers' experiments again, beside what was published"),
    ),
}
HELP_OPTIONS = ["-h", "--help"]
_COMMANDS = {command.name: command for section in SECTIONS.values() for command in section}


@cache
def _load(name: str) -> Any:
    """The command of this name."""
    app = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": HELP_OPTIONS})
    app.callback()(lambda: None)  # so that one command is a group's too
    import_module(f"corewise.cli.{_COMMANDS[name].module}").register(app)
    group: Any = typer.main.get_command(app)
    command = group.commands[name]
    _load_before_running(command)
    return command


def _load_before_running(command: Any) -> None:
    """Lets a command, or all commands of a group, import what waited before they begin."""
    within = getattr(command, "commands", {})
    for each in within.values():
        _load_before_running(each)
    if not within and command.callback is not None:
        command.callback = _after_loading(command.callback)


def _after_loading(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*given: Any, **named: Any) -> Any:
        late.load()
        return function(*given, **named)

    return run


def _wants_help(args: Sequence[str]) -> bool:
    """Whether a word asks for help. It may be a program's: what waited is then imported a little later."""
    return any(word in HELP_OPTIONS for word in args)


def find_command(name: str) -> Any:
    """The command, or group, of this name; None where there is none."""
    return _load(name) if name in _COMMANDS else None


class _Loaded(Mapping[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in _COMMANDS:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class Commands(LeanGroup):
    """The group of all commands."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = _Loaded()  # type: ignore[assignment]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the command; of one that is not there it says what may have been meant."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            close = get_close_matches(name, _COMMANDS, 1, 0.7)
            meant = f"did you mean corewise {close[0]}? " if close else ""
            raise InputError(f"no command '{shortened(name, 80)}': {meant}corewise --help lists all")
        with late.postponed() if _wants_help(args) else nullcontext():
            return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the sections; imports nothing."""
        width = max(map(len, _COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(each.name.ljust(width), each.summary) for each in commands])
