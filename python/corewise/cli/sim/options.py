"""What the commands that simulate have in common: the machine, and where ranks are placed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.errors import bad_field
from corewise.sim.ranks.run import SETTINGS

with late.imports():
    from corewise._core import Machine
    from corewise.data.placement import Placement, load_placement

MACHINE = typer.Option(
    ..., "--machine", "-m", metavar="MACHINE", help="Name, file, `host`, or synthetic text."
)
PLACEMENT = typer.Option(
    "identity",
    "--placement",
    "-p",
    metavar="NAME|FILE",
    help="A placement file, or identity; on a Cell also ring, overlap, even_odd, leap2.",
)


SETTING = typer.Option(
    [], "--set", metavar="NAME=VALUE", help=f"What something costs: {', '.join(SETTINGS)}; may be repeated."
)


def setting(text: str) -> tuple[str, float]:
    """What ``--set`` says, e.g. ``eager_bytes=65536``."""
    name, equals, value = text.partition("=")
    if name not in SETTINGS or not equals:
        raise bad_field("", "--set", text, f"NAME=VALUE with a name of {', '.join(SETTINGS)}")
    try:
        return name, float(value)
    except ValueError:
        raise bad_field("", f"--set {name}", value, "a number") from None


def placed(placement: str, machine: Machine, ranks_per_unit: int = 1) -> Placement | str:
    """A file where there is one or the text looks like one, else a name."""
    path = Path(placement)
    if path.suffix or "/" in placement or path.is_file():
        return load_placement(path, machine, ranks_per_unit)
    return placement
