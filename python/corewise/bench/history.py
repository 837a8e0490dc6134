"""How rows of benchmarks changed between versions: the results of `--json`, side by side.

A row is the same where its id, its unit and its processor are; one that only some files have stays. The MPI
is part of the ids that need one, so that another version of it is another row. Change: of ours, from the
first file that has the row to the last.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise.analysis.result import Figure, Panel, Series, Table
from corewise.base.documents import Fields, read_json
from corewise.data.quantities import number_text
from corewise.errors import InputError

MOST_CURVES = 8
"""Of a panel that can be read."""
_PREFIX = "bench "
_MOST = sys.float_info.max


@dataclass(frozen=True)
class Point:
    """A row in one file."""

    ours: float
    ratio: float | None
    spread: float | None


@dataclass(frozen=True)
class Line:
    """A row through all files.

    Attributes
    ----------
    question, id, unit, processor : str
    points : tuple of Point or None
        One per file, None where it has no such row.
    """

    question: str
    id: str
    unit: str
    processor: str
    points: tuple[Point | None, ...]

    @property
    def known(self) -> tuple[Point, ...]:
        """Of the files that have it."""
        return tuple(point for point in self.points if point is not None)

    @property
    def change(self) -> float | None:
        """Of ours, last over first less one; None where fewer than two files have it."""
        first, last = self.known[0].ours, self.known[-1].ours
        return last / first - 1 if len(self.known) > 1 and first else None

    @property
    def beyond_spread(self) -> bool:
        """Whether the change is larger than the spread of either end."""
        spreads = [point.spread or 0.0 for point in (self.known[0], self.known[-1])]
        return self.change is not None and abs(self.change) > max(spreads)


@dataclass(frozen=True)
class History:
    """Lines by files."""

    labels: tuple[str, ...]
    lines: tuple[Line, ...]


def read(path: Path) -> Fields:
    """One result of a benchmark's ``--json``."""
    document = read_json(path)
    document.text("version")
    if not document.text("name").startswith(_PREFIX):
        raise document.wrong("name", f"{_PREFIX}QUESTION, as corewise bench --json prints it")
    return document


def history_of(paths: Sequence[Path]) -> History:
    """The files in the order given."""
    documents = [read(path) for path in paths]
    columns = [dict(_points(document)) for document in documents]
    keys = dict.fromkeys(key for column in columns for key in column)
    lines = [Line(*key, tuple(column.get(key) for column in columns)) for key in keys]
    return History(tuple(_labels(paths, documents)), tuple(lines))


def _points(document: Fields) -> Iterator[tuple[tuple[str, str, str, str], Point]]:
    """Question, id, unit and processor of every row that has a value, and the point."""
    question = document.text("name").removeprefix(_PREFIX)
    for row in document.tables("rows"):
        name, unit = row.text("id"), row.text("unit")
        processor = row.text("processor", document.text("machine", "unknown"))
        if "ours" in row:
            point = Point(row.number("ours", -_MOST), _optional(row, "ratio"), _optional(row, "spread"))
            yield (question, name, unit, processor), point


def _optional(row: Fields, field: str) -> float | None:
    return row.number(field, -_MOST) if field in row else None


def _labels(paths: Sequence[Path], documents: Sequence[Fields]) -> Iterator[str]:
    """Version and commit; the file's name too where that says too little."""
    plain = [
        f"{document.text('version')} {document.text('commit', '')[:7]}".strip() for document in documents
    ]
    for label, path in zip(plain, paths, strict=True):
        yield label if plain.count(label) == 1 else f"{label} {path.stem}"


def tables(history: History) -> Iterator[Table]:
    """A table per question and processor: ours in every file, change, ratio of the first and the last."""
    for question, processor in _groups(history):
        lines = _of(history, question, processor)
        yield Table(
            f"bench {question} on {processor}",
            ("id", "unit", *history.labels, "change", "ratio"),
            tuple(_cells(line) for line in lines),
            note="ours in every file, first to last; change: of ours, ~ where it is within the spread.",
        )


def _groups(history: History) -> list[tuple[str, str]]:
    return list(dict.fromkeys((line.question, line.processor) for line in history.lines))


def _of(history: History, question: str, processor: str) -> list[Line]:
    return [line for line in history.lines if (line.question, line.processor) == (question, processor)]


def _cells(line: Line) -> tuple[str, ...]:
    values = ["" if point is None else number_text(point.ours, 4) for point in line.points]
    change = (
        "" if line.change is None else f"{100 * line.change:+.0f} %" + ("" if line.beyond_spread else " ~")
    )
    ratios = [f"{point.ratio:.2f}" for point in line.known if point.ratio is not None]
    between = f"{ratios[0]} to {ratios[-1]}" if len(ratios) > 1 else "".join(ratios)
    return (line.id, line.unit, *values, change, between)


def figure(history: History) -> Figure:
    """A panel per question and processor: the rows that changed most, each over its first value."""
    panels = []
    for question, processor in _groups(history):
        lines = [line for line in _of(history, question, processor) if line.change is not None]
        lines.sort(key=lambda line: -abs(line.change or 0))
        shown = lines[:MOST_CURVES]
        if not shown:
            continue
        most = f", the {len(shown)} of {len(lines)} rows that changed most" if len(lines) > len(shown) else ""
        panels.append(
            Panel(
                f"bench {question}{most}\n{processor}",
                "",
                "ours over its first value",
                "line",
                tuple(map(_series, shown)),
                x_names=tuple(label.replace(" ", "\n") for label in history.labels),
            )
        )
    if not panels:
        raise InputError("-o: no row is in two files, allowed: files that share rows")
    return Figure("bench-history", "How benchmarks changed", tuple(panels))


def _series(line: Line) -> Series:
    first = line.known[0].ours
    places = [place for place, point in enumerate(line.points) if point is not None]
    values = tuple(point.ours / first for point in line.known)
    return Series(line.id.removeprefix(f"{line.question}-"), tuple(map(float, places)), values)
