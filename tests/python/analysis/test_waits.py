"""`corewise waits` and its analysis, on made-up runs whose waits are computed by hand.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trace_writer as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from installed_tool import assert_one_line_error, corewise, document

from corewise.analysis.profile.tables import analyse_profile
from corewise.analysis.profile.waits import analyse_waits
from corewise.data.profile import load_profile
from corewise.errors import InputError


def write(folder: Path, ranks: list[tw.RankTrace]) -> Path:
    folder.mkdir()
    for rank in ranks:
        rank.write(folder / f"rank-{rank.rank:05d}.cwt")
    return folder


@pytest.fixture
def phased(tmp_path: Path) -> Path:
    """Two phases: rank 0 waits 3 us for a message in the first, rank 1 2 us at a barrier in the second."""
    first, second = tw.RankTrace(0, 2), tw.RankTrace(1, 2)
    first.mark(tw.PHASE, "fill")
    first.put(tw.RECEIVE, "MPI_Recv", peer=1, size=8, ticks=4_000)
    first.mark(tw.PHASE, "solve")
    first.now += 3_000
    first.put(tw.COLLECTIVE, "MPI_Barrier", ticks=100)
    second.mark(tw.PHASE, "fill")
    second.now += 3_000
    second.put(tw.SEND, "MPI_Send", peer=0, size=8, ticks=500)
    second.mark(tw.PHASE, "solve")
    second.now = first.now - 100 - 2_000
    second.put(tw.COLLECTIVE, "MPI_Barrier", ticks=2_100)
    return write(tmp_path / "phased.cw", [first, second])


def test_summary_adds_up(phased: Path) -> None:
    summary = analyse_waits(phased)
    assert {row.kind: pytest.approx(row.wait_ns) for row in summary.kinds} == {
        "late sender": 3_000,
        "barrier": 2_000,
    }
    assert summary.total_ns == pytest.approx(5_000)
    assert sum(row.share for row in summary.kinds) == pytest.approx(1)
    assert sum(row.mpi_share for row in summary.kinds) == pytest.approx(5_000 / summary.mpi_ns)
    assert sum(row.run_share for row in summary.kinds) == pytest.approx(5_000 / summary.run_ns)
    assert summary.mpi_ns < summary.run_ns
    assert [(row.rank, row.cause) for row in summary.pairs] == [(0, 1), (1, 0)]
    waited = {row.rank: (row.waited_ns, row.caused_ns) for row in summary.ranks}
    assert waited[0] == (pytest.approx(3_000), pytest.approx(2_000))
    assert [row.phase for row in summary.balance if row.phase != "(before the first)"]
    solve = next(row for row in summary.balance if row.phase == "solve")
    assert solve.slowest == 0
    assert (summary.matched, summary.collective_count, summary.notes) == (1, 1, ())
    assert summary.clocks == "all ranks read one clock"


def test_one_phase(phased: Path) -> None:
    summary = analyse_waits(phased, "solve")
    assert [row.kind for row in summary.kinds] == ["barrier"]
    assert [row.phase for row in summary.balance] == ["solve"]
    with pytest.raises(InputError, match="--phase: found 'sovle', allowed: fill, solve"):
        analyse_waits(phased, "sovle")


def test_command_shows_and_tells(phased: Path) -> None:
    shown = corewise("waits", phased, "--top", 1)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "late sender" in shown.stdout
    assert "MPI_Recv" in shown.stdout
    told = document("waits", phased, "--phase", "fill", "--top", 1)
    assert told["name"] == "waits"
    assert [row["kind"] for row in told["rows"]] == ["late sender"]
    assert len(told["ranks"]) == 1


def test_shares_are_those_of_the_report(tmp_path: Path) -> None:
    """Starting and stopping MPI is in no share."""
    ranks = [tw.RankTrace(rank, 3, end_ticks=2_000_000) for rank in range(3)]
    for rank in ranks:
        rank.put(tw.PLAIN, "MPI_Init", ticks=1_000_000)
        rank.mark(tw.PHASE, "solve")
        rank.put(tw.COLLECTIVE, "MPI_Barrier", ticks=4_000 - 1_000 * rank.rank)
        rank.put(tw.PLAIN, "MPI_Finalize", ticks=500_000)
    folder = tw.write_run(tmp_path / "run.cw", ranks)
    summary = analyse_waits(folder)
    assert summary.mpi_ns == pytest.approx(9_000)
    assert {row.rank: row.mpi_ns for row in summary.ranks} == {
        row.rank: pytest.approx(row.mpi_ns) for row in analyse_profile(load_profile(folder)).ranks
    }
    assert all(row.mpi_ns <= row.span_ns < 600_000 for row in summary.ranks)


def test_a_changed_program_names_no_function(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"not what ran")
    maps = f"1000-9000 r-xp 00000000 00:00 0 {program}\n"
    first = tw.RankTrace(0, 2, sites={1: 0x2000}, maps=maps)
    first.put(tw.RECEIVE, "MPI_Recv", peer=1, size=8, ticks=4_000, site=1)
    second = tw.RankTrace(1, 2)
    second.now += 3_000
    second.put(tw.SEND, "MPI_Send", peer=0, size=8, ticks=500)
    sites = analyse_waits(write(tmp_path / "run.cw", [first, second])).sites
    assert [row.name for row in sites] == ["MPI_Recv in program+0x1000 (program changed since)"]


def test_bad_input_is_one_line(phased: Path, tmp_path: Path) -> None:
    assert_one_line_error(corewise("waits", tmp_path / "nothing"), "found nothing (no such folder)")
    assert_one_line_error(corewise("waits", phased, "--top", 0), "--top")
    assert_one_line_error(corewise("waits", phased, "--phase", "none"), "--phase")


def test_partial_runs_are_said(tmp_path: Path) -> None:
    """Rank 2 left no file, rank 1 was killed before the barrier."""
    first = tw.RankTrace(0, 3)
    first.put(tw.COLLECTIVE, "MPI_Barrier", ticks=100)
    second = tw.RankTrace(1, 3, state=tw.RUNNING)
    notes = " | ".join(analyse_waits(write(tmp_path / "partial.cw", [first, second])).notes)
    for words in ("1 ranks left no file", "1 ranks did not finish", "1 collectives were not reached"):
        assert words in notes


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 5_000), st.booleans()), min_size=1, max_size=40
    ),
    size=st.sampled_from([2, 3, 5]),
)
def test_waits_stay_inside_the_calls(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, bool]], size: int
) -> None:
    """Whatever the order and times: no rank waits longer than it was in MPI, every message is matched."""
    ranks = [tw.RankTrace(rank, size) for rank in range(size)]
    sent = 0
    for who, ticks, meets in steps:
        if meets:
            for rank in ranks:
                rank.put(tw.COLLECTIVE, "MPI_Allreduce", size=8, ticks=ticks)
            continue
        sender, receiver = ranks[who % size], ranks[(who + 1) % size]
        sender.put(tw.SEND, "MPI_Send", peer=receiver.rank, size=ticks, ticks=ticks)
        receiver.put(tw.RECEIVE, "MPI_Recv", peer=sender.rank, size=ticks, ticks=2 * ticks)
        sent += 1
    summary = analyse_waits(write(tmp_path_factory.mktemp("waits") / "run.cw", ranks))
    assert summary.matched == sent
    assert summary.collective_count == len(steps) - sent
    for row in summary.ranks:
        assert row.waited_ns <= row.mpi_ns * (1 + 1e-9)
