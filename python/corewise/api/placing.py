"""The placement of ranks that communicates fastest, for a Python program.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.placement.comparison import PlacementStudy, study_placements
from corewise.analysis.placement.search import Settings, settings_for
from corewise.api import display
from corewise.api.machine import Machine
from corewise.api.machine import machine as machine_of
from corewise.api.pattern import PatternLike, as_pattern
from corewise.data.placement import make_placement, save_placement
from corewise.data.quantities import number_text

USUAL_SECONDS = 5.0
"""Of a search that nothing else ends."""


@dataclass(frozen=True, repr=False)
class Placing:
    """The best placement that was found, beside rank order, a random and the worst one.

    Attributes
    ----------
    study : corewise.analysis.placement.comparison.PlacementStudy
        All of the result: every row, the bound, and what the search proves.
    """

    study: PlacementStudy

    @property
    def unit_of_rank(self) -> NDArray[np.int64]:
        """The unit of every rank.

        Returns
        -------
        ndarray of int64, shape (ranks,)
        """
        return np.array(self.study.best.unit_of_rank, np.int64)

    @property
    def units(self) -> tuple[str, ...]:
        """The names of those units."""
        names = Machine(self.study.machine).units
        return tuple(names[unit] for unit in self.study.best.unit_of_rank)

    @property
    def cost(self) -> float:
        """What was minimised, of the best placement, in `study.unit`."""
        return float(self.study.best.cost)

    @property
    def gain(self) -> float:
        """How many times as much rank order costs; 1 where it is as good."""
        return float(self.study.row("identity").ratio)

    @property
    def proven(self) -> bool:
        """Whether no placement is better by what was minimised."""
        return self.study.proven_optimal

    def save(self, path: str | Path) -> None:
        """Writes the placement's file, which ``corewise run --placement`` takes.

        Raises
        ------
        InputError, RunError
            The file cannot be written.
        """
        save_placement(make_placement(self.study.machine, self.study.best.unit_of_rank), path)

    def __repr__(self) -> str:
        how = "proven" if self.proven else self.study.method
        cost = f"{self.study.objective} {number_text(self.cost, 6)} {self.study.unit}"
        where = self.study.machine.name
        return f"<corewise.Placing on {where}: {cost} ({how}), rank order {self.gain:.3f} times>"

    def _repr_html_(self) -> str:
        rows = [
            (row.which, number_text(row.cost, 6), f"{row.ratio:.3f}", " ".join(map(str, row.unit_of_rank)))
            for row in self.study.rows
        ]
        heads = ("placement", f"{self.study.objective}, {self.study.unit}", "ratio", "unit of rank 0, 1, ...")
        drawn = Machine(self.study.machine).drawing(self.unit_of_rank)
        statement = display.paragraph(f"{self.study.method}: {self.study.statement}")
        return display.table(heads, rows) + statement + display.preformatted(drawn)


def place(
    pattern: PatternLike,
    machine: str | Machine,
    *,
    objective: str | None = None,
    method: str = "auto",
    seconds: float | None = None,
    evaluations: int | None = None,
    seed: int = 1,
) -> Placing:
    """Searches the placement of ranks on units that communicates fastest.

    Parameters
    ----------
    pattern : Pattern, ndarray of shape (ranks, ranks), str or Path
        Who sends how many bytes to whom; a text names a pattern file or a profile.
    machine : str or Machine
        See `corewise.machine`.
    objective, method : str, optional
        As ``corewise place`` takes them.
    seconds : float, optional
        Ends the search with the best so far. Without it a search that nothing else ends takes 5 s.
    evaluations : int, optional
        Ends the search after looking at so many placements: the same answer on every host.
    seed : int
        Of the search, and of the random placements beside it.

    Returns
    -------
    Placing

    Raises
    ------
    InputError
        Something is no pattern or machine, or the pattern has more ranks than the machine has units.
    """
    what, where = as_pattern(pattern), machine_of(machine)
    settings = settings_for(
        where.core, what.ranks, objective, Settings(method=method, seed=seed, evaluations=evaluations)
    )
    if seconds is not None or not settings.ends_by_itself:
        settings = settings.with_(should_stop=_deadline(USUAL_SECONDS if seconds is None else seconds))
    return Placing(study_placements(what, where.core, settings.objective, seed, settings=settings))


def _deadline(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
