"""Packing-tuning files: what the packing library packs, per host and MPI (docs/formats/packing-tuning.md).

Owns the format: TOML, one file per host and MPI, one row per use, closeness and size of message with the
ranges of runs that are packed, and the measurements that say so. Invariant: the rows of a use and closeness
rise in bytes; what was read and is written again is the same file.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corewise.data.files import read_text, write_text
from corewise.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMAT, VERSION = "corewise-packing-tuning", 3
USES = ("send", "receive", "both", "pack", "unpack")
"""What is to be done with a message, in the order of ``kernels/packing_cost.hpp``."""
LINES = ("dense", "sparse")
"""How close together data lie, as ``packing_lines`` of ``kernels/packing_cost.hpp`` says it."""
_HEAD = ("format", "version", "host", "mpi", "who", "when", "command", "rotate", "rotate_from", "row")
_ROW = ("use", "lines", "bytes", "runs", "measured_runs", "ours_us", "theirs_us")
_MOST = 2**63 - 1  # what the library reads


@dataclass(frozen=True)
class PackingRow:
    """Messages of up to `bytes` are packed where their mean run is in one of `runs`.

    Attributes
    ----------
    use : str
        One of `USES`.
    lines : str
        One of `LINES`.
    bytes : int
        Data bytes of the largest message that the row decides about.
    runs : tuple of (int, int)
        Shortest and longest run of each range, bytes, rising; the first may begin at 0. Without a range
        nothing is packed.
    measured_runs : tuple of int
        Lengths of runs that were measured, bytes, rising.
    ours_us, theirs_us : tuple of float
        What each took, packed by the library and by the MPI.
    """

    use: str
    lines: str
    bytes: int
    runs: tuple[tuple[int, int], ...]
    measured_runs: tuple[int, ...]
    ours_us: tuple[float, ...]
    theirs_us: tuple[float, ...]


@dataclass(frozen=True)
class PackingTuning:
    """A tuning file.

    Attributes
    ----------
    host : str
        Whose processor it was, as the system names it.
    mpi : str
        Name and version, e.g. ``mpich 5.0.2``.
    who, when, command : str
        The corewise that wrote it, the day, and the command line.
    rows : tuple of PackingRow
    rotate : int
        Bytes over which the buffers of sent messages take turns; 0: the same one is used again.
    rotate_from : int
        Bytes of the smallest message whose buffers do.
    """

    host: str
    mpi: str
    who: str
    when: str
    command: str
    rows: tuple[PackingRow, ...]
    rotate: int = 0
    rotate_from: int = 0

    def knob(self) -> str:
        """The value of COREWISE_PACKING that says the same: ``send=32768:512+4096-8192;send.sparse=...``."""
        texts = []
        for use in USES:
            for lines in LINES:
                rows = [row for row in self.rows if (row.use, row.lines) == (use, lines)]
                if rows:
                    name = use if lines == LINES[0] else f"{use}.{lines}"
                    texts.append(f"{name}={','.join(f'{row.bytes}:{_ranges(row.runs)}' for row in rows)}")
        if self.rotate:
            texts.append(f"rotate={self.rotate}:{self.rotate_from}")
        return ";".join(texts)


def _ranges(runs: Sequence[tuple[int, int]]) -> str:
    return "+".join(str(most) if least == 0 else f"{least}-{most}" for least, most in runs) or "0"


def ranges_of(runs: Sequence[int], won: Sequence[bool]) -> tuple[tuple[int, int], ...]:
    """Ranges of neighbouring runs that won; the shortest measured one stands for shorter ones.

    Parameters
    ----------
    runs : lengths in bytes, rising.
    won : for each, whether packing it pays.
    """
    found: list[tuple[int, int]] = []
    before = False
    for index, (run, good) in enumerate(zip(runs, won, strict=True)):
        if good and before:
            found[-1] = (found[-1][0], run)
        elif good:
            found.append((0 if index == 0 else run, run))
        before = good
    return tuple(found)


def load_packing_tuning(path: str | Path) -> PackingTuning:
    """Reads a file; an `InputError` names the file, the field, what was found and what is allowed."""
    return parse_packing_tuning(read_text(Path(path)), str(path))


def parse_packing_tuning(text: str, source: str = "") -> PackingTuning:
    """Reads the text of one; `source` begins every message."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise InputError(f"{source}: not TOML: {error}") from None
    _only(source, "", document, _HEAD)
    if document.get("format") != FORMAT:
        raise _wrong(source, "format", document, FORMAT)
    if document.get("version") != VERSION or isinstance(document.get("version"), bool):
        raise _wrong(source, "version", document, f"{VERSION}; corewise bench pack --tune writes such a file")
    tables = document.get("row")
    if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
        raise _wrong(source, "row", document, "one or more tables [[row]]")
    rows = tuple(_row(source, f"row[{index}]", table) for index, table in enumerate(tables))
    _check_order(source, rows)
    texts = {field: _text(source, field, document) for field in ("host", "mpi", "who", "when", "command")}
    rotate, least = (
        _whole(source, field, document, 0) if field in document else 0 for field in ("rotate", "rotate_from")
    )
    return PackingTuning(rows=rows, rotate=rotate, rotate_from=least, **texts)


def save_packing_tuning(tuning: PackingTuning, path: str | Path) -> None:
    """Writes a file; reading it gives the same `PackingTuning`."""
    write_text(Path(path), packing_tuning_text(tuning))


def packing_tuning_text(tuning: PackingTuning) -> str:
    """The TOML text."""
    lines = [
        "# What the packing library packs on this host with this MPI, measured by the command below and read",
        "# by `corewise run --packing`. The format: docs/formats/packing-tuning.md.",
        f"format = {json.dumps(FORMAT)}",
        f"version = {VERSION}",
        *(
            f"{field} = {json.dumps(getattr(tuning, field))}"
            for field in ("host", "mpi", "who", "when", "command")
        ),
        *([f"rotate = {tuning.rotate}", f"rotate_from = {tuning.rotate_from}"] if tuning.rotate else []),
    ]
    for row in tuning.rows:
        lines += [
            "",
            "[[row]]",
            f"use = {json.dumps(row.use)}",
            f"lines = {json.dumps(row.lines)}",
            f"bytes = {row.bytes}",
            f"runs = {[list(each) for each in row.runs]}",
            f"measured_runs = {list(row.measured_runs)}",
            f"ours_us = {list(row.ours_us)}",
            f"theirs_us = {list(row.theirs_us)}",
        ]
    return "\n".join(lines) + "\n"


# ---- fields ----------------------------------------------------------------------------------------------


def _wrong(source: str, field: str, table: Mapping[str, Any], allowed: str) -> InputError:
    value = table.get(field.rsplit(".", 1)[-1])
    found = "nothing" if value is None else repr(value)
    return InputError(f"{source}: {field}: found {found}, allowed: {allowed}")


def _only(source: str, path: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for field in table:
        if field not in known:
            raise InputError(f"{source}: {path}{field}: found an unknown field, allowed: {', '.join(known)}")


def _text(source: str, field: str, table: Mapping[str, Any]) -> str:
    value = table.get(field)
    if not isinstance(value, str) or not value.strip():
        raise _wrong(source, field, table, "a text")
    return value


def _row(source: str, path: str, table: Mapping[str, Any]) -> PackingRow:
    _only(source, f"{path}.", table, _ROW)
    if table.get("use") not in USES:
        raise _wrong(source, f"{path}.use", table, ", ".join(USES))
    if table.get("lines") not in LINES:
        raise _wrong(source, f"{path}.lines", table, ", ".join(LINES))
    runs = _numbers(source, f"{path}.measured_runs", table, whole=True)
    if not runs or list(runs) != sorted(set(runs)):
        raise _wrong(source, f"{path}.measured_runs", table, "one or more rising whole numbers")
    ours = _numbers(source, f"{path}.ours_us", table, count=len(runs))
    theirs = _numbers(source, f"{path}.theirs_us", table, count=len(runs))
    return PackingRow(
        table["use"],
        table["lines"],
        _whole(source, f"{path}.bytes", table, 1),
        _pairs(source, f"{path}.runs", table),
        tuple(int(run) for run in runs),
        ours,
        theirs,
    )


def _whole(source: str, path: str, table: Mapping[str, Any], least: int) -> int:
    value = table.get(path.rsplit(".", 1)[-1])
    if type(value) is not int or not least <= value <= _MOST:
        raise _wrong(source, path, table, f"a whole number from {least} to {_MOST}")
    return value


def _pairs(source: str, path: str, table: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Ranges of runs: rising, apart from each other."""
    value = table.get(path.rsplit(".", 1)[-1])
    pairs: list[Any] = value if isinstance(value, list) else [value]
    found: list[tuple[int, int]] = []
    for each in pairs:
        good = isinstance(each, list) and len(each) == 2 and all(type(number) is int for number in each)
        low, high = (int(each[0]), int(each[1])) if good else (0, 0)
        if not 1 <= high <= _MOST or low > high or low < (found[-1][1] + 1 if found else 0):
            raise _wrong(source, path, table, "rising pairs of whole numbers, [shortest, longest], or none")
        found.append((low, high))
    return tuple(found)


def _numbers(
    source: str, path: str, table: Mapping[str, Any], *, whole: bool = False, count: int | None = None
) -> tuple[float, ...]:
    value = table.get(path.rsplit(".", 1)[-1])
    kinds = (int,) if whole else (int, float)
    good = isinstance(value, list) and all(type(each) in kinds and 0 < each <= _MOST for each in value)
    if not good or (count is not None and len(value or ()) != count):
        number = "positive whole numbers" if whole else "positive numbers"
        raise _wrong(
            source, path, table, number if count is None else f"{count} {number}, one per measured run"
        )
    return tuple(value or ()) if whole else tuple(float(each) for each in value or ())


def _check_order(source: str, rows: tuple[PackingRow, ...]) -> None:
    largest: dict[tuple[str, str], int] = {}
    for index, row in enumerate(rows):
        before = largest.get((row.use, row.lines), 0)
        if row.bytes <= before:
            raise InputError(
                f"{source}: row[{index}].bytes: found {row.bytes} after {before} for {row.use}, {row.lines}, "
                "allowed: rising bytes for each use"
            )
        largest[row.use, row.lines] = row.bytes
    for use, lines in largest:
        if (use, LINES[0]) not in largest:
            raise InputError(f"{source}: row: found {use}, {lines} alone, allowed: with rows of {LINES[0]}")
