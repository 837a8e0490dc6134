"""Placements as files: rank -> unit, in JSON (docs/formats/placement.md).

The machine room reads and validates the format; this module owns the files and the record that Python
passes around. A placement names its units as well as numbering them, so that it is never silently applied
to a machine that numbers its units differently. The launchers' forms are in `export`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise._core import Machine, placement_from_json
from corewise.data.files import read_text, write_text


@dataclass(frozen=True)
class Placement:
    """Rank r runs on unit ``unit_of_rank[r]`` of `machine`; `units` are the names of those units."""

    machine: str
    unit_of_rank: tuple[int, ...]
    units: tuple[str, ...]

    @property
    def ranks(self) -> int:
        """How many ranks it places."""
        return len(self.unit_of_rank)


def make_placement(machine: Machine, unit_of_rank: Sequence[int]) -> Placement:
    """A checked placement: every rank on an existing unit, no unit twice."""
    machine.check_placement(list(unit_of_rank))
    units = machine.units
    return Placement(machine.name, tuple(unit_of_rank), tuple(units[unit].name for unit in unit_of_rank))


def save_placement(placement: Placement, path: str | Path) -> None:
    """Writes the JSON file."""
    document = {
        "format": "corewise-placement",
        "version": 1,
        "machine": placement.machine,
        "unit_of_rank": list(placement.unit_of_rank),
        "units": list(placement.units),
    }
    write_text(Path(path), json.dumps(document) + "\n")


def load_placement(path: str | Path, machine: Machine | None = None) -> Placement:
    """Reads the JSON file; with `machine`, also verifies that it places on exactly this machine's units."""
    text = read_text(Path(path))
    if machine is None:
        unit_of_rank = placement_from_json(text, str(path))
    else:
        unit_of_rank = machine.placement_from_json(text, str(path))
    document = json.loads(text)
    return Placement(document["machine"], tuple(unit_of_rank), tuple(document["units"]))
