"""Times placements by simulation.

A simulation is deterministic. What makes its rounds differ is drawn, anew for every round and every
placement, from the seed and the round's number: on an interconnect how much longer each link's latency is
(up to `jitter` of itself), on a Cell the pauses of its data rings. An unpinned candidate draws where the
threads are besides. The order of a round's candidates does not matter. So all rounds can be one sweep
(`times`), whose jobs any executor does.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from corewise.base import late

with late.imports():
    import numpy as np

    from corewise._core import Machine, Pattern, contended_times
    from corewise.analysis.placement.route_features import Placements
    from corewise.data.machines import MachineText
    from corewise.sim.sweeps import Sweep, Workers, run
    from corewise.trials.timing import Array, Candidate, Progress

MODELS = ("simulated", "flow")
PARTS = 4
"""Parts of an unpinned run: between two, every thread may have migrated."""
_AT_ONCE = 16  # placements between two reports of progress
_SEEDS = 2**64  # seeds that are counted up begin again there


@dataclass(frozen=True)
class Simulation:
    """How placements are timed.

    Attributes
    ----------
    machine : Machine
    patterns : tuple of Pattern
        They share the placement; their times add up.
    weights : tuple of float
        One per pattern; none: 1 each.
    model : str
        Of `MODELS`.
    jitter : float
        0: all rounds are alike.
    repetitions : int
        Of every pattern in a run.
    separation : str
        ``dependence`` or ``barrier``.
    seed : int
    seed_stride : int
        The first round draws by `seed` times this, the next by 1 more: a large one keeps the rounds of
        neighbouring seeds apart.
    renamed : bool
        Every round first puts all units in another order, as paper 002's default mapping did (figure 2).
    """

    machine: Machine
    patterns: tuple[Pattern, ...]
    weights: tuple[float, ...] = ()
    model: str = MODELS[0]
    jitter: float = 1.0
    repetitions: int = 1
    separation: str = "dependence"
    seed: int = 1
    seed_stride: int = 1_000_003
    renamed: bool = False

    def time_ns(self, candidates: Sequence[Candidate], number: int, progress: Progress) -> Array:
        """See `corewise.trials.timing.Backend`."""
        found = np.zeros(len(candidates))
        pinned = [at for at, each in enumerate(candidates) if each.pinned]
        rows = self._renamed(np.array([candidates[at].in_round(number) for at in pinned], np.int32), number)
        for at in range(0, len(rows), _AT_ONCE):
            found[pinned[at : at + _AT_ONCE]] = self._timed(rows[at : at + _AT_ONCE], number)
            progress(min(1.0, (at + _AT_ONCE) / len(rows)))
        for at in sorted(set(range(len(candidates))) - set(pinned)):
            found[at] = self._timed(self._drawn(number), number).mean()
        return found

    def job_ns(self, number: int, placements: Sequence[Sequence[int]]) -> list[float]:
        """Times of some placements in a round; without any, the one of an unpinned run."""
        if not placements:
            return [float(self._timed(self._drawn(number), number).mean())]
        rows = self._renamed(np.array(placements, np.int32), number)
        return [float(each) for each in self._timed(rows, number)]

    def _drawn(self, number: int) -> Placements:
        """The parts of an unpinned run, each on a random placement."""
        rng = np.random.default_rng([self.seed, number, PARTS])
        ranks = self.patterns[0].ranks
        return np.array([rng.permutation(len(self.machine.units))[:ranks] for _ in range(PARTS)], np.int32)

    def _renamed(self, placements: Placements, number: int) -> Placements:
        if not self.renamed:
            return placements
        order = np.random.default_rng([self.seed, number]).permutation(len(self.machine.units))
        return order.astype(np.int32)[placements]

    def _timed(self, placements: Placements, number: int) -> Array:
        return contended_times(
            self.machine,
            list(self.patterns),
            np.ascontiguousarray(placements, dtype=np.int32),
            self.model,
            seed=(self.seed * self.seed_stride + number) % _SEEDS,
            jitter=self.jitter,
            weights=list(self.weights) or None,
            separation=self.separation,
            repetitions=self.repetitions,
        )

    def texts(self) -> tuple[str, str]:
        """What differs between the rounds, and what an unpinned run is: a line each."""
        if self.jitter == 0:
            differs = "no jitter: all runs of a placement are alike"
        elif self.model == "simulated" and self.machine.model == "cell":
            differs = "runs differ by the drawn pauses of the Cell's data rings"
        else:
            differs = f"runs differ by link latencies, each drawn up to {self.jitter:g} of itself longer"
        moved = "every run renames the units first (threads where the system puts them); "
        return (
            (moved if self.renamed else "") + differs,
            f"an unpinned run is the mean of {PARTS} parts, each on a placement drawn at random",
        )


# ---- as a sweep ------------------------------------------------------------------------------------------

_PLAIN = ("weights", "model", "jitter", "repetitions", "separation", "seed", "seed_stride", "renamed")
"""Fields of a `Simulation` that are values of JSON."""


def times(
    how: Simulation,
    machine: MachineText,
    candidates: Sequence[Candidate],
    rounds: int,
    progress: Progress,
    workers: Workers | None = None,
    resume: Path | None = None,
) -> Array:
    """Times of every candidate in every round, ns, shape (rounds, candidates): `timing.time`, as one sweep.

    Parameters
    ----------
    how : Simulation
    machine : MachineText
        What its machine was made from.
    candidates : sequence of Candidate
    rounds : int
    progress : callable
        Told the share that is done.
    workers : Workers, optional
        Who does it; threads on all cores of this host without them.
    resume : Path, optional
        Keeps what is done until all is.
    """
    pinned = [at for at, each in enumerate(candidates) if each.pinned]
    parts = [pinned[at : at + _AT_ONCE] for at in range(0, len(pinned), _AT_ONCE)]
    parts += [[at] for at, each in enumerate(candidates) if not each.pinned]
    places = [(number, part) for number in range(rounds) for part in parts]
    items = [[number, _placements(candidates, part, number)] for number, part in places]
    sweep = Sweep("explore", simulate_job, shared_text(how, machine), items, _is_times)
    found = np.zeros((rounds, len(candidates)))
    for (number, part), values in zip(places, run(sweep, progress, workers, resume), strict=True):
        found[number, part] = values
    return found


def _placements(candidates: Sequence[Candidate], part: Sequence[int], number: int) -> list[list[int]]:
    """Those of a part of the candidates; none of an unpinned one."""
    rows = (candidates[at].in_round(number) for at in part)
    return [list(row) for row in rows if row is not None]


def shared_text(how: Simulation, machine: MachineText) -> str:
    """A simulation as a text, from which any process makes it again."""
    plain = {name: getattr(how, name) for name in _PLAIN}
    patterns = [pattern.to_json() for pattern in how.patterns]
    return json.dumps({"machine": asdict(machine), "patterns": patterns, **plain})


@lru_cache(maxsize=2)
def simulation_of(shared: str) -> Simulation:
    """The simulation of a `shared_text`."""
    document = json.loads(shared)
    machine = MachineText(**document.pop("machine")).load()
    patterns = tuple(Pattern.from_text(each, "pattern") for each in document.pop("patterns"))
    return Simulation(machine, patterns, **{**document, "weights": tuple(document["weights"])})


def simulate_job(shared: str, item: list[Any]) -> list[float]:
    """One job of the sweep: a round's number, and the placements that are timed in it."""
    number, placements = item
    return simulation_of(shared).job_ns(number, placements)


def _is_times(item: list[Any], value: object) -> bool:
    if not isinstance(value, list) or len(value) != max(1, len(item[1])):
        return False
    return all(type(each) is float and math.isfinite(each) and each >= 0 for each in value)
