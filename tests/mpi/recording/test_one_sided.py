"""One-sided communication and files: bytes and peers of every procedure that moves some.

The windows of ``preload/one_sided.c`` lie over a communicator whose rank r is world rank 3 - r, so that a
target that was not translated shows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from preload_runs import ALL_NAMES, program, record
from trace_decoder import PROC_NULL, Record

from corewise._core import World, read_run

RANKS, INT = 4, 4
QUIET = {"OMPI_MCA_osc": "^ucx"}  # its component complains on the error stream where there is no fabric
Event = tuple[str, str, int, int]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the profiles of this module go."""
    return tmp_path_factory.mktemp("one-sided")


@cache
def recorded(name: str, folder: Path) -> tuple[list[dict[str, list[Record]]], World]:
    """Per rank: scenario -> records; and the profile."""
    folder.mkdir(exist_ok=True)
    done = record(
        name, RANKS, program(name, "one_sided"), folder, args=[folder / "file.dat"], env=QUIET
    ).succeeded()
    assert done.out == "ok one_sided\n"
    traces = done.ranks
    assert all(trace.losses() == {} for trace in traces.values())
    return [traces[rank].by_function() for rank in range(RANKS)], read_run(str(folder)).worlds[0]


@pytest.fixture(params=ALL_NAMES)
def run(request: pytest.FixtureRequest, folders: Path) -> tuple[list[dict[str, list[Record]]], World]:
    """What the program left under one MPI."""
    return recorded(request.param, folders / request.param)


def moved(records: list[Record]) -> list[Event]:
    """Procedure, role, peer and bytes of everything that is about data."""
    kinds = ("rma_put", "rma_get", "file_read", "file_write")
    return [(r.procedure[4:], r.role, r.peer, r.bytes) for r in records if r.role in kinds]


def test_puts_name_the_target_in_the_world(run: tuple[list[dict[str, list[Record]]], World]) -> None:
    ranks, _ = run
    assert moved(ranks[0]["give"]) == [
        ("Put", "rma_put", 2, 3 * INT),
        ("Rput", "rma_put", 2, 5 * INT),
        ("Accumulate", "rma_put", 1, 2 * INT),
        ("Raccumulate", "rma_put", 1, 4 * INT),
        ("Put", "rma_put", PROC_NULL, 9 * INT),
    ]
    assert all(moved(ranks[rank]["give"]) == [] for rank in range(1, RANKS))


def test_gets_name_the_source(run: tuple[list[dict[str, list[Record]]], World]) -> None:
    ranks, _ = run
    assert moved(ranks[0]["take"]) == [("Get", "rma_get", 0, 7 * INT), ("Rget", "rma_get", 0, 6 * INT)]


def test_fetches_move_both_ways_but_for_no_op(run: tuple[list[dict[str, list[Record]]], World]) -> None:
    ranks, _ = run
    assert moved(ranks[0]["fetches"]) == [
        ("Get_accumulate", "rma_put", 2, 2 * INT),
        ("Get_accumulate", "rma_get", 2, 2 * INT),
        ("Get_accumulate", "rma_get", 2, 3 * INT),
        ("Rget_accumulate", "rma_put", 2, INT),
        ("Rget_accumulate", "rma_get", 2, INT),
        ("Fetch_and_op", "rma_put", 1, INT),
        ("Fetch_and_op", "rma_get", 1, INT),
        ("Compare_and_swap", "rma_put", 1, INT),
        ("Compare_and_swap", "rma_get", 1, INT),
    ]


def test_a_window_of_a_reused_handle_has_its_own_ranks(
    run: tuple[list[dict[str, list[Record]]], World],
) -> None:
    ranks, _ = run
    assert moved(ranks[0]["again"]) == [("Put", "rma_put", 2, INT), ("Put", "rma_put", 1, INT)]


def test_the_matrices_hold_what_was_put_and_got(run: tuple[list[dict[str, list[Record]]], World]) -> None:
    _, world = run
    put, got = world.matrix("put"), world.matrix("get")
    # To 2: 8 by Put and Rput, 3 by fetches, 1 in `again`; to 1: 6 by accumulates, 2 by fetches, 1 in `again`.
    assert (put[0, 2], put[0, 1], put.sum()) == (12 * INT, 9 * INT, 21 * INT)
    assert (got[0, 0], got[2, 0], got[1, 0], got.sum()) == (13 * INT, 6 * INT, 2 * INT, 21 * INT)


def test_files_count_what_was_moved(run: tuple[list[dict[str, list[Record]]], World]) -> None:
    ranks, _ = run
    for rank in range(RANKS):
        assert moved(ranks[rank]["whole_file"]) == [
            ("File_write_at", "file_write", -1, 64),
            ("File_write_at_all", "file_write", -1, 32),
            ("File_iwrite_at", "file_write", -1, 16),
            ("File_read_at", "file_read", -1, 64),
            ("File_read_at", "file_read", -1, 8),
            ("File_read_at_all_begin", "file_read", -1, 8),
        ]
