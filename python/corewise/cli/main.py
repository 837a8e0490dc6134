"""The `corewise` command, and where an error becomes an exit status.

Exit status 0: done; 1: the run failed, or corewise has a bug; 2: the user's input is wrong; 130: interrupted.
Invariant: whatever is raised becomes one line; `COREWISE_TRACEBACK` shows where a bug lies.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import typer

import corewise
from corewise.cli import console
from corewise.cli.commands import HELP_OPTIONS, Commands
from corewise.cli.wrong_numbers import wrong_number
from corewise.errors import CorewiseError, InputError, RunError, shortened, shown

# Typer carries its own copy of Click in some releases: its public BadParameter leads to the base class.
_USAGE_ERROR: type[Exception] = typer.BadParameter.mro()[1]


COMPLETING = "_COREWISE_COMPLETE"
"""Set by a shell that asks for completions (`corewise completion`); nothing else may be loaded for it."""


def build_app() -> typer.Typer:
    """The application with every command of the table (`commands`)."""
    app = typer.Typer(
        name="corewise",
        cls=Commands,
        help="Make message passing inside a multicore node visible, predictable and fast.",
        no_args_is_help=False,
        add_completion=COMPLETING in os.environ,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": HELP_OPTIONS},
    )
    app.callback()(_options)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        console.show_text(f"corewise {corewise.__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Make message passing inside a multicore node visible, predictable and fast."""


TRACEBACK = "COREWISE_TRACEBACK"
"""Set to 1, an internal error is followed by Python's account of where it was raised."""
_INTERRUPTED = 130  # what a shell says of a command that SIGINT ended
_NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_NO_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EINVAL)


def execute(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit status."""
    try:
        _check_text(arguments)
        status = build_app()(args=list(arguments) or ["--help"], prog_name="corewise", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as error:  # the command-line library ends so when nobody reads the output any more
        return error.code if isinstance(error.code, int) else 1
    except BaseException as error:  # the last place that could catch it
        return _failed(error)
    return status if isinstance(status, int) else 0


def _check_text(arguments: Sequence[str]) -> None:
    """Refuses arguments that are no text; those of a program, behind ``--``, are not ours to judge."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for argument in own:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise InputError(f"{shown(argument)}: found bytes that are no UTF-8, allowed: UTF-8") from None


def _failed(error: BaseException) -> int:
    """Says in one line why a command ended; returns its exit status."""
    if isinstance(error, CorewiseError):
        given = isinstance(error, InputError)
        console.fail(str(error), console.LONGEST_ERROR if given else console.LONGEST_FAILURE)
        return error.exit_status
    if isinstance(error, _USAGE_ERROR):
        context = getattr(error, "ctx", None)
        command = f"{context.command_path} " if context is not None else ""
        said = wrong_number(error) or getattr(error, "format_message", error.__str__)()
        console.fail(f"{said} (see {command}--help)")
        return InputError.exit_status
    if isinstance(error, (typer.Abort, KeyboardInterrupt)):
        console.fail("interrupted")
        return _INTERRUPTED
    if isinstance(error, OSError):
        return _refused(error)
    if isinstance(error, MemoryError):
        console.fail("the memory of this machine does not suffice for this input")
        return RunError.exit_status
    where = traceback.extract_tb(error.__traceback__)[-1]
    console.fail(
        f"internal error, a bug in corewise {corewise.__version__}: {type(error).__name__}: "
        f"{shortened(str(error), 200)} ({Path(where.filename).name}:{where.lineno}); please report it; "
        f"{TRACEBACK}=1 shows more"
    )
    if os.environ.get(TRACEBACK) == "1":
        console.show_traceback(error)
    return 1


def _refused(error: OSError) -> int:
    """What the operating system refused. A file names itself; without a name it is our own output."""
    ours = error.filename is None and error.errno in _NO_PLACE
    if error.errno != errno.EPIPE:  # nobody reads any more: nothing to complain about
        named = "standard output: cannot be written" if ours else error.filename or "the system refused"
        console.fail(f"{named}: {error.strerror or error}")
    if ours or error.errno == errno.EPIPE:
        console.discard(sys.stdout)
    return InputError.exit_status if error.errno in _NO_NAME else RunError.exit_status


def main() -> None:
    """Entry point of the console script."""
    console.open_streams()
    status = execute(sys.argv[1:])
    try:
        sys.stderr.flush()
    except OSError:  # notes that nobody reads change no status
        console.discard(sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
