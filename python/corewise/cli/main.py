"""The `corewise` command: a table of command modules, and where an error becomes an exit status.

Exit status 0: done; 1: the run failed; 2: the user's input is wrong. Neither shows a
traceback.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from corewise import CorewiseError, __version__
from corewise.cli import (
    build_preload,
    call_graph,
    console,
    diff,
    doctor,
    explore,
    export,
    machines,
    matrix,
    pack,
    patterns,
    report,
    run,
    waits,
)
from corewise.cli.bench import group as bench
from corewise.cli.explain import command as explain
from corewise.cli.papers import group as paper
from corewise.cli.place import certify
from corewise.cli.place import command as place
from corewise.cli.sim import collective
from corewise.cli.sim import command as sim

COMMANDS = (
    run,
    report,
    call_graph,
    matrix,
    waits,
    diff,
    export,
    place,
    certify,
    explore,
    sim,
    collective,
    paper,
    bench,
    explain,
    machines,
    patterns,
    pack,
    build_preload,
    doctor,
)
"""Modules that add their command by ``register(app)``, in the order of ``corewise --help``."""

# Typer carries its own copy of Click in some releases: its public BadParameter leads to the base class.
_USAGE_ERROR: type[Exception] = typer.BadParameter.mro()[1]


def build_app() -> typer.Typer:
    """The application with every command of the table."""
    app = typer.Typer(
        name="corewise",
        help="Makes message passing inside a multicore node visible, predictable and fast.",
        no_args_is_help=False,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for module in COMMANDS:
        module.register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        console.show_text(f"corewise {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Makes message passing inside a multicore node visible, predictable and fast."""


def execute(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit status."""
    try:
        status = build_app()(args=list(arguments) or ["--help"], prog_name="corewise", standalone_mode=False)
        sys.stdout.flush()
    except CorewiseError as error:
        console.fail(str(error))
        return error.exit_status
    except _USAGE_ERROR as error:
        format_message = getattr(error, "format_message", error.__str__)
        console.fail(f"{format_message()} (see --help)")
        return 2
    except typer.Abort:
        console.fail("interrupted")
        return 1
    except OSError as error:
        # Files name themselves (corewise.data.files); without a name it is our own output, e.g. a full disk.
        console.fail(f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}")
        console.discard_output()
        return 1
    return status if isinstance(status, int) else 0


def main() -> None:
    """Entry point of the console script."""
    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()
