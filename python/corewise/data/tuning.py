"""Tuning files: which algorithm of a collective is quickest, as data (docs/formats/tuning.md).

Owns the format: CSV in ``tuning/``, one file per machine and port, one line per range of sizes in which one
algorithm won a sweep, with what it took and what the others took. Invariant: a `Tuning` that was read has no
unknown field, no two rows for one call, and as many latencies as measured sizes everywhere.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from corewise import _core
from corewise.base.files import read_text, write_text
from corewise.errors import InputError, RunError, bad_field

FORMAT = "corewise-tuning"
VERSION = 2
Selection = Literal["paper", "all"]
"""``paper``: among the algorithms of paper 001; ``all``: those of its future work too."""
SELECTIONS: tuple[Selection, ...] = ("paper", "all")
PORTS = ("cell", "shm")
HOST = "host"
"""The machine of every file that was measured on a host."""
LEFT_TO_MPI = "mpi"
"""In files of hosts an algorithm beside corewise's own."""
COLLECTIVES = tuple(name for name, *_ in _core.collectives())
_TYPES: Mapping[str, type] = {"number": int, "bytes": int, "flag": bool, "closing": str}
PARAMETERS: Mapping[str, type] = MappingProxyType(
    {name: _TYPES[kind] for name, kind, *_ in _core.collective_settings()}
)
"""What an algorithm may be given (lab/collectives/settings.hpp), and as which type."""
CLOSINGS = ("barrier", "counters")
MOST_RANKS = 4096

Value = int | bool | str
_ON_HOSTS = ("processor", "host", "mpi", "cores")
_TEXTS = ("port", "machine", "description", "who", "when", "command")
_HEAD = ("format", "version", *_TEXTS, *_ON_HOSTS, "also")
_ALLOWED: Mapping[str, tuple[str, ...]] = {"format": (FORMAT,), "version": (str(VERSION),), "port": PORTS}
_COLUMNS = (
    "set",
    "collective",
    "ranks",
    "bytes_from",
    "bytes_to",
    "measured_bytes",
    "algorithm",
    "latency_us",
    "lost",
)
_BETWEEN = " | "
"""Between those that lost."""
_NAME = re.compile(r"[A-Za-z0-9_]+")
_MOST_DIGITS = 15


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

    @property
    def knob(self) -> str:
        """As COREWISE_ACCELERATE says it: ``peer_stages/piece=4096``."""
        return "/".join([self.algorithm, *(f"{key}={value_text(value)}" for key, value in self.parameters)])


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
class Host:
    """Where times were measured.

    Attributes
    ----------
    processor : str
        Maker, family and model, e.g. ``AuthenticAMD-25-17``.
    host : str
        The processor as the system names it.
    mpi : str
        Name and version, e.g. ``mpich 5.0.2``; ``mpich-no-cma`` without copies from process to process.
    cores : int
        That there were: more ranks shared them.
    """

    processor: str
    host: str
    mpi: str
    cores: int

    @property
    def mpi_name(self) -> str:
        """Without the version."""
        return self.mpi.partition(" ")[0]


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
    on : Host or None
        Of port ``shm``.
    """

    port: str
    machine: str
    description: str
    who: str
    when: str
    command: str
    rows: tuple[TuningRow, ...]
    also: tuple[str, ...] = ()
    on: Host | None = None

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
    """A parameter's value as the command line and a tuning file write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- where they are --------------------------------------------------------------------------------------


def tuning_directory() -> Path:
    """Where the bundled files lie: inside the installed package, or at the top of a source tree."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "tuning", package.parent.parent / "tuning"):
        if folder.is_dir():
            return folder
    raise RunError(f"{package / 'tuning'}: the bundled tuning files are missing from this installation")


def bundled_tunings(folder: Path | None = None) -> list[Path]:
    """The files of collectives that come with corewise, or lie in a folder, sorted."""
    return sorted((folder or tuning_directory()).glob("collectives-*.csv"))


@cache
def bundled() -> Mapping[str, Tuning]:
    """The bundled tunings by the machines that they hold for, those of hosts left out; read once."""
    return MappingProxyType(
        {
            name: tuning
            for tuning in map(load_tuning, bundled_tunings())
            if tuning.on is None
            for name in (tuning.machine, *tuning.also)
        }
    )


def tuning_for(machine: str) -> Tuning:
    """The bundled tuning of a machine, or that of a file; an `InputError` lists what there is."""
    path = Path(machine)
    if path.suffix or "/" in machine:
        return load_tuning(path)
    if machine not in bundled():
        raise InputError(
            f"machine '{machine}' has no tuning, allowed: {', '.join(sorted(bundled()))}, or a tuning file"
        )
    return bundled()[machine]


# ---- reading ---------------------------------------------------------------------------------------------


def load_tuning(path: str | Path) -> Tuning:
    """Reads a tuning file."""
    return parse_tuning(read_text(Path(path)), str(path))


def parse_tuning(text: str, source: str = "") -> Tuning:
    """Reads the text of one; `source` begins every message."""
    records = list(_records(text, source))
    size = next(
        (index for index, (_, record) in enumerate(records) if record[0] == _COLUMNS[0]), len(records)
    )
    head = _head(records[:size], source)
    if size == len(records):
        raise bad_field(source, "columns", "nothing", ",".join(_COLUMNS))
    place, columns = records[size]
    if tuple(columns) != _COLUMNS:
        raise place.wrong("columns", ",".join(columns), ",".join(_COLUMNS))
    rows = [(where, _row(where, record)) for where, record in records[size + 1 :]]
    _check_ranges(rows)
    return Tuning(**head, rows=tuple(row for _, row in rows))


@dataclass(frozen=True)
class _Place:
    """A line of a file; an error names the file, the line, the field, what was found and what is allowed."""

    source: str
    line: int

    def wrong(self, field: str, found: str, allowed: str) -> InputError:
        shown = f"'{found}'" if found else "nothing"
        return bad_field(self.source, f"line {self.line}, {field}", shown, allowed)

    def one_of(self, field: str, found: str, allowed: Sequence[str]) -> str:
        if found not in allowed:
            raise self.wrong(field, found, " or ".join(allowed))
        return found

    def whole(self, field: str, found: str, least: int = 0, most: int = 10**_MOST_DIGITS - 1) -> int:
        digits = found.isascii() and found.isdigit() and len(found) <= _MOST_DIGITS
        if not digits or not least <= int(found) <= most:
            raise self.wrong(field, found, f"a whole number from {least} to {most}")
        return int(found)

    def time(self, found: str) -> float:
        try:
            number = float(found)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise self.wrong("latency_us", found, "positive numbers")
        return number

    def times(self, found: Sequence[str], count: int) -> tuple[float, ...]:
        if len(found) != count:
            raise self.wrong(
                "latency_us", " ".join(found), f"{count} positive numbers, one per measured size"
            )
        return tuple(map(self.time, found))


def _records(text: str, source: str) -> Iterator[tuple[_Place, list[str]]]:
    """Every line's values; empty lines are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for record in reader:
            if record:
                yield _Place(source, reader.line_num), record
    except csv.Error as error:
        raise InputError(f"{source}: line {reader.line_num}: not CSV: {error}") from None


def _head(records: Sequence[tuple[_Place, list[str]]], source: str) -> dict[str, Any]:
    """The fields of a `Tuning` besides its rows."""
    found: dict[str, tuple[str, ...]] = {}
    for place, (name, *values) in records:
        # The format comes first: of a file that is none of these, nothing else is worth an error.
        if name not in _HEAD or (not found and name != "format"):
            raise place.wrong("field", name, "format" if not found else ", ".join(_HEAD))
        if name in found:
            raise place.wrong("field", name, "each once")
        if not all(value.strip() for value in values) or (len(values) != 1 and name != "also"):
            raise place.wrong(name, ",".join(values), "a text")
        if name in _ALLOWED:
            place.one_of(name, values[0], _ALLOWED[name])
        found[name] = tuple(values)
    on_host = found.get("port") == ("shm",)
    required = ("format", "version", *_TEXTS, *(_ON_HOSTS if on_host else ()))
    if missing := [name for name in required if name not in found]:
        raise bad_field(source, missing[0], "nothing", "required")
    texts = {name: found[name][0] for name in _TEXTS}
    return {**texts, "also": found.get("also", ()), "on": _host_of(records, on_host)}


def _host_of(records: Sequence[tuple[_Place, list[str]]], on_host: bool) -> Host | None:
    found = {name: (place, value) for place, (name, value, *_) in records if name in _ON_HOSTS}
    if not on_host:
        for name, (place, value) in found.items():
            raise place.wrong(name, value, "nothing, where the port is cell")
        return None
    processor, host, mpi = (found[name][1] for name in _ON_HOSTS[:-1])
    place, cores = found["cores"]
    return Host(processor, host, mpi, place.whole("cores", cores, 1, MOST_RANKS))


def _row(place: _Place, record: Sequence[str]) -> TuningRow:
    if len(record) != len(_COLUMNS):
        raise place.wrong("columns", str(len(record)), str(len(_COLUMNS)))
    text = dict(zip(_COLUMNS, record, strict=True))
    first = place.whole("bytes_from", text["bytes_from"])
    last = place.whole("bytes_to", text["bytes_to"], first) if text["bytes_to"] else None
    sizes = tuple(place.whole("measured_bytes", each) for each in text["measured_bytes"].split())
    inside = all(first <= size and (last is None or size <= last) for size in sizes)
    if not sizes or not inside or list(sizes) != sorted(set(sizes)):
        allowed = "one or more rising sizes between bytes_from and bytes_to"
        raise place.wrong("measured_bytes", text["measured_bytes"], allowed)
    won = _named_choice(place, "algorithm", text["algorithm"])
    lost = text["lost"].split(_BETWEEN) if text["lost"] else ()
    return TuningRow(
        set="paper" if place.one_of("set", text["set"], SELECTIONS) == "paper" else "all",
        collective=place.one_of("collective", text["collective"], COLLECTIVES),
        ranks=place.whole("ranks", text["ranks"], 1, MOST_RANKS),
        bytes_from=first,
        bytes_to=last,
        measured_bytes=sizes,
        won=Choice(*won, place.times(text["latency_us"].split(), len(sizes))),
        lost=tuple(_loser(place, each, len(sizes)) for each in lost),
    )


def _loser(place: _Place, text: str, count: int) -> Choice:
    """``tree(degree=3) 2.5 3``."""
    name, end, times = text.rpartition(")")
    if not end:
        name, _, times = text.partition(" ")
    return Choice(*_named_choice(place, "lost", name + end), place.times(times.split(), count))


def _named_choice(place: _Place, field: str, text: str) -> tuple[str, tuple[tuple[str, Value], ...]]:
    """An algorithm and its parameters from ``tree(closing=counters degree=3)``."""
    name, opened, inside = text.partition("(")
    good = _NAME.fullmatch(name) and (not opened or inside.endswith(")"))
    if not good:
        raise place.wrong(field, text, "ALGORITHM or ALGORITHM(NAME=VALUE ...)")
    found: dict[str, Value] = {}
    for pair in inside[:-1].split():
        key, _, value = pair.partition("=")
        if key not in PARAMETERS:
            raise place.wrong(f"{field}, parameter", key, ", ".join(PARAMETERS))
        if key in found:
            raise place.wrong(f"{field}, {key}", value, "each once")
        found[key] = _parameter(place, f"{field}, {key}", PARAMETERS[key], value)
    return name, tuple(sorted(found.items()))


def _parameter(place: _Place, field: str, kind: type, value: str) -> Value:
    if kind is int:
        return place.whole(field, value)
    if kind is str:
        return place.one_of(field, value, CLOSINGS)
    return place.one_of(field, value, ("true", "false")) == "true"


def _check_ranges(rows: Sequence[tuple[_Place, TuningRow]]) -> None:
    """No call may have two rows."""
    order = sorted(
        rows,
        key=lambda each: (each[1].set, each[1].collective, each[1].ranks, each[1].bytes_from, each[0].line),
    )
    for (before, one), (after, other) in pairwise(order):
        same = (one.set, one.collective, one.ranks) == (other.set, other.collective, other.ranks)
        if same and one.holds(other.bytes_from):
            raise bad_field(
                after.source,
                f"line {after.line}, bytes_from",
                f"{other.bytes_from}, which line {before.line} has too",
                "ranges that do not overlap",
            )


# ---- writing ---------------------------------------------------------------------------------------------


def save_tuning(tuning: Tuning, path: str | Path) -> None:
    """Writes a tuning file; reading it gives the same `Tuning`."""
    write_text(Path(path), tuning_text(tuning))


def tuning_text(tuning: Tuning) -> str:
    """The CSV text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("format", FORMAT))
    writer.writerow(("version", VERSION))
    for field in _TEXTS:
        writer.writerow((field, getattr(tuning, field)))
    if tuning.on is not None:
        writer.writerows(asdict(tuning.on).items())
    if tuning.also:
        writer.writerow(("also", *tuning.also))
    writer.writerow(())
    writer.writerow(_COLUMNS)
    writer.writerows(map(_record, tuning.rows))
    return text.getvalue()


def _record(row: TuningRow) -> tuple[object, ...]:
    return (
        row.set,
        row.collective,
        row.ranks,
        row.bytes_from,
        "" if row.bytes_to is None else row.bytes_to,
        " ".join(map(str, row.measured_bytes)),
        _choice_text(row.won),
        _times(row.won),
        _BETWEEN.join(f"{_choice_text(each)} {_times(each)}" for each in row.lost),
    )


def _choice_text(choice: Choice) -> str:
    inside = " ".join(f"{name}={value_text(value)}" for name, value in choice.parameters)
    return f"{choice.algorithm}({inside})" if inside else choice.algorithm


def _times(choice: Choice) -> str:
    return " ".join(f"{time!r}".removesuffix(".0") for time in choice.latency_us)
