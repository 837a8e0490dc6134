"""Reads a matrix of core-to-core latencies: one row per line, no header.

Cells are separated by commas, or by semicolons or tabs. Row and column k are the operating system's CPU k,
entries nanoseconds. One half may be blank, as some tools write it. Invariant: what is returned is square,
symmetric, finite and over zero beside its diagonal, which is zero.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeAlias

from corewise.base import late
from corewise.base.files import read_text
from corewise.errors import InputError, bad_field, shown

with late.imports():
    import numpy as np
    from numpy import typing as npt

Matrix: TypeAlias = "npt.NDArray[np.float64]"

MOST_CPUS = 1024
"""What a machine may have."""
MOST_NS = 1e9
ASYMMETRY_RATIO, ASYMMETRY_SHARE = 2.0, 0.2
"""Both directions of a pair may differ by that ratio in that share of the pairs."""
_AGREE = 1.25
_MOST_BYTES = 1 << 25
_BLANK = math.nan
_SEPARATORS = ",;\t"
_SPACE = " \r\n"
"""Of a line that says nothing; a tab may stand between two blank cells."""
_PRINTED = "Num cores:"


def read_latencies(path: Path) -> Matrix:
    """The matrix of a file, both directions of each pair made one number.

    Where they agree it is their mean; where not, the smaller: a disturbed measurement is too long.
    """
    texts = [
        (number, line)
        for number, line in enumerate(read_text(path, _MOST_BYTES).split("\n"), start=1)
        if line.strip(_SPACE) and not line.startswith("#")
    ]
    if any(line.startswith(_PRINTED) for _, line in texts):
        raise InputError(
            f"{path}: found what core-to-core-latency prints, allowed: the matrix that its --csv writes"
        )
    separator = next((each for each in _SEPARATORS if texts and each in texts[0][1]), ",")
    lines = [(number, line.split(separator)) for number, line in texts]
    width = _width(path, lines)
    rows = [_row(path, number, index, cells) for index, (number, cells) in enumerate(lines)]
    if len(lines) != width:
        raise bad_field(
            str(path),
            "matrix",
            f"{len(lines)} rows of {width} cells",
            "as many rows as cells: square, without a header",
        )
    found = np.array(rows, dtype=np.float64)
    np.fill_diagonal(found, 0)
    return _symmetric(path, _whole(path, found, [number for number, _ in lines]))


def _width(path: Path, lines: list[tuple[int, list[str]]]) -> int:
    if not lines:
        raise InputError(f"{path}: the file is empty, allowed: a square matrix of nanoseconds")
    width = len(lines[0][1])
    if width > MOST_CPUS or len(lines) > MOST_CPUS:
        found = f"{len(lines)} rows of {width}"
        raise bad_field(str(path), "matrix", found, f"at most {MOST_CPUS} CPUs")
    for number, cells in lines:
        if len(cells) != width:
            raise bad_field(f"{path}:{number}", "row", f"{len(cells)} cells", f"{width}, as in the first row")
    return width


def _row(path: Path, number: int, cpu: int, cells: list[str]) -> list[float]:
    return [_cell(f"{path}:{number}", cpu, column, cell.strip()) for column, cell in enumerate(cells)]


def _cell(source: str, cpu: int, column: int, cell: str) -> float:
    if not cell:
        return _BLANK
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    least_fits = value >= 0 if column == cpu else value > 0
    if not (math.isfinite(value) and least_fits and value <= MOST_NS):
        raise bad_field(source, f"column {column + 1}", shown(cell), "a number of nanoseconds over 0, to 1e9")
    return value


def _whole(path: Path, found: Matrix, numbers: list[int]) -> Matrix:
    """With a half that is blank filled from the other one."""
    blank = np.isnan(found)
    if not blank.any():
        return found
    upper = np.triu(np.ones(found.shape, dtype=bool), 1)
    half = min((upper, upper.T), key=lambda each: int(np.sum(blank != each)))
    if np.array_equal(blank, half):
        whole: Matrix = np.where(blank, found.T, found)
        return whole
    row, column = (int(at) for at in np.argwhere(blank & ~half if blank[half].all() else blank)[0])
    raise bad_field(
        f"{path}:{numbers[row]}", f"column {column + 1}", "nothing", "a number of nanoseconds over 0"
    )


def _symmetric(path: Path, found: Matrix) -> Matrix:
    off = ~np.eye(len(found), dtype=bool)
    smaller, larger = np.minimum(found, found.T), np.maximum(found, found.T)
    ratio = np.divide(larger, smaller, out=np.ones_like(found), where=off)
    if off.any() and float(np.mean(ratio[off] > ASYMMETRY_RATIO)) > ASYMMETRY_SHARE:
        row, column = (int(at) for at in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
        values = (
            f"{found[row, column]:g} in row {row + 1}, column {column + 1} and {found[column, row]:g} back"
        )
        raise bad_field(
            str(path),
            "matrix",
            values,
            f"pairs whose directions differ by a factor of at most {ASYMMETRY_RATIO:g}",
        )
    symmetric: Matrix = np.where(ratio > _AGREE, smaller, (smaller + larger) / 2)
    return symmetric
