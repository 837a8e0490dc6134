"""`corewise bench sim`: messages simulated per second beside SimGrid, and the time of all mappings of a ring.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.bench.peers import SIMGRID
from corewise.bench.rows import Listener, Outcome
from corewise.bench.sim import mappings, messages

ROUNDS, QUICK_ROUNDS = 9, 3
QUICK_EVERY = 60
"""Of the mappings one in so many."""


def run_bench(listener: Listener, *, rounds: int | None = None, quick: bool = False) -> Outcome:
    """Both questions."""
    found = messages.rows(rounds or (QUICK_ROUNDS if quick else ROUNDS), listener.part(0, 0.5))
    found += mappings.rows(QUICK_EVERY if quick else 1, listener.part(0.5, 1))
    return Outcome("sim", tuple(found), () if messages.has_simgrid() else (SIMGRID,))
