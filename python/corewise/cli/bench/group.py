"""`corewise bench`: a group with one command per question.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from types import ModuleType

import typer

from corewise.cli.bench import (
    collectives,
    fft,
    history,
    mapping,
    node,
    port,
    profiler,
    recogniser,
    sim,
    simmpi,
)
from corewise.cli.bench import copy as bench_copy
from corewise.cli.bench import pack as bench_pack
from corewise.cli.groups import group_of

SUBCOMMANDS: tuple[ModuleType, ...] = (
    sim,
    simmpi,
    port,
    collectives,
    profiler,
    mapping,
    recogniser,
    bench_copy,
    bench_pack,
    node,
    fft,
    history,
)
"""Modules that add their command by ``register(group)``, in the order of ``corewise bench --help``."""

_HELP = """Measure corewise on this host, beside what people use now.

A command per question. Contestants take turns in one run, and ratios are taken within each turn. A
rival that is not installed is left out, and the command says how to get it. Every command prints a
table, or one JSON object with --json; history shows how such results changed between versions.

\b
Example:
  corewise bench sim --quick
  corewise bench copy --quick
"""


def register(app: typer.Typer) -> None:
    """Adds `bench` and its commands."""
    group = group_of("bench", _HELP)
    for module in SUBCOMMANDS:
        module.register(group)
    app.add_typer(group)
