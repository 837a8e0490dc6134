"""Packing-tuning files: what the packing library takes over (docs/formats/packing-tuning.md).

Owns the format, CSV, one file per processor and MPI, one line per measured shape of message, and which
shapes are taken over. Invariants: no shape stands twice; what was read and is written again is the same file.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from corewise.base.documents import Fields, parse_csv
from corewise.base.files import read_text, write_text
from corewise.errors import bad_field

FORMAT, VERSION = "corewise-packing-tuning", 5
USES = ("send", "receive", "pack", "unpack")
"""What is to be done, in the order of ``kernels/packing/plans/cost.hpp``."""
LINES = ("dense", "sparse")
"""How close together data lie, as ``packing_lines`` there says it."""
TAKEN = (1.04, 0.97)
"""On the processor of a tuning a shape is taken over where packing was so many times as fast in the median,
and in three of four rounds: the grid is of vectors, which MPIs do best, and other types gain more."""
TAKEN_ELSEWHERE = (1.1, 1.0)
"""The same on any other processor."""
_HEAD = ("format", "version", "processor", "host", "mpi", "who", "when", "command")
_COLUMNS = ("use", "lines", "bytes", "run", "ratio", "low")
Range = tuple[int, int]
"""Mean lengths of runs in bytes, both included."""


@dataclass(frozen=True)
class PackingRow:
    """One shape of message, measured: data bytes of the message, and the mean length of its contiguous runs.

    `ratio` and `low` are the time of what a use is held against over ours, median and lower quartile of the
    rounds; each the smallest of several (docs/formats/packing-tuning.md).
    """

    use: str
    lines: str
    bytes: int
    run: int
    ratio: float
    low: float


@dataclass(frozen=True)
class PackingTuning:
    """A tuning file.

    Attributes
    ----------
    processor : maker, family and model, e.g. ``AuthenticAMD-25-17``.
    host : the processor's name, as the system has it.
    mpi : name and version, e.g. ``mpich 5.0.2``; ``mpich-no-cma`` without copies from process to process.
    who, when, command : the corewise that wrote it, the day, and the command line.
    """

    processor: str
    host: str
    mpi: str
    who: str
    when: str
    command: str
    rows: tuple[PackingRow, ...]

    def line_density(self, use: str, density: float) -> float:
        """As a use sees it: Open MPI's engine sees no thin lines in messages (``packing/types.hpp``)."""
        return 1.0 if self.mpi.startswith("openmpi") and use in USES[:2] else density

    def knob(self) -> str:
        """The value of COREWISE_PACKING that says the same: ``send=512:0,32768:512;pack=...``."""
        return knob_of([self], TAKEN)


def knob_of(tunings: Sequence[PackingTuning], least: tuple[float, float] = TAKEN_ELSEWHERE) -> str:
    """What all of some tunings take over, as COREWISE_PACKING says it; `least`: ratio, and its low end."""
    texts = []
    for use in USES:
        for lines in LINES:
            tables = [_ranges_by_bytes(tuning.rows, use, lines, least) for tuning in tunings]
            sizes = sorted({size for table in tables for size in table})
            rows = [(size, _common([_ranges_at(table, size) for table in tables])) for size in sizes]
            if any(ranges for _, ranges in rows):
                name = use if lines == LINES[0] else f"{use}.{lines}"
                texts.append(f"{name}={','.join(f'{size}:{_ranges_text(r)}' for size, r in rows)}")
    return ";".join(texts) or "off"


def _ranges_by_bytes(
    rows: Iterable[PackingRow], use: str, lines: str, least: tuple[float, float]
) -> Mapping[int, list[Range]]:
    """For messages of up to so many bytes the runs that are taken over.

    The nearest measured size decides, by ratio; messages of less than half the smallest, or more than the
    largest, are not taken over.
    """
    shapes = [row for row in rows if (row.use, row.lines) == (use, lines)]
    margins = sorted((row.bytes, row.run, min(row.ratio / least[0], row.low / least[1])) for row in shapes)
    by_size = groupby(margins, lambda margin: margin[0])
    measured = {size: _won([margin[1:] for margin in group]) for size, group in by_size}
    sizes = list(measured)
    ends = [*(math.isqrt(a * b) for a, b in pairwise(sizes)), *sizes[-1:]]
    below: dict[int, list[Range]] = {sizes[0] // 2: []} if sizes and sizes[0] > 1 else {}
    return below | dict(zip(ends, measured.values(), strict=True))


def _ranges_at(table: Mapping[int, list[Range]], size: int) -> list[Range]:
    """Of the first row that decides about messages of so many bytes."""
    return next((ranges for most, ranges in table.items() if size <= most), [])


def _won(rows: Sequence[tuple[int, float]]) -> list[Range]:
    """Runs whose margin, interpolated by logarithms, is 1 or more; the shortest stands for all below it."""
    found: list[Range] = []
    least = 0 if rows[0][1] >= 1 else None
    for (run, margin), (longer, other) in pairwise(rows):
        if (margin >= 1) != (other >= 1):
            even = round(run * (longer / run) ** (math.log(margin) / math.log(margin / other)), 6)
            found += [(least, math.floor(even))] if least is not None else []
            least = None if least is not None else math.ceil(even)
    return found if least is None else [*found, (least, rows[-1][0])]


def _common(several: Sequence[Sequence[Range]]) -> list[Range]:
    """The runs that are in all of some lists of ranges."""
    common = list(several[0])
    for ranges in several[1:]:
        pairs = [(max(a, c), min(b, d)) for a, b in common for c, d in ranges]
        common = sorted((low, high) for low, high in pairs if low <= high)
    return common


def _ranges_text(ranges: Sequence[Range]) -> str:
    return "+".join(str(most) if least == 0 else f"{least}-{most}" for least, most in ranges) or "0"


def load_packing_tuning(path: str | Path) -> PackingTuning:
    """Reads a packing-tuning file."""
    return parse_packing_tuning(read_text(Path(path)), str(path))


def save_packing_tuning(tuning: PackingTuning, path: str | Path) -> None:
    """Writes a packing-tuning file."""
    write_text(Path(path), packing_tuning_text(tuning))


def packing_tuning_text(tuning: PackingTuning) -> str:
    """The file's text."""
    head = {"format": FORMAT, "version": VERSION, **{name: getattr(tuning, name) for name in _HEAD[2:]}}
    out = io.StringIO()
    out.writelines(f"# {name} = {value}\n" for name, value in head.items())
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(_COLUMNS)
    lines.writerows([getattr(row, name) for name in _COLUMNS] for row in tuning.rows)
    return out.getvalue()


def parse_packing_tuning(text: str, source: str = "") -> PackingTuning:
    """Reads the text of one; `source` begins every message."""
    found = parse_csv(text, source, _COLUMNS)
    head = found.head
    head.header(FORMAT, VERSION)
    head.only(_HEAD)
    rows = tuple(map(_row, found.rows))
    seen: set[tuple[str, str, int, int]] = set()
    for fields, row in zip(found.rows, rows, strict=True):
        shape = (row.use, row.lines, row.bytes, row.run)
        if shape in seen:
            raise bad_field(fields.source, "row", "a shape a second time", "each shape once")
        seen.add(shape)
    return PackingTuning(**{name: head.text(name) for name in _HEAD[2:]}, rows=rows)


def _row(fields: Fields) -> PackingRow:
    return PackingRow(
        fields.one_of("use", USES),
        fields.one_of("lines", LINES),
        fields.whole("bytes", 1),
        fields.whole("run", 1),
        fields.positive("ratio"),
        fields.positive("low"),
    )
