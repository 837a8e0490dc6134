"""The published numbers that results are held against: ``published.csv``, one row per value.

Columns: `id` (of the measurement, A1 .. G3), `source` (the paper and place), `what`, `value`, `unit`, `sd`
(of the published trials, empty where none is given) and `set`: C, parameters may be tuned to it, or H, held
out, only reported.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

DataSet = Literal["C", "H"]
"""C: calibration; H: held out."""


@dataclass(frozen=True)
class Published:
    """One published value.

    Attributes
    ----------
    id : str
        The measurement, e.g. ``A9``; several values may share it.
    source : str
        Where it stands, e.g. ``000 table 1``.
    what : str
        The value within the measurement, e.g. ``6<-0``.
    value : float
    unit : str
    sd : float or None
        Standard deviation of the published trials.
    set : {"C", "H"}
    """

    id: str
    source: str
    what: str
    value: float
    unit: str
    sd: float | None
    set: DataSet


@cache
def published() -> tuple[Published, ...]:
    """Every published value, in the file's order."""
    text = resources.files("corewise.data").joinpath("published.csv").read_text(encoding="utf-8")
    return tuple(_row(fields) for fields in csv.DictReader(text.splitlines()))


def published_as(measurement: str) -> tuple[Published, ...]:
    """The values of one measurement, e.g. ``A9``, in the file's order; KeyError where there is none."""
    found = tuple(row for row in published() if row.id == measurement)
    if not found:
        raise KeyError(measurement)
    return found


def _row(fields: dict[str, str]) -> Published:
    return Published(
        id=fields["id"],
        source=fields["source"],
        what=fields["what"],
        value=float(fields["value"]),
        unit=fields["unit"],
        sd=float(fields["sd"]) if fields["sd"] else None,
        set="C" if fields["set"] == "C" else "H",
    )
