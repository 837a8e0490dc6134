"""What differs between two runs, or between two groups of runs, of a program.

Pure functions from profiles to rows. Every number of a side is the mean over its profiles, with the least and
the most beside it. Invariant: what one run each cannot say is not said. A change *stands out* only where both
sides have `MARKED_FROM` profiles or more and no value of one side lies within the values of the other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.profile.cells import matrix_cells
from corewise.analysis.profile.matrix import build_matrix
from corewise.analysis.profile.rows import ProfileAnalysis
from corewise.analysis.profile.tables import analyse_profile, starts_or_stops
from corewise.data.profile import Profile
from corewise.errors import InputError

MARKED_FROM = 4
"""Profiles of each side: of so many, two sides lie apart by chance in 2 of 70 cases, of two in 2 of 6."""
NOISE = (
    f"fewer than {MARKED_FROM} profiles on a side: which changes are larger than noise cannot be known; give "
    f"{MARKED_FROM} or more of each side (corewise diff A*.cw -- B*.cw)"
)


@dataclass(frozen=True)
class Side:
    """One quantity over the profiles of a side."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True)
class Change:
    """One quantity on both sides.

    Attributes
    ----------
    before, after : Side
    ratio : float or None
        After over before; None where there was nothing before.
    stands_out : bool or None
        Whether the two sides' values do not overlap; None where a side has too few profiles to say so.
    """

    before: Side
    after: Side
    ratio: float | None
    stands_out: bool | None

    @property
    def difference(self) -> float:
        """After less before, of the means."""
        return self.after.mean - self.before.mean


@dataclass(frozen=True)
class DiffRow:
    """A procedure, or a place in the program that calls one.

    Attributes
    ----------
    procedure : str
    where : str
        The place; empty in rows of whole procedures.
    calls, bytes, time_ns : Change
    """

    procedure: str
    where: str
    calls: Change
    bytes: Change
    time_ns: Change


@dataclass(frozen=True)
class PairRow:
    """A pair of ranks and its point-to-point messages, as sent."""

    sender: int
    receiver: int
    bytes: Change
    messages: Change


@dataclass(frozen=True)
class ProfileDiff:
    """Two sides, before and after.

    Attributes
    ----------
    names : tuple of two tuples of str
        The profiles of each side.
    ranks : tuple of two int
    patterns : tuple of two tuples of str
        What each side's patterns are called, each name once.
    wall_ns, mpi_ns, mpi_share, bytes, messages, collective_bytes : Change
        Of the whole run; `mpi_ns` is the mean of the ranks, `mpi_share` what part of the run that is.
    calls, sites : tuple of DiffRow
        Largest change of time first; starting and stopping MPI last.
    pairs : tuple of PairRow
        Largest change of bytes first; pairs without a change are left out. Empty where the numbers of ranks
        differ.
    matrix : ndarray of float64 or None
        After less before, bytes from row to column; None where the numbers of ranks differ.
    notes : tuple of str
        What the comparison cannot say.
    """

    names: tuple[tuple[str, ...], tuple[str, ...]]
    ranks: tuple[int, int]
    patterns: tuple[tuple[str, ...], tuple[str, ...]]
    wall_ns: Change
    mpi_ns: Change
    mpi_share: Change
    bytes: Change
    messages: Change
    collective_bytes: Change
    calls: tuple[DiffRow, ...]
    sites: tuple[DiffRow, ...]
    pairs: tuple[PairRow, ...]
    matrix: NDArray[np.float64] | None
    notes: tuple[str, ...]


def compare_profiles(before: Sequence[Profile], after: Sequence[Profile]) -> ProfileDiff:
    """Compares the main worlds of two groups of profiles.

    Raises
    ------
    InputError
        A side is empty, or its profiles have different numbers of ranks.
    """
    sides = (_side(before, "before"), _side(after, "after"))
    ranks = (sides[0][0].world.size, sides[1][0].world.size)

    def whole(value: Callable[[ProfileAnalysis], float]) -> Change:
        return change([value(each) for each in sides[0]], [value(each) for each in sides[1]])

    same = ranks[0] == ranks[1]
    return ProfileDiff(
        names=_names(before, after),
        ranks=ranks,
        patterns=(_patterns(sides[0]), _patterns(sides[1])),
        wall_ns=whole(lambda each: each.wall_ns),
        mpi_ns=whole(_mean_mpi_ns),
        mpi_share=whole(lambda each: each.mpi_share),
        bytes=whole(lambda each: each.summary.bytes),
        messages=whole(lambda each: each.summary.messages),
        collective_bytes=whole(lambda each: each.collective_bytes),
        calls=_rows(sides, _calls),
        sites=_rows(sides, _sites),
        pairs=_pairs(sides) if same else (),
        matrix=_matrix(sides) if same else None,
        notes=_notes(sides, ranks),
    )


_Sides = tuple[Sequence[ProfileAnalysis], Sequence[ProfileAnalysis]]


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """One quantity's values on both sides."""
    sides = [Side(sum(values) / len(values), min(values), max(values)) for values in (before, after)]
    apart = sides[0].most < sides[1].least or sides[1].most < sides[0].least
    several = min(len(before), len(after)) >= MARKED_FROM
    ratio = sides[1].mean / sides[0].mean if sides[0].mean > 0 else None
    return Change(sides[0], sides[1], ratio, apart if several else None)


def _side(profiles: Sequence[Profile], name: str) -> list[ProfileAnalysis]:
    if not profiles:
        raise InputError(f"{name}: found no profile, allowed: one or more NAME.cw")
    paths = [profile.path.resolve() for profile in profiles]
    for at, profile in enumerate(profiles):
        if paths[at] in paths[:at]:
            raise InputError(f"{profile.path}: found twice on one side, allowed: once")
    for profile in profiles[1:]:
        if profile.world.size != profiles[0].world.size:
            raise InputError(
                f"{profile.path}: found {profile.world.size} ranks, allowed on one side: as many as in "
                f"{profiles[0].path} ({profiles[0].world.size})"
            )
    return [analyse_profile(profile) for profile in profiles]


def _names(before: Sequence[Profile], after: Sequence[Profile]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(str(each.path) for each in before), tuple(str(each.path) for each in after)


def _patterns(side: Iterable[ProfileAnalysis]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.summary.label for each in side))


def _mean_mpi_ns(analysis: ProfileAnalysis) -> float:
    present = [row.mpi_ns for row in analysis.ranks if row.ending != "missing"]
    return sum(present) / len(present) if present else 0.0


# ---- procedures and places -------------------------------------------------------------------------------

_Key = tuple[str, str]
_Amounts = tuple[float, float, float]
"""Calls, bytes, nanoseconds."""


def _calls(analysis: ProfileAnalysis) -> dict[_Key, _Amounts]:
    return {(row.procedure, ""): (row.calls, row.bytes, row.time_ns) for row in analysis.calls}


def _sites(analysis: ProfileAnalysis) -> dict[_Key, _Amounts]:
    """By function, and by which of the function's calls of that procedure it is, in the order of the code.

    Offsets move with every change of the program; the order of its calls seldom does.
    """
    grouped: dict[_Key, list[tuple[int, _Amounts]]] = defaultdict(list)
    for row in analysis.sites:
        function = row.where.split("+0x")[0]
        grouped[row.procedure, function].append((row.file_offset, (row.calls, row.bytes, row.time_ns)))
    found: dict[_Key, _Amounts] = {}
    for (procedure, function), places in grouped.items():
        for number, (_, amounts) in enumerate(sorted(places), start=1):
            found[procedure, function if len(places) == 1 else f"{function}, call {number}"] = amounts
    return found


def _rows(
    sides: _Sides, amounts_of: Callable[[ProfileAnalysis], Mapping[_Key, _Amounts]]
) -> tuple[DiffRow, ...]:
    tables = tuple([amounts_of(each) for each in side] for side in sides)
    rows = []
    for key in sorted({key for side in tables for table in side for key in table}):
        values = [[table.get(key, (0.0, 0.0, 0.0)) for table in side] for side in tables]
        columns = [
            change([each[column] for each in values[0]], [each[column] for each in values[1]])
            for column in range(3)
        ]
        rows.append(DiffRow(key[0], key[1], *columns))
    rows.sort(
        key=lambda row: (
            starts_or_stops(row.procedure),
            -abs(row.time_ns.difference),
            row.procedure,
            row.where,
        )
    )
    return tuple(rows)


# ---- matrices --------------------------------------------------------------------------------------------


def _sent(analysis: ProfileAnalysis) -> dict[tuple[int, int], tuple[int, int]]:
    found = build_matrix(analysis.world, "sent")
    columns = (found.senders, found.receivers, found.bytes, found.messages)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(sender, receiver): (size_bytes, messages) for sender, receiver, size_bytes, messages in rows}


def _pairs(sides: _Sides) -> tuple[PairRow, ...]:
    tables = tuple([_sent(each) for each in side] for side in sides)
    rows = []
    for sender, receiver in sorted({key for side in tables for table in side for key in table}):
        values = [[table.get((sender, receiver), (0, 0)) for table in side] for side in tables]
        size_bytes, messages = (
            change([each[column] for each in values[0]], [each[column] for each in values[1]])
            for column in range(2)
        )
        if size_bytes.difference or messages.difference:
            rows.append(PairRow(sender, receiver, size_bytes, messages))
    rows.sort(
        key=lambda row: (-abs(row.bytes.difference), -abs(row.messages.difference), row.sender, row.receiver)
    )
    return tuple(rows)


def _matrix(sides: _Sides) -> NDArray[np.float64]:
    before, after = (_mean_cells(side) for side in sides)
    return after - before


def _mean_cells(side: Sequence[ProfileAnalysis]) -> NDArray[np.float64]:
    matrices = (build_matrix(analysis.world, "sent") for analysis in side)
    cells: NDArray[np.float64] = np.mean([matrix_cells(each, MOST_CELLS).values for each in matrices], axis=0)
    return cells


MOST_CELLS = 512
"""Of the difference's side; more ranks are summed into blocks."""


def _notes(sides: _Sides, ranks: tuple[int, int]) -> tuple[str, ...]:
    notes = []
    if min(len(side) for side in sides) < MARKED_FROM:
        notes.append(NOISE)
    if ranks[0] != ranks[1]:
        notes.append(
            f"{ranks[0]} ranks before, {ranks[1]} after: totals are compared, pairs of ranks are not, "
            "because rank numbers do not mean the same"
        )
    for analysis in (each for side in sides for each in side):
        if not analysis.ending.finished:
            notes.append(f"{analysis.profile.path}: {analysis.ending.statement}")
    return tuple(notes)
