"""Random collectives, each done by the library and by the MPI behind it: all bytes are equal.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import accelerating_runs as runs
import pytest

SHORT = (600, 100_000)
"""Calls, and the largest block in bytes."""
LONG = (1500, 1_000_000)
TIMEOUT_S = 300.0
LONG_RANKS = (2, 3, 4, 5, 8, 11, 16)


def check(name: str, n: int, seed: int, sizes: tuple[int, int], folder: Path, *threads: str) -> None:
    """One run: no byte differs, and every collective was taken over."""
    program = runs.program(name, "random_collectives.cpp")
    calls, most = sizes
    words = [program, seed, calls, most if n <= 4 else most // 10, *threads]
    # From the first call on: Open MPI's allgatherv of blocks of different lengths may hang.
    first = {"COREWISE_ACCELERATE_AFTER": "0"}
    ran = runs.run(name, n, words, folder, first, timeout=TIMEOUT_S).succeeded()
    assert f"{calls} calls, 0 wrong" in ran.done.stdout
    assert ran.calls.keys() == set(range(n))
    assert ran.taken() == (runs.PROCEDURES if n > 1 else set())


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3, 5, 8))])
def test_no_byte_differs(name: str, n: int, tmp_path: Path) -> None:
    check(name, n, n, SHORT, tmp_path)


@pytest.mark.parametrize("name", runs.NAMES)
def test_no_byte_differs_with_many_threads(name: str, tmp_path: Path) -> None:
    """Under MPI_THREAD_MULTIPLE communicators share no stage."""
    check(name, 3, 7, SHORT, tmp_path, "multiple")


@pytest.mark.long_test
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, LONG_RANKS)])
def test_no_byte_differs_in_long_runs(name: str, n: int, seed: int, tmp_path: Path) -> None:
    check(name, n, 100 + seed, LONG, tmp_path)


@pytest.mark.long_test
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 4))])
def test_no_byte_differs_in_long_runs_with_many_threads(name: str, n: int, tmp_path: Path) -> None:
    check(name, n, 200, LONG, tmp_path, "multiple")


@pytest.mark.parametrize("name", runs.NAMES)
def test_one_rank_is_the_mpis(name: str, tmp_path: Path) -> None:
    check(name, 1, 1, SHORT, tmp_path)
