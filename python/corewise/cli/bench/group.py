"""`corewise bench`: a group with one command per measurement of this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from types import ModuleType

import typer

from corewise.cli.bench import copy as bench_copy
from corewise.cli.bench import pack as bench_pack

SUBCOMMANDS: tuple[ModuleType, ...] = (bench_copy, bench_pack)
"""Modules that add their command by ``register(group)``, in the order of ``corewise bench --help``."""

_HELP = """Measures this host: what it costs to copy, to pack, and to hand data to another core.

Contestants take turns in one run. What the measurements say can be kept as a tuning file.
Every command prints a table, or one JSON object with --json.

\b
Example:
  corewise bench copy --quick
"""


def register(app: typer.Typer) -> None:
    """Adds `bench` and its commands."""
    group = typer.Typer(
        name="bench",
        help=_HELP,
        no_args_is_help=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for module in SUBCOMMANDS:
        module.register(group)
    if SUBCOMMANDS:
        app.add_typer(group)
