"""Bundled machines of real processors: each is what `from-latency` makes of its matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corewise.data.machines import load_machine

MATRICES = Path(__file__).with_name("matrices.npz")


NOT_BUNDLED = {"ryzen-9-7950x"}


@pytest.mark.parametrize("name", sorted(set(np.load(MATRICES)) - NOT_BUNDLED))
def test_routes_take_the_measured_latencies(name: str) -> None:
    machine = load_machine(name)
    units = len(machine.units)
    matrix = np.zeros((units, units))
    matrix[np.triu_indices(units, 1)] = np.load(MATRICES)[name] / 10
    matrix += matrix.T
    hop = np.array([link.latency_ns for link in machine.links])
    cpus = [unit.os_index for unit in machine.units]
    random = np.random.default_rng(1)
    pairs = [tuple(random.choice(units, 2, replace=False)) for _ in range(300)]
    ratios = [hop[machine.routes(int(a), int(b))[0]].sum() / matrix[cpus[a], cpus[b]] for a, b in pairs]
    assert 0.95 < np.median(ratios) < 1.05
    # The scatter of the measurement; threads of the M1 Ultra wandered while they were timed.
    low, high = np.quantile(ratios, [0.05, 0.95])
    assert 0.6 < low <= high < 1.4
