"""The one place that prints.

Commands hand over Rich renderables, JSON rows or an error; nothing else in the package writes to the
terminal. Invariants: with ``--json`` standard output carries exactly one JSON object; errors and progress
go to standard error; an error is one line.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import corewise
from corewise.errors import shortened

if TYPE_CHECKING:  # Rich takes longer to import than a quick command to run
    from rich.console import Console, RenderableType

# A pipe has no width; tables would be cut at Rich's 80 columns, and scripts that grep them would miss cells.
_PIPE_WIDTH = 200
LONGEST_ERROR = 480
"""Characters; file names and lists of what is allowed may be longer than anyone reads."""
LONGEST_FAILURE = 4000
"""Of a failed run, which quotes what a compiler or a launcher said."""


def open_streams() -> None:
    """Makes standard output and error something that every command can write to.

    What is closed leads nowhere from here on, so that no file that is opened later gets its number.
    Characters that the encoding of standard output lacks are replaced.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
            os.set_inheritable(nowhere, True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _console(stderr: bool) -> Console:
    from rich.console import Console

    width = _width(sys.stderr if stderr else sys.stdout)
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _width(stream: TextIO) -> int | None:
    """None where Rich finds it; it would take a COLUMNS of 0 at its word."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return None
    if not stream.isatty():
        return _PIPE_WIDTH
    return shutil.get_terminal_size().columns if columns else None


def show(*renderables: RenderableType) -> None:
    """Prints renderables to standard output, one below the other."""
    console = _console(stderr=False)
    for renderable in renderables:
        console.print(renderable)


def show_aside(*renderables: RenderableType) -> None:
    """Prints renderables to standard error: standard output is kept for what a script reads."""
    console = _console(stderr=True)
    for renderable in renderables:
        console.print(renderable)


def fits(table: RenderableType) -> bool:
    """Whether standard output is wide enough to show a table uncut."""
    from rich.measure import Measurement

    console = _console(stderr=False)
    unlimited = console.options.update(width=1_000_000)
    return Measurement.get(console, unlimited, table).maximum <= console.width


def show_json(name: str, machine: str | None, rows: Sequence[Mapping[str, object]], **more: object) -> None:
    """Prints the one JSON object of a ``--json`` command.

    Parameters
    ----------
    name : str
        The command, e.g. ``place``.
    machine : str or None
        The machine the rows are about, None where there is none.
    rows : sequence of mappings
        The result, one mapping per row.
    **more : object
        Further top-level fields.
    """
    document = {"name": name, "version": corewise.__version__, "machine": machine, **more, "rows": list(rows)}
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def show_text(text: str) -> None:
    """Prints text that programs read (a rank file, a binding list) exactly as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def note(message: str) -> None:
    """One line to standard error: something to know that is not an error."""
    with suppress(OSError):  # as for an error: there is nobody to tell
        _console(stderr=True).print(message, style="dim", soft_wrap=True)


def warn(message: str) -> None:
    """One line to standard error that nobody should overlook: what came out is not what was wanted."""
    with suppress(OSError):
        _console(stderr=True).print(message, style="bold red", soft_wrap=True)


def discard(stream: TextIO) -> None:
    """Sends a stream nowhere from here on: what cannot be written would fail again at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def fail(message: str, longest: int = LONGEST_ERROR) -> None:
    """The error, on one line of standard error: short, printable, whatever the user's input was."""
    line = shortened(" ".join(message.split()), longest)
    with suppress(OSError):  # there is nobody to tell
        sys.stderr.write(f"corewise: {line}\n")


def show_traceback(error: BaseException) -> None:
    """Where an error of our own was raised, to standard error."""
    with suppress(OSError):
        traceback.print_exception(error)


@contextmanager
def progress(title: str, *, log: bool = False) -> Iterator[None]:
    """A bar on standard error while something of unknown length runs.

    Parameters
    ----------
    title : str
        What runs.
    log : bool
        Where nobody watches, say it in one line; else nothing.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    if log and not sys.stderr.isatty():
        note(f"corewise: {title}")
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=_console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        bar.add_task(title, total=None)
        yield


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error that is told the share of the work done; silent where nobody watches."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=_console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share: bar.update(task, completed=share)
