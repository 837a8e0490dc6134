"""Placements as files: rank -> unit, in JSON (docs/formats/placement.md).

Owns the version-1 format and its validation. A file names its units as well as numbering them, so that a placement
is never silently applied to a machine that numbers its units differently. The launchers' forms are in `export`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corewise._core import Machine
from corewise.data.files import read_text, write_text
from corewise.errors import InputError, bad_field

FORMAT = "corewise-placement"
VERSION = 1
_FIELDS = ("format", "version", "machine", "unit_of_rank", "units")


@dataclass(frozen=True)
class Placement:
    """Rank r runs on unit ``unit_of_rank[r]`` of the machine named `machine`; `units` are those units' names."""

    machine: str
    unit_of_rank: tuple[int, ...]
    units: tuple[str, ...]

    @property
    def ranks(self) -> int:
        """How many ranks it places."""
        return len(self.unit_of_rank)


def make_placement(machine: Machine, unit_of_rank: list[int] | tuple[int, ...]) -> Placement:
    """A checked placement: every rank on an existing unit, no unit twice."""
    machine.check_placement(list(unit_of_rank))
    names = tuple(machine.units[unit].name for unit in unit_of_rank)
    return Placement(machine.name, tuple(unit_of_rank), names)


def save_placement(placement: Placement, path: str | Path) -> None:
    """Writes the JSON file."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "machine": placement.machine,
        "unit_of_rank": list(placement.unit_of_rank),
        "units": list(placement.units),
    }
    write_text(Path(path), json.dumps(document, indent=1) + "\n")


def load_placement(path: str | Path, machine: Machine | None = None) -> Placement:
    """Reads the JSON file; with `machine`, also verifies that it places on exactly this machine's units."""
    source = str(path)
    placement = _from_document(_parse(read_text(Path(path)), source), source)
    if machine is not None:
        _check_against(placement, machine, source)
    return placement


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}: line {error.lineno}: not JSON: {error.msg}") from None
    if not isinstance(document, dict):
        raise InputError(f"{source}: found a {type(document).__name__}, allowed: a JSON object")
    return document


def _from_document(document: dict[str, Any], source: str) -> Placement:
    _check_fields(document, source)
    units = _list_of(document, "unit_of_rank", int, source)
    names = _list_of(document, "units", str, source)
    if len(names) != len(units):
        raise bad_field(source, "units", f"{len(names)} names", f"one name per rank ({len(units)})")
    for unit in units:
        if unit < 0 or units.count(unit) > 1:
            raise bad_field(source, "unit_of_rank", unit, "unit numbers from 0, none used twice")
    if not isinstance(document["machine"], str):
        raise bad_field(source, "machine", json.dumps(document["machine"]), "a machine's name")
    return Placement(document["machine"], tuple(units), tuple(names))


def _check_fields(document: dict[str, Any], source: str) -> None:
    for field in document:
        if field not in _FIELDS:
            raise bad_field(source, field, "an unknown field", ", ".join(_FIELDS))
    for field, wanted in (("format", FORMAT), ("version", VERSION)):
        if document.get(field) != wanted:
            raise bad_field(source, field, json.dumps(document.get(field)), json.dumps(wanted))
    for field in _FIELDS:
        if field not in document:
            raise bad_field(source, field, "nothing", "present once")


def _list_of(document: dict[str, Any], field: str, kind: type, source: str) -> list[Any]:
    value = document[field]
    if not isinstance(value, list) or not value:
        raise bad_field(source, field, json.dumps(value), f"a list of {kind.__name__}, one per rank")
    for entry in value:
        if not isinstance(entry, kind) or isinstance(entry, bool):
            raise bad_field(source, field, json.dumps(entry), f"a list of {kind.__name__}")
    return value


def _check_against(placement: Placement, machine: Machine, source: str) -> None:
    if placement.machine != machine.name:
        raise bad_field(source, "machine", f"'{placement.machine}'", f"'{machine.name}'")
    for unit, name in zip(placement.unit_of_rank, placement.units, strict=True):
        if unit >= len(machine.units):
            raise bad_field(source, "unit_of_rank", unit, f"0..{len(machine.units) - 1} on '{machine.name}'")
        if machine.units[unit].name != name:
            raise bad_field(source, "units", f"'{name}' as unit {unit}", f"'{machine.units[unit].name}'")
