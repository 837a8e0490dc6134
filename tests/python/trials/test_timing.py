"""`trials.time`: every candidate once in every round, in an order that rotates, on any backend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from corewise import trials
from corewise.analysis.placement.contenders import Contenders
from corewise.data.machines import load_machine
from corewise.data.patterns import pattern_of
from corewise.errors import InputError
from corewise.trials.simulation import Simulation
from corewise.trials.timing import Candidate, Progress
from corewise.trials.verification import ROUNDS, rounds_for


class Noted:
    """A backend that notes what it is asked, and tells a time by round and name."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, tuple[int, ...] | None]]] = []

    def time_ns(
        self, candidates: Sequence[Candidate], number: int, progress: Progress
    ) -> NDArray[np.float64]:
        """100 times the round, and the place of the name in the alphabet."""
        self.asked.append([(each.name, each.in_round(number)) for each in candidates])
        progress(1.0)
        return np.array([100.0 * number + ord(each.name) for each in candidates])


def test_rounds_are_interleaved_and_their_order_rotates() -> None:
    changing = Candidate("b", ((0, 1), (1, 0)))
    candidates = [Candidate("a", ((2, 3),)), changing, Candidate("c")]
    backend, shares = Noted(), list[float]()
    found = trials.time(candidates, backend, 4, shares.append)
    assert [[name for name, _ in turn] for turn in backend.asked] == [list("abc"), list("bca"), list("cab"),
                                                                      list("abc")]  # fmt: skip
    # Each time is where its candidate is, whatever the order was.
    assert found.tolist() == [[100.0 * turn + ord(name) for name in "abc"] for turn in range(4)]
    placed = [dict(turn) for turn in backend.asked]
    assert [turn["b"] for turn in placed] == [(0, 1), (1, 0), (0, 1), (1, 0)]
    assert all(turn["a"] == (2, 3) and turn["c"] is None for turn in placed)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_a_simulated_time_does_not_depend_on_the_order() -> None:
    machine, pattern = load_machine("ring:6"), pattern_of("ring", ["ranks=4", "bytes=16KiB"])
    candidates = [Candidate(str(units), (units,)) for units in ((0, 1, 2, 3), (0, 2, 4, 1), (5, 1, 3, 0))]
    backend = Simulation(machine, (pattern,), seed=2)
    found = trials.time(candidates, backend, 3)
    assert (trials.time(candidates[::-1], backend, 3)[:, ::-1] == found).all()
    assert len(set(found[:, 0])) == 3  # rounds differ by their jitter


def test_too_few_rounds_are_refused_before_anything_runs() -> None:
    chosen = Contenders({"best": (0, 1), "next 1": (1, 0)}, {})
    with pytest.raises(InputError, match=r"--rounds 6: .*cannot tell 4 placements apart, allowed: 7 or more"):
        rounds_for(chosen, 6)
    assert rounds_for(chosen, 7) == 7
    assert rounds_for(chosen, None) == ROUNDS
    many = Contenders({str(at): (at,) for at in range(20)}, {})
    assert rounds_for(many, None) == 10
