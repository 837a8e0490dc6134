"""The one way to time placements: interleaved rounds of candidates on a backend.

Every round runs every candidate once, so that all of them meet the same minute of a machine. The order
rotates from round to round, so that none is always the first. There are two backends: a simulation
(`corewise.trials.simulation`) and launches on this host (`corewise.trials.launches`). Times are wall or
simulated ns. Nothing is printed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from corewise.base import late

with late.imports():
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
Progress = Callable[[float], None]
"""Told the share that is done."""

UNPINNED = "unpinned"


@dataclass(frozen=True)
class Candidate:
    """What takes part in every round.

    Attributes
    ----------
    name : str
    placements : tuple of tuple of int
        Unit of rank r at [r]: one placement for all rounds, or one per round. None: ranks are not placed, the
        launcher decides.
    pinned : bool
        False: the system may move the ranks while they run; there are no placements then.
    """

    name: str
    placements: tuple[tuple[int, ...], ...] = ()
    pinned: bool = True

    def in_round(self, number: int) -> tuple[int, ...] | None:
        """The placement of a round, None where ranks are not placed."""
        return self.placements[number % len(self.placements)] if self.placements else None


class Backend(Protocol):
    """Runs candidates."""

    def time_ns(self, candidates: Sequence[Candidate], number: int, progress: Progress) -> Array:
        """Times of a round's candidates in the order given, shape (candidates,).

        Parameters
        ----------
        candidates : sequence of Candidate
        number : int
            Of the round, from 0.
        progress : callable
            Told the share of the round that is done.
        """
        ...


def time(
    candidates: Sequence[Candidate], backend: Backend, rounds: int, progress: Progress | None = None
) -> Array:
    """Times of every candidate in every round, ns, shape (rounds, candidates).

    Parameters
    ----------
    candidates : sequence of Candidate
    backend : Backend
    rounds : int
    progress : callable, optional
        Told the share that is done.

    Raises
    ------
    RunError
        A run failed; nothing is reported of a set with a failed run.
    """
    count = len(candidates)
    found = np.zeros((rounds, count))
    for number in range(rounds):

        def advance(share: float, before: int = number) -> None:
            if progress is not None:
                progress((before + share) / rounds)

        order = [(number + turn) % count for turn in range(count)]
        found[number, order] = backend.time_ns([candidates[at] for at in order], number, advance)
    return found
