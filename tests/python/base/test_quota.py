"""Cores that a process may use, by its affinity and the quota of its control groups.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import pytest

from corewise.analysis.placement import search
from corewise.base import quota


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
