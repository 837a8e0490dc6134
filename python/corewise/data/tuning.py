"""Tuning files: which algorithm of a collective is quickest, as data (docs/formats/tuning.md).

Owns the format: TOML in ``tuning/``, one file per machine and port, one row per range of sizes in which one
algorithm won a sweep, with what it took and what the others took. Invariant: a `Tuning` that was read has no
unknown field, no two rows for one call, and as many latencies as measured sizes everywhere.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from corewise import _core
from corewise.data.files import read_text, write_text
from corewise.errors import InputError, RunError, bad_field

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMAT = "corewise-tuning"
VERSION = 1
Selection = Literal["paper", "all"]
"""``paper``: among the algorithms of paper 001; ``all``: those of its future work too."""
SELECTIONS: tuple[Selection, ...] = ("paper", "all")
PORTS = ("cell", "shm")
COLLECTIVES = tuple(name for name, *_ in _core.collectives())
_TYPES: Mapping[str, type] = {"number": int, "bytes": int, "flag": bool, "closing": str}
PARAMETERS: Mapping[str, type] = MappingProxyType(
    {name: _TYPES[kind] for name, kind, *_ in _core.collective_settings()}
)
"""What an algorithm may be given (lab/collective_settings.hpp), and as which type."""
CLOSINGS = ("barrier", "counters")
MOST_RANKS = 4096

Value = int | bool | str
_HEAD = ("format", "version", "port", "machine", "also", "description", "who", "when", "command", "row")
_ROW = (
    "set",
    "collective",
    "ranks",
    "bytes_from",
    "bytes_to",
    "algorithm",
    "parameters",
    "measured_bytes",
    "latency_us",
    "lost",
)
_LOST = ("algorithm", "parameters", "latency_us")
_OPTIONAL = ("also", "bytes_to", "parameters", "lost")


@dataclass(frozen=True)
class Choice:
    """An algorithm with its parameters, and what it took.

    Attributes
    ----------
    algorithm : str
        Its name in its collective's table.
    parameters : tuple of (str, value)
        Those that it looks at, sorted by name.
    latency_us : tuple of float
        Synchronised start to last rank done, one for each of the row's measured sizes.
    """

    algorithm: str
    parameters: tuple[tuple[str, Value], ...]
    latency_us: tuple[float, ...]

    @property
    def name(self) -> str:
        """``tree(degree=3)``."""
        inside = ", ".join(f"{key}={value_text(value)}" for key, value in self.parameters)
        return f"{self.algorithm}({inside})" if inside else self.algorithm


@dataclass(frozen=True)
class TuningRow:
    """One choice: for a collective on so many ranks with so many bytes.

    Attributes
    ----------
    set : {"paper", "all"}
    collective : str
    ranks : int
    bytes_from : int
    bytes_to : int or None
        Both belong to the range; None: no upper end.
    measured_bytes : tuple of int
        The sizes of the sweep that lie in the range, rising.
    won : Choice
    lost : tuple of Choice
        The others, each with its best parameters, quickest first at the largest measured size.
    """

    set: Selection
    collective: str
    ranks: int
    bytes_from: int
    bytes_to: int | None
    measured_bytes: tuple[int, ...]
    won: Choice
    lost: tuple[Choice, ...]

    def holds(self, bytes: int) -> bool:
        """Whether a call with so many bytes is in the range."""
        return self.bytes_from <= bytes and (self.bytes_to is None or bytes <= self.bytes_to)

    def measured_for(self, bytes: int) -> int:
        """Index of the measured size that speaks for `bytes`: the next one up, or the largest."""
        above = (index for index, size in enumerate(self.measured_bytes) if size >= bytes)
        return next(above, len(self.measured_bytes) - 1)


@dataclass(frozen=True)
class Tuning:
    """A tuning file.

    Attributes
    ----------
    port : {"cell", "shm"}
        Where the ranks ran: simulated SPEs, or cores of a host.
    machine : str
        Name of the machine; ``host`` for the one that the file was measured on.
    also : tuple of str
        Machines that it holds for too, on as many ranks as they have: a chip of a blade.
    description : str
        What was measured, in a line.
    who, when, command : str
        The version that measured, the day, and what repeats it.
    rows : tuple of TuningRow
    """

    port: str
    machine: str
    description: str
    who: str
    when: str
    command: str
    rows: tuple[TuningRow, ...]
    also: tuple[str, ...] = ()

    def find(self, collective: str, ranks: int, bytes: int, selection: Selection = "all") -> TuningRow:
        """The row for a call; an `InputError` says what there is where there is none."""
        allowed_collectives = _named(row.collective for row in self.rows if row.set == selection)
        if collective not in allowed_collectives:
            raise bad_field(self.machine, "collective", f"'{collective}'", ", ".join(allowed_collectives))
        mine = [row for row in self.rows if row.set == selection and row.collective == collective]
        counts = sorted({row.ranks for row in mine})
        if ranks not in counts:
            raise bad_field(self.machine, "ranks", ranks, f"{ranges_text(counts)} for {collective}")
        for row in mine:
            if row.ranks == ranks and row.holds(bytes):
                return row
        raise bad_field(
            self.machine, "bytes", bytes, f"a size that {collective} on {ranks} ranks has a row for"
        )


def _named(names: Iterable[str]) -> list[str]:
    found = set(names)
    return [name for name in COLLECTIVES if name in found]


def ranges_text(numbers: Iterable[int]) -> str:
    """``2 to 8, 12, 16``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = []
    for run in runs:
        texts += [str(number) for number in run] if len(run) < 3 else [f"{run[0]} to {run[-1]}"]
    return ", ".join(texts)


def value_text(value: Value) -> str:
    """A parameter's value as the command line and TOML write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- where they are --------------------------------------------------------------------------------------


def tuning_directory() -> Path:
    """Where the bundled files lie: inside the installed package, or at the top of a source tree."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "tuning", package.parent.parent / "tuning"):
        if folder.is_dir():
            return folder
    raise RunError(f"{package / 'tuning'}: the bundled tuning files are missing from this installation")


def bundled_tunings() -> list[Path]:
    """The files of collectives that come with corewise, sorted."""
    return sorted(tuning_directory().glob("collectives-*.toml"))


def tuning_for(machine: str) -> Tuning:
    """The bundled tuning of a machine, or that of a file; an `InputError` lists what there is."""
    path = Path(machine)
    if path.suffix == ".toml" or "/" in machine:
        return load_tuning(path)
    found = {
        name: tuning
        for tuning in map(load_tuning, bundled_tunings())
        for name in (tuning.machine, *tuning.also)
    }
    if machine not in found:
        raise InputError(
            f"machine '{machine}' has no tuning, allowed: {', '.join(sorted(found))}, or a tuning file"
        )
    return found[machine]


# ---- reading ---------------------------------------------------------------------------------------------


def load_tuning(path: str | Path) -> Tuning:
    """Reads a tuning file."""
    return parse_tuning(read_text(Path(path)), str(path))


def parse_tuning(text: str, source: str = "") -> Tuning:
    """Reads the text of one; `source` begins every message."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not TOML: {error}") from None
    fields = _Fields(source, "", document)
    fields.only(_HEAD)
    fields.one_of("format", (FORMAT,))
    if fields.whole("version", 0) != VERSION:
        raise fields.wrong("version", str(VERSION))
    rows = tuple(_row(row) for row in fields.tables("row"))
    _check_ranges(rows, source)
    return Tuning(
        port=fields.one_of("port", PORTS),
        machine=fields.text("machine"),
        description=fields.text("description"),
        who=fields.text("who"),
        when=fields.text("when"),
        command=fields.text("command"),
        rows=rows,
        also=fields.texts("also"),
    )


class _Fields:
    """The fields of one TOML table; an error names the file, the field's path, what was found and allowed."""

    def __init__(self, source: str, path: str, table: Mapping[str, Any]) -> None:
        self._source, self._path, self._table = source, path, table

    def _name(self, field: str) -> str:
        return f"{self._path}.{field}" if self._path else field

    def wrong(self, field: str, allowed: str) -> InputError:
        value = self._table.get(field)
        found = "nothing" if value is None else f"'{value}'" if isinstance(value, str) else value
        return bad_field(self._source, self._name(field), found, allowed)

    def only(self, known: tuple[str, ...]) -> None:
        """Refuses unknown fields and missing ones."""
        for field in self._table:
            if field not in known:
                raise bad_field(self._source, self._name(field), "an unknown field", ", ".join(known))
        for field in known:
            if field not in self._table and field not in _OPTIONAL:
                raise self.wrong(field, "required")

    def text(self, field: str) -> str:
        value = self._table.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, "a text")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        value = self._table.get(field, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            raise self.wrong(field, "texts")
        return tuple(value)

    def one_of(self, field: str, allowed: tuple[str, ...]) -> str:
        if self._table.get(field) not in allowed:
            raise self.wrong(field, " or ".join(allowed))
        return self.text(field)

    def whole(self, field: str, least: int, most: int | None = None) -> int:
        value: Any = self._table.get(field)
        if not _is_whole(value, least, most):
            raise self.wrong(field, f"a whole number from {least}" + (f" to {most}" if most else ""))
        return int(value)

    def list_of_whole(self, field: str) -> tuple[int, ...]:
        value = self._table.get(field)
        if not isinstance(value, list) or not value or not all(_is_whole(each, 0) for each in value):
            raise self.wrong(field, "one or more whole numbers from 0")
        return tuple(value)

    def latencies(self, field: str, count: int) -> tuple[float, ...]:
        value = self._table.get(field)
        good = isinstance(value, list) and len(value) == count and all(_is_time(each) for each in value)
        if not good:
            raise self.wrong(field, f"{count} positive numbers, one per measured size")
        return tuple(float(each) for each in value or ())

    def tables(self, field: str) -> Iterator[_Fields]:
        value = self._table.get(field, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.wrong(field, "tables")
        for index, each in enumerate(value):
            yield _Fields(self._source, f"{self._name(field)}[{index}]", each)

    def parameters(self) -> tuple[tuple[str, Value], ...]:
        table = self._table.get("parameters", {})
        if not isinstance(table, dict):
            raise self.wrong("parameters", "a table")
        inside = _Fields(self._source, self._name("parameters"), table)
        for name in table:
            inside.parameter(name)
        return tuple(sorted(table.items()))

    def parameter(self, name: str) -> None:
        """Refuses an unknown parameter and a value that it cannot have."""
        if name not in PARAMETERS:
            raise bad_field(self._source, self._name(name), "an unknown parameter", ", ".join(PARAMETERS))
        kind = PARAMETERS[name]
        if kind is int:
            self.whole(name, 0)
        elif kind is str:
            self.one_of(name, CLOSINGS)
        elif type(self._table[name]) is not bool:
            raise self.wrong(name, "true or false")


def _is_whole(value: object, least: int, most: int | None = None) -> bool:
    return type(value) is int and value >= least and (most is None or value <= most)


def _is_time(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(float(value)) and float(value) > 0  # type: ignore[arg-type]


def _row(fields: _Fields) -> TuningRow:
    fields.only(_ROW)
    first = fields.whole("bytes_from", 0)
    last = fields.whole("bytes_to", first) if "bytes_to" in fields._table else None
    sizes = fields.list_of_whole("measured_bytes")
    inside = all(first <= size and (last is None or size <= last) for size in sizes)
    if not inside or list(sizes) != sorted(set(sizes)):
        raise fields.wrong("measured_bytes", "rising sizes between bytes_from and bytes_to")
    selection: Selection = "paper" if fields.one_of("set", SELECTIONS) == "paper" else "all"
    return TuningRow(
        set=selection,
        collective=fields.one_of("collective", COLLECTIVES),
        ranks=fields.whole("ranks", 1, MOST_RANKS),
        bytes_from=first,
        bytes_to=last,
        measured_bytes=sizes,
        won=_choice(fields, len(sizes)),
        lost=tuple(_lost(each, len(sizes)) for each in fields.tables("lost")),
    )


def _lost(fields: _Fields, count: int) -> Choice:
    fields.only(_LOST)
    return _choice(fields, count)


def _choice(fields: _Fields, count: int) -> Choice:
    return Choice(fields.text("algorithm"), fields.parameters(), fields.latencies("latency_us", count))


def _check_ranges(rows: tuple[TuningRow, ...], source: str) -> None:
    """No call may have two rows."""
    order = sorted(
        range(len(rows)),
        key=lambda index: (
            rows[index].set,
            rows[index].collective,
            rows[index].ranks,
            rows[index].bytes_from,
            index,
        ),
    )
    for before, after in pairwise(order):
        one, other = rows[before], rows[after]
        same = (one.set, one.collective, one.ranks) == (other.set, other.collective, other.ranks)
        if same and one.holds(other.bytes_from):
            raise bad_field(
                source,
                f"row[{after}].bytes_from",
                f"{other.bytes_from}, which row[{before}] has for {one.collective} on {one.ranks} ranks too",
                "ranges that do not overlap",
            )


# ---- writing ---------------------------------------------------------------------------------------------


def save_tuning(tuning: Tuning, path: str | Path) -> None:
    """Writes a tuning file; reading it gives the same `Tuning`."""
    write_text(Path(path), tuning_text(tuning))


def tuning_text(tuning: Tuning) -> str:
    """The TOML text."""
    head = [
        "# Which algorithm wins, by collective, ranks and bytes: written by the command below, read by",
        "# `corewise explain`. The format: docs/formats/tuning.md.",
        f"format = {_quoted(FORMAT)}",
        f"version = {VERSION}",
        *(
            f"{field} = {_quoted(getattr(tuning, field))}"
            for field in ("port", "machine", "description", "who", "when", "command")
        ),
    ]
    if tuning.also:
        head.append(f"also = [{', '.join(map(_quoted, tuning.also))}]")
    return "\n".join([*head, *(line for row in tuning.rows for line in _row_lines(row))]) + "\n"


def _row_lines(row: TuningRow) -> Iterator[str]:
    yield ""
    yield "[[row]]"
    yield f"set = {_quoted(row.set)}"
    yield f"collective = {_quoted(row.collective)}"
    yield f"ranks = {row.ranks}"
    yield f"bytes_from = {row.bytes_from}"
    if row.bytes_to is not None:
        yield f"bytes_to = {row.bytes_to}"
    yield f"algorithm = {_quoted(row.won.algorithm)}"
    yield f"parameters = {_inline(row.won.parameters)}"
    yield f"measured_bytes = {list(row.measured_bytes)}"
    yield f"latency_us = {_times(row.won.latency_us)}"
    if row.lost:
        yield "lost = ["
        for each in row.lost:
            yield (
                f"  {{ algorithm = {_quoted(each.algorithm)}, parameters = {_inline(each.parameters)}, "
                f"latency_us = {_times(each.latency_us)} }},"
            )
        yield "]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _inline(parameters: tuple[tuple[str, Value], ...]) -> str:
    if not parameters:
        return "{}"
    pairs = (
        f"{name} = {_quoted(value) if isinstance(value, str) else value_text(value)}"
        for name, value in parameters
    )
    return f"{{ {', '.join(pairs)} }}"


def _times(times: tuple[float, ...]) -> str:
    return f"[{', '.join(repr(float(time)) for time in times)}]"
