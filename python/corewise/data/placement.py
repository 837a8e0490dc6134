"""Placements as files: rank -> unit, in JSON (docs/formats/placement.md).

This module owns the format and the record that Python passes around. A placement names its units as well as
numbering them, so that it is never silently applied to a machine that numbers its units differently. The
launchers' forms are in `export`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise._core import Machine
from corewise.base.documents import Fields, read_json
from corewise.base.files import write_text
from corewise.errors import InputError, bad_field

_FORMAT, _VERSION = "corewise-placement", 1
_FIELDS = ("format", "version", "machine", "unit_of_rank", "units")
_MOST_UNITS = 4096
"""Of a machine, as in ``machine/machine.hpp``."""


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
        "format": _FORMAT,
        "version": _VERSION,
        "machine": placement.machine,
        "unit_of_rank": list(placement.unit_of_rank),
        "units": list(placement.units),
    }
    write_text(Path(path), json.dumps(document) + "\n")


def load_placement(path: str | Path, machine: Machine | None = None, ranks_per_unit: int = 1) -> Placement:
    """Reads the JSON file; with `machine`, also verifies that it places on exactly this machine's units.

    As many as `ranks_per_unit` ranks may share a unit.
    """
    fields = read_json(Path(path))
    placement = _placement(fields, ranks_per_unit)
    if machine is not None:
        _check_on(placement, machine, fields, ranks_per_unit)
    return placement


def _placement(fields: Fields, ranks_per_unit: int) -> Placement:
    """The document's placement, which may be of any machine."""
    fields.header(_FORMAT, _VERSION)
    fields.only(_FIELDS)
    units = fields.wholes("unit_of_rank", 0, _MOST_UNITS - 1)
    seen: Counter[int] = Counter()
    for rank, unit in enumerate(units):
        if seen[unit] >= ranks_per_unit:
            found = f"unit {unit} of rank {units.index(unit)}"
            raise bad_field(fields.source, f"unit_of_rank[{rank}]", found, _allowed_unit(ranks_per_unit))
        seen[unit] += 1
    names = fields.texts("units")
    if len(names) != len(units):
        raise bad_field(fields.source, "units", f"{len(names)} names", f"one name per rank, {len(units)}")
    return Placement(fields.text("machine"), units, names)


def _allowed_unit(ranks_per_unit: int) -> str:
    """As room machine says it."""
    if ranks_per_unit == 1:
        return "a unit that no other rank has"
    return f"a unit that fewer than {ranks_per_unit} other ranks have"


def _check_on(placement: Placement, machine: Machine, fields: Fields, ranks_per_unit: int) -> None:
    """Refuses a placement whose machine, or one of whose units, has another name here."""
    if placement.machine != machine.name:
        raise fields.wrong("machine", f"'{machine.name}'")
    try:
        machine.check_placement(list(placement.unit_of_rank), ranks_per_unit)
    except InputError as error:
        raise InputError(f"{fields.source}: {error}") from None
    here = machine.units
    for rank, (unit, name) in enumerate(zip(placement.unit_of_rank, placement.units, strict=True)):
        if here[unit].name != name:
            allowed = f"'{here[unit].name}', the name of unit {unit}"
            raise bad_field(fields.source, f"units[{rank}]", f"'{name}'", allowed)
