"""Which collectives of a run corewise did itself, and which it passed on to the MPI, of all ranks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corewise.data.accelerate import COPIES, TAKEN, CollectiveCalls


@dataclass(frozen=True)
class Reason:
    """Why calls were passed on, and how many of them."""

    why: str
    calls: int


@dataclass(frozen=True)
class AcceleratedRow:
    """One MPI procedure over all ranks.

    Attributes
    ----------
    procedure : str
        Its MPI name.
    taken, passed_on : int
        Calls that corewise did, and that it left to the MPI.
    reasons : tuple of Reason
        Of the latter; the most frequent first.
    """

    procedure: str
    taken: int
    passed_on: int
    reasons: tuple[Reason, ...]


def accelerated_rows(ranks: Mapping[int, Sequence[CollectiveCalls]]) -> tuple[AcceleratedRow, ...]:
    """A row per procedure, the one with most calls first; none where the library was not loaded.

    Parameters
    ----------
    ranks : from `corewise.data.accelerate.load_accelerate`.
    """
    taken: Counter[str] = Counter()
    passed: dict[str, Counter[str]] = {}
    for calls in (each for rows in ranks.values() for each in rows if each.procedure != COPIES):
        reasons = passed.setdefault(calls.procedure, Counter())
        if calls.outcome == TAKEN:
            taken[calls.procedure] += calls.calls
        else:
            reasons[calls.why] += calls.calls
    made = [
        AcceleratedRow(name, taken[name], reasons.total(), _reasons(reasons))
        for name, reasons in passed.items()
    ]
    return tuple(sorted(made, key=lambda row: (-row.taken - row.passed_on, row.procedure)))


def _reasons(found: Counter[str]) -> tuple[Reason, ...]:
    return tuple(Reason(*each) for each in sorted(found.items(), key=lambda each: (-each[1], each[0])))
