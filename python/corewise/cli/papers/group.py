"""`corewise paper`: a group with one command per paper, and what they share: showing and writing a result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise.cli.papers import affinity as paper_affinity
from corewise.cli.papers import collectives as paper_collectives
from corewise.cli.papers import mapping as paper_mapping
from corewise.cli.papers import placement as paper_placement
from corewise.cli.papers import profiling as paper_profiling

SUBCOMMANDS = (paper_affinity, paper_mapping, paper_placement, paper_collectives, paper_profiling)
"""Modules that add their command by ``register(group)``, in the order of ``corewise paper --help``."""

_HELP = """Runs the papers' experiments again and shows what was published beside what comes out here.

Every command prints text tables, writes figures with --out, and prints one JSON object with --json.

\b
Example:
  corewise paper affinity --out figures
"""


def register(app: typer.Typer) -> None:
    """Adds `paper` and its commands."""
    group = typer.Typer(
        name="paper",
        help=_HELP,
        no_args_is_help=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for module in SUBCOMMANDS:
        module.register(group)
    app.add_typer(group)
