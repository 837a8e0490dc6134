"""Clocks of several nodes, and waits, on real runs.

Two made-up nodes on this machine, one of them with a clock that is 50 ms off and drifts; and ranks that keep
each other waiting for as long as the program itself says.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
from preload_runs import MPI_NAMES, Traced, program, record

from corewise._core import WaitWorld, read_run
from corewise.analysis.profile.waits import analyse_waits

# Ranks 0 and 1 on one node, 2 and 3 on the other, as environment that differs from rank to rank.
TWO_NODES = """#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
export COREWISE_TRACE_NODE=node$((rank / 2))
[ "$rank" -lt 2 ] || export COREWISE_TRACE_CLOCK_SKEW="50000000 ns 200 ppm"
exec "$@"
"""
CLOCK_BLOCK = b"CLOK"
SKEW_NS = 50e6
DOZE_NS = 200e6


def on_two_nodes(name: str, folder: Path, sync: str, *args: str) -> Traced:
    """Four ranks of late.c."""
    folder.mkdir()
    script = folder.parent / "two_nodes.sh"
    script.write_text(TWO_NODES)
    script.chmod(0o755)
    knobs = {"COREWISE_TRACE_SYNC": sync}
    return record(name, 4, script, folder, args=(program(name, "late"), *args), knobs=knobs)


def comparisons(folder: Path, rank: int) -> int:
    return (folder / f"rank-{rank:05d}.cwt").read_bytes().count(CLOCK_BLOCK)


def world_of(folder: Path) -> WaitWorld:
    return read_run(str(folder), totals=False, waits=True).waits[0]


@pytest.mark.parametrize("name", MPI_NAMES)
def test_clocks_of_two_nodes_agree_within_what_was_measured(name: str, tmp_path: Path) -> None:
    """No message, Allreduce or Barrier contradicts the line by more than half a round trip on either side."""
    on_two_nodes(name, tmp_path / "ends", "ends").succeeded()
    world = world_of(tmp_path / "ends")
    assert [clock.source for clock in world.clocks] == ["reference"] * 2 + ["compared"] * 2
    uncertainty_ns = max(clock.uncertainty_ns for clock in world.clocks)
    assert 0 < uncertainty_ns < SKEW_NS / 2
    # Between start and end the clock is a straight line, so both comparisons' doubts add up at worst.
    assert world.largest_correction_ns <= 2 * uncertainty_ns
    assert world.contradictions == 0
    assert comparisons(tmp_path / "ends", 2) == 2
    assert comparisons(tmp_path / "ends", 3) == 0  # the node's first rank speaks for it


@pytest.mark.parametrize("name", MPI_NAMES)
def test_clocks_are_compared_at_collectives_on_request(name: str, tmp_path: Path) -> None:
    """At the 16th, 20th, 25th, ... of the 62 that synchronise, beside the two at the ends."""
    done = on_two_nodes(name, tmp_path / "collectives", "collectives").succeeded()
    assert comparisons(done.folder, 2) == 2 + len([16, 20, 25, 31, 38, 47, 58])
    assert world_of(done.folder).contradictions == 0


@pytest.mark.parametrize("name", MPI_NAMES)
def test_never_leaves_the_skew_and_causality_takes_it_out(name: str, tmp_path: Path) -> None:
    """Without comparisons nothing but CLOCK_REALTIME is left, which is as wrong; records are the same."""
    never = on_two_nodes(name, tmp_path / "never", "never").succeeded()
    world = world_of(never.folder)
    assert [clock.source for clock in world.clocks] == ["reference"] * 2 + ["realtime"] * 2
    assert world.corrections > 0
    assert world.largest_correction_ns > SKEW_NS / 2
    assert world.contradictions == 0
    assert sum(comparisons(never.folder, rank) for rank in range(4)) == 0
    ends = on_two_nodes(name, tmp_path / "ends", "ends").succeeded()
    for rank in range(4):
        assert [r.event for r in never.ranks[rank].records] == [r.event for r in ends.ranks[rank].records]


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_rank_that_leaves_is_no_reason_to_hang(name: str, tmp_path: Path) -> None:
    """It never gets to the last comparison; the run ends as it does without us, with an error."""
    done = on_two_nodes(name, tmp_path / "left", "ends", "leave")
    assert done.status != 0
    assert comparisons(done.folder, 2) >= 1


WITHOUT_US = """#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
export COREWISE_TRACE_NODE=node$rank
[ "$rank" -eq 0 ] || unset LD_PRELOAD
exec "$@"
"""


def test_a_rank_without_the_recorder_is_no_reason_to_hang(tmp_path: Path) -> None:
    """Rank 0 waits for it until the deadline, once; then the run goes on as if it were alone."""
    folder = tmp_path / "alone"
    folder.mkdir()
    script = tmp_path / "without_us.sh"
    script.write_text(WITHOUT_US)
    script.chmod(0o755)
    done = record("openmpi", 2, script, folder, args=(program("openmpi", "late"),)).succeeded()
    assert len(done.out.split()) == 3
    assert (list(done.ranks), done.ranks[0].state, comparisons(folder, 0)) == ([0], "finalized", 0)


@pytest.mark.parametrize("name", MPI_NAMES)
def test_waits_are_as_long_as_the_program_says(name: str, tmp_path: Path) -> None:
    """One node: nothing is compared. Waits lie in the calls, and make up most of them."""
    folder = tmp_path / "run"
    folder.mkdir()
    traced = record(name, 2, program(name, "late"), folder).succeeded()
    assert comparisons(folder, 0) + comparisons(folder, 1) == 0
    kinds = {"late sender": "MPI_Recv", "late receiver": "MPI_Ssend", "barrier": "MPI_Barrier"}
    own_ns = dict(zip(kinds, map(float, traced.out.split()), strict=True))
    longest = dict.fromkeys(kinds, 0.0)
    for wait in world_of(folder).waits:
        # Messages around the ring have waits of their own, as long as the machine makes them.
        if (wait.rank, wait.cause, wait.procedure) == (0, 1, kinds.get(wait.kind)):
            longest[wait.kind] = max(longest[wait.kind], wait.longest_ns)
    for kind, ns in own_ns.items():
        # A rank may come late itself, or lose its core when its message is there already: that is no wait
        # for the other.
        least = DOZE_NS / 10 if ns >= DOZE_NS / 2 else 0.0
        assert least <= longest[kind] <= ns * 1.05, kind
    assert sum(ns >= DOZE_NS / 2 for ns in own_ns.values()) > 0
    summary = analyse_waits(folder)
    assert summary.notes == ()
    assert {"MPI_Recv", "MPI_Ssend", "MPI_Barrier"} <= {row.name.split(" in ")[0] for row in summary.sites}
    assert all("main+" in row.name or "ring+" in row.name or ".c:" in row.name for row in summary.sites)
