"""The bytes of control lines that a communicator takes, by its ranks and its table.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from itertools import accumulate
from pathlib import Path

import accelerating_runs as runs
import pytest

PADDING, PAGE = 128, 4096
MOST_WITH_ALL_PAIRS, MOST_WITH_RUNS = 128 << 20, 64 << 20
"""Of a process, in bytes: no lines between all pairs, and no runs, beyond that."""
PARTNERS = {"COREWISE_ACCELERATE_LINES": "partners"}


def rounded(size: int) -> int:
    """To whole pages."""
    return -(-size // PAGE) * PAGE


def before_parts(n: int) -> int:
    """The key, the board, the shared word."""
    return PADDING * (1 + n + 1)


def of_all_pairs(n: int, shared: bool = False) -> int:
    """A line of 128 bytes for each of 10 uses (28 for few ranks) and each peer, and those of the barrier.

    Where ranks share cores (``shared``), few have runs of 2 KiB for each peer, too.
    """
    runs_of_peer = (4 if n <= 4 else 2) if shared and n <= 8 else 0
    lines = (8 if n <= 64 else 16) + ((28 if n <= 4 else 10) + 16 * runs_of_peer) * n
    return rounded(before_parts(n)) + n * rounded(lines * PADDING)


def of_partners(n: int) -> int:
    """As docs/accelerating/accelerating.md has it."""
    steps = (n - 1).bit_length()
    partners = min(n - 1, 2 * steps - 1 if n & (n - 1) == 0 else 3 * steps - 1)
    return rounded(before_parts(n) + n * (384 * partners + (128 if n <= 64 else 256)))


def mapped(
    n: int, count: int, folder: Path, timeout: float = runs.TIMEOUT_S, shared: bool = False, **variables: str
) -> list[int]:
    """The bytes of each of ``count`` communicators; ``shared``: all ranks on one core."""
    bound = ["taskset", "-c", min(os.sched_getaffinity(0))] if shared else []
    words = [*bound, runs.program("mpich", "traps/line_bytes.c"), count]
    more = {"COREWISE_ACCELERATE_AFTER": "0", **variables}
    done = runs.run("mpich", n, words, folder, more, timeout=timeout).succeeded().done
    lines = [line.split() for line in done.stdout.splitlines()]
    return [int(line[1]) for line in lines if line and line[0] == "bytes:"]


def test_few_ranks_have_lines_between_all_pairs(tmp_path: Path) -> None:
    assert mapped(2, 3, tmp_path / "two", COREWISE_ACCELERATE="on") == [of_all_pairs(2)] * 3
    sizes = mapped(4, 3, tmp_path / "on", shared=True, COREWISE_ACCELERATE="on")
    assert sizes == [of_all_pairs(4, shared=True)] * 3
    assert mapped(4, 3, tmp_path / "partners", **PARTNERS) == [of_partners(4)] * 3
    assert of_partners(4) < of_all_pairs(4)


def test_ranks_that_share_cores_have_runs_for_longer_messages(tmp_path: Path) -> None:
    """Rank 0, which makes the file, has no more of it than the others."""
    for n in (2, 4, 5, 8, 9):
        sizes = mapped(n, 2, tmp_path / str(n), shared=True, COREWISE_ACCELERATE="on")
        assert sizes == [of_all_pairs(n, shared=True)] * 2, n


def test_beyond_a_limit_lines_have_no_runs(tmp_path: Path) -> None:
    sizes = mapped(4, 360, tmp_path, shared=True, COREWISE_ACCELERATE="on")
    most, least = of_all_pairs(4, shared=True), of_all_pairs(4)
    first = sizes.index(least)
    assert sizes == [most] * first + [least] * (360 - first)
    assert first * most <= MOST_WITH_RUNS < (first + 2) * most  # MPI_COMM_WORLD has some, too


def test_many_ranks_have_them_only_where_the_table_needs_them(tmp_path: Path) -> None:
    """The built-in table needs lines between partners alone for so many ranks; the tests' table needs all."""
    n = 18
    assert mapped(n, 2, tmp_path / "on", COREWISE_ACCELERATE="on") == [of_partners(n)] * 2
    assert mapped(n, 2, tmp_path / "always") == [of_all_pairs(n)] * 2
    assert mapped(n, 2, tmp_path / "partners", **PARTNERS) == [of_partners(n)] * 2
    assert 5 * of_partners(n) < 2 * of_all_pairs(n)


@pytest.mark.long_test
def test_beyond_a_limit_lines_are_between_partners(tmp_path: Path) -> None:
    n = 48
    sizes = mapped(n, 60, tmp_path, 300.0)
    assert set(sizes) == {of_all_pairs(n), of_partners(n)}
    first = sizes.index(of_partners(n))
    assert sizes == sorted(sizes, reverse=True)
    total = list(accumulate(sizes))
    assert total[first - 1] <= MOST_WITH_ALL_PAIRS < total[first - 1] + 2 * of_all_pairs(n)
