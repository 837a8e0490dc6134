"""The timeline of a profile: shares of time against sums by hand, the longest calls, both ends of messages.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw

from corewise.analysis.profile import messages as message_module
from corewise.analysis.profile import timeline as timeline_module
from corewise.analysis.profile.collectives import CollectiveReader, figure
from corewise.analysis.profile.timeline import CATEGORIES, Timeline, category_of, read_timeline
from corewise.data.events import load_events, parse_selection
from corewise.data.tuned_hosts import load_host_tuning
from corewise.data.tuning import tuning_directory

P2P, COLLECTIVE, STARTUP = (CATEGORIES.index(name) for name in ("messages", "collectives", "start and stop"))


def _run(folder: Path, size: int = 4, steps: int = 10) -> Path:
    """Each step: compute 900 ns, send 1000 ns right, receive 100 + rank ns from the left, reduce 500 ns."""
    ranks = []
    for rank in range(size):
        trace = tw.RankTrace(rank, size)
        trace.put(tw.PLAIN, "MPI_Init", ticks=5_000)
        for step in range(steps):
            trace.now = 10_000 + 5_000 * step
            trace.put(tw.SEND, "MPI_Send", (rank + 1) % size, 100 + step, ticks=1_000, tag=7)
            trace.put(tw.RECEIVE, "MPI_Recv", (rank - 1) % size, 100 + step, ticks=100 + rank, tag=7)
            trace.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 8 << step, ticks=500)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=1_000)
        ranks.append(trace)
    return tw.write_run(folder, ranks)


def _busy_ns(found: Timeline, category: int) -> np.ndarray:
    """Time in calls of a category, by row of cells."""
    width = (found.until_ns - found.from_ns) / found.shares.shape[2]
    return found.shares[category].astype(float).sum(axis=1) / 255 * width


def test_cells_hold_the_time_that_the_calls_took(tmp_path: Path) -> None:
    found = read_timeline(load_events(_run(tmp_path / "run.cw")))
    assert (found.ranks, found.block, found.shown) == (4, 1, (0, 1, 2, 3))
    assert _busy_ns(found, P2P) == pytest.approx([10 * (1_100 + rank) for rank in range(4)], rel=0.01)
    assert _busy_ns(found, COLLECTIVE) == pytest.approx([5_000] * 4, rel=0.01)
    assert _busy_ns(found, STARTUP) == pytest.approx([6_000] * 4, rel=0.01)
    assert found.until_ns >= (found.start_ns + found.duration_ns).max()


def test_ranks_are_summed_into_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "MOST_ROWS", 2)
    found = read_timeline(load_events(_run(tmp_path / "run.cw", size=5)))
    assert (found.block, found.shares.shape[1]) == (3, 2)
    mean = [sum(10 * (1_100 + rank) for rank in ranks) / len(ranks) for ranks in ((0, 1, 2), (3, 4))]
    assert _busy_ns(found, P2P) == pytest.approx(mean, rel=0.01)


def test_the_longest_calls_are_kept_and_cells_still_hold_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _run(tmp_path / "run.cw")
    whole = read_timeline(load_events(folder))
    assert whole.complete and len(whole.rank) == whole.calls == 4 * (2 + 3 * 10)
    monkeypatch.setattr(timeline_module, "MOST_CALLS", 48)  # starts, stops, and all sends
    found = read_timeline(load_events(folder))
    assert (len(found.rank), found.calls, found.complete) == (48, whole.calls, False)
    assert {found.names[name] for name in found.name} == {"MPI_Init", "MPI_Finalize", "MPI_Send"}
    assert np.array_equal(found.shares, whole.shares)
    order = np.lexsort((found.start_ns, found.rank))
    assert order.tolist() == list(range(48))


def test_a_selection_has_its_own_calls_and_messages(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run.cw")
    chosen = parse_selection("1-2", None, "24 us", "32 us")
    found = read_timeline(load_events(folder, chosen))
    assert found.shown == (1, 2)
    assert (found.from_ns, found.start_ns.min()) == (24_000, 24_000)
    sends = found.bytes[[found.names[name] == "MPI_Send" for name in found.name]]
    assert sorted(sends) == [103, 103, 104, 104]
    # Rank 1's messages to 2: those of rank 0 to 1 have only one end here. Those before are only counted.
    assert list(zip(found.messages.sender, found.messages.receiver, found.messages.bytes, strict=True)) == [
        (1, 2, 103),
        (1, 2, 104),
    ]


def test_messages_are_matched_in_the_order_of_their_channel(tmp_path: Path) -> None:
    """Two tags that arrive crosswise: each send belongs to the arrival of its own tag."""
    one, two = tw.RankTrace(0, 2), tw.RankTrace(1, 2)
    for number, tag in enumerate((5, 6, 5)):
        one.put(tw.SEND, "MPI_Send", 1, 10 + number, ticks=100, tag=tag)
    two.now += 1_000
    for number, tag in ((1, 6), (0, 5), (2, 5)):
        two.put(tw.RECEIVE, "MPI_Recv", 0, 10 + number, ticks=50, tag=tag)
    found = read_timeline(load_events(tw.write_run(tmp_path / "two.cw", [one, two]))).messages
    assert found.found == 3
    start = one.now - 300 - tw.START_TICKS
    assert list(zip(found.bytes, found.sent_ns, found.arrived_ns, strict=True)) == [
        (10, start, start + 1_100),
        (11, start + 100, start + 1_050),
        (12, start + 200, start + 1_150),
    ]


def test_the_slowest_messages_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _run(tmp_path / "run.cw")
    monkeypatch.setattr(message_module, "MOST_MESSAGES", 10)
    found = read_timeline(load_events(folder)).messages
    assert (len(found.sender), found.found, set(found.receiver)) == (10, 40, {3})
    monkeypatch.setattr(message_module, "MOST_ENDS", 20)
    found = read_timeline(load_events(folder)).messages
    assert (len(found.sender), found.too_many) == (0, True)


def test_a_rank_that_lost_records_has_no_messages(tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 3) for rank in range(3)]
    ranks[1].lost_bytes = 64
    for rank in ranks:
        rank.put(tw.SEND, "MPI_Send", (rank.rank + 1) % 3, 8, ticks=100)
        rank.put(tw.RECEIVE, "MPI_Recv", (rank.rank - 1) % 3, 8, ticks=100)
    found = read_timeline(load_events(tw.write_run(tmp_path / "lost.cw", ranks))).messages
    assert list(zip(found.sender, found.receiver, strict=True)) == [(2, 0)]


def test_the_same_profile_gives_the_same_timeline(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run.cw")
    one, two = (read_timeline(load_events(folder)) for _ in range(2))
    for name in ("shares", "rank", "start_ns", "name", "site"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize(
    ("procedure", "category"),
    [
        ("MPI_Isend", "messages"), ("MPI_Waitall", "messages"), ("MPI_Ialltoallv", "collectives"),
        ("MPI_Put", "one-sided"), ("MPI_File_read", "files"), ("MPI_Init_thread", "start and stop"),
        ("MPI_Comm_rank", "other MPI"),
    ],
)  # fmt: skip
def test_procedures_have_a_colour(procedure: str, category: str) -> None:
    assert CATEGORIES[category_of(procedure)] == category


def test_collectives_by_size_with_what_the_table_advises(tmp_path: Path) -> None:
    events = load_events(_run(tmp_path / "run.cw", size=2))
    reader = CollectiveReader(events.names, events.communicators)
    read_timeline(events, [reader.add])
    table = load_host_tuning(tuning_directory() / "collectives-shm-genuineintel-6-167-mpich-2.csv")
    rows = {row.low_bytes: row for row in reader.rows((), [table])}
    assert [rows[8 << step].calls for step in range(10)] == [2] * 10
    assert {row.mean_ns for row in rows.values()} == {500.0}
    # The tuning's lines for 2 ranks: up to 128 bytes recursive_doubling, up to 64 KiB one_shot.
    assert (rows[8].advised, rows[256].advised) == ("recursive_doubling", "one_shot")
    assert rows[8].gain == pytest.approx(0.509 / 0.1956)
    assert rows[256].gain == pytest.approx(0.5904 / 0.386)
    assert {row.used for row in rows.values()} == {"the MPI's"}
    taken = reader.rows(["MPI_Allreduce"], [table])
    assert {row.used for row in taken} == {"corewise: recursive_doubling", "corewise: one_shot"}
    assert {row.advised for row in reader.rows()} == {""}
    drawn = figure(tuple(rows.values()))
    assert drawn is not None
    assert drawn.panels[0].series[0].x == tuple(float(8 << step) for step in range(10))
