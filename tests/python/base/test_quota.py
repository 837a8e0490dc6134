"""Cores that a process may use, by its affinity and the quota of its control groups.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import threading

import pytest

from corewise import InputError, _core
from corewise.analysis.placement import search
from corewise.base import quota
from corewise.data.machines import load_machine


@pytest.mark.parametrize(
    ("processors", "share", "cores"), [(4, None, 4), (4, 2.5, 2), (4, 0.5, 1), (2, 8.0, 2), (1, None, 1)]
)
def test_the_lesser_of_both(
    monkeypatch: pytest.MonkeyPatch, processors: int, share: float | None, cores: int
) -> None:
    monkeypatch.setattr(quota.os, "sched_getaffinity", lambda process: set(range(processors)))
    monkeypatch.setattr(quota, "quota_cores", lambda: share)
    assert quota.granted_cores() == cores


def test_searches_use_them_where_a_clock_alone_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "granted_cores", lambda: 3)
    clock = search.Settings(should_stop=lambda: False)
    assert search.workers_of(clock) == 3
    assert search.workers_of(search.Settings()) == search.workers_of(clock.with_(evaluations=1000)) == 1
    assert search.workers_of(clock.with_(workers=2)) == 2
    monkeypatch.setattr(search, "granted_cores", lambda: 64)
    assert search.workers_of(clock) == search.MOST_WORKERS


def looked_at(workers: int) -> int:
    """Placements of a search of so many workers."""
    pattern = _core.generate("random", {"ranks": "20", "degree": "4", "seed": "3"})
    settings = search.Settings("flow", evaluations=50_000, workers=workers)
    costs = search.Costs(load_machine("chiplet-2s"), [pattern], [1.0], settings)
    found = re.search(r"best of (\d+) placements", search.search_placements(costs, {}).statement)
    assert found
    return int(found[1])


def test_each_worker_has_all_of_the_effort() -> None:
    assert looked_at(1) >= 50_000
    assert looked_at(3) >= 3 * 50_000


def test_a_cost_of_python_is_asked_by_one_thread() -> None:
    threads = set()

    def cost(units: list[int]) -> float:
        threads.add(threading.get_ident())
        return float(units[0])

    pattern = _core.generate("random", {"ranks": "20", "degree": "4", "seed": "3"})
    searcher = _core.Searcher(load_machine("chiplet-2s"))
    how = {"objective": "replay", "method": "portfolio", "proposals": 10_000}
    found = searcher.search(pattern, workers=4, cost=cost, **how)
    assert len(threads) == 1
    assert found.evaluated == searcher.search(pattern, cost=cost, **how).evaluated
    with pytest.raises(InputError, match="workers"):
        searcher.search(pattern, workers=0)
