"""Replay of made-up recordings: predicted times against sums by hand, and runs that cannot end.

A record's own duration never counts where the call is replayed: the tests give records odd durations.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trace_writer as tw
from replayed_runs import Record, complete, compute, link, ping_pong, post, receive, recorded, run, send
from trace_writer import RankTrace

from corewise.data.machines import load_machine
from corewise.errors import InputError, RunError
from corewise.sim.replay import algorithms, ideal_ns, open_recording, replay


def flight_ns(size: int, machine: str = "mesh:4x1") -> float:
    """A message with its header to a neighbour."""
    latency, bandwidth = link(machine)
    return latency + (size + 40) / bandwidth


# --- times ------------------------------------------------------------------------------------------------


def test_a_ping_pong_is_the_sum_of_its_steps(tmp_path: Path) -> None:
    found = run(ping_pong(tmp_path / "p.cw"))
    sent, taken, there = 100 + 500 / 5, 200 + 500 / 5, flight_ns(500)
    expected = 1_000 + sent + there + taken + 300 + sent + there + taken
    assert found.time_ns == pytest.approx(expected, abs=0.01)
    assert found.path.computation_ns == pytest.approx(1_300, abs=0.01)
    assert found.path.transfer_ns == pytest.approx(2 * there, abs=0.01)
    assert found.path.software_ns == pytest.approx(2 * (sent + taken), abs=0.01)
    assert (found.path.rank, found.path.messages) == (0, 2)
    assert found.ranks["waiting_ns"][1] == pytest.approx(1_000 + sent + there, abs=0.01)
    assert (found.messages, found.bytes) == (2, 1_000)


def test_computation_is_scaled_and_nothing_else(tmp_path: Path) -> None:
    folder = ping_pong(tmp_path / "p.cw")
    twice, none = run(folder, computation=2.0), run(folder, computation=0.0)
    assert twice.time_ns - none.time_ns == pytest.approx(2_600, abs=0.01)


def test_cuts_divide_a_run_into_parts(tmp_path: Path) -> None:
    """The clock begins with MPI_Init, 70,000 ns before the run; no call follows the second cut."""
    folder = ping_pong(tmp_path / "p.cw")
    whole, cut = run(folder), run(folder, cuts_ns=[71_020, 90_000])
    sent, taken, there = 100 + 500 / 5, 200 + 500 / 5, flight_ns(500)
    first = 1_000 + sent + there + taken + 300
    # Rank 0 passes the first cut with its receive, and rank 1 later with its send, at 4,621 ns of the run.
    assert [(part.recorded_ns, part.time_ns) for part in cut.parts] == [
        (4_621, pytest.approx(first, abs=0.01)),
        (whole.recorded_ns - 4_621, pytest.approx(whole.time_ns - first, abs=0.01)),
        (0, 0),
    ]
    assert cut.time_ns == whole.time_ns
    assert [part.error for part in cut.parts][2] is None
    assert [(part.recorded_ns, part.time_ns) for part in whole.parts] == [(whole.recorded_ns, whole.time_ns)]


def test_a_pipeline_waits_for_long_messages_at_every_stage(tmp_path: Path) -> None:
    def stage(rank: int) -> Record:
        def program(trace: RankTrace) -> None:
            if rank > 0:
                receive(trace, rank - 1, 8_000)
            compute(trace, 2_000)
            if rank < 3:
                send(trace, rank + 1, 8_000)

        return program

    found = run(recorded(tmp_path / "p.cw", *map(stage, range(4))))
    latency, bandwidth = link()
    hop = 100 + 2 * flight_ns(0) + latency + 8_000 / bandwidth + 200  # header, answer, data
    assert found.time_ns == pytest.approx(4 * 2_000 + 3 * hop, abs=0.01)
    # A stage ends its send when the data are there.
    assert found.ranks["end_ns"][0] == pytest.approx(2_000 + hop - 200, abs=0.01)
    assert found.path.computation_ns == pytest.approx(8_000, abs=0.01)


def test_a_synchronous_send_waits_for_its_receive(tmp_path: Path) -> None:
    def left(trace: RankTrace) -> None:
        send(trace, 1, 10, "MPI_Ssend")

    def right(trace: RankTrace) -> None:
        compute(trace, 50_000)
        receive(trace, 0, 10)

    found = run(recorded(tmp_path / "p.cw", left, right))
    latency, bandwidth = link()
    assert found.ranks["end_ns"][0] == pytest.approx(
        50_000 + flight_ns(0) + latency + 10 / bandwidth, abs=0.01
    )


def test_a_barrier_lets_nobody_go_before_the_last(tmp_path: Path) -> None:
    def late(ns: int) -> Record:
        def program(trace: RankTrace) -> None:
            compute(trace, ns)
            trace.put(tw.COLLECTIVE, "MPI_Barrier", ticks=99)

        return program

    found = run(recorded(tmp_path / "p.cw", late(0), late(5_000)))
    assert found.ranks["end_ns"][0] == pytest.approx(5_000 + 100 + flight_ns(0) + 200, abs=0.01)
    assert found.ranks["end_ns"][1] == pytest.approx(5_000 + 100 + 200, abs=0.01)
    assert found.collectives == 2


def test_sendrecv_goes_both_ways_at_once(tmp_path: Path) -> None:
    def program(trace: RankTrace) -> None:
        start, peer = trace.now, 1 - trace.rank
        send(trace, peer, 9_000, "MPI_Sendrecv")
        end = trace.now
        trace.now = start
        trace.put(tw.ARRIVAL, "MPI_Sendrecv", peer, 9_000, ticks=end - start)

    found = run(recorded(tmp_path / "p.cw", program, program))
    latency, bandwidth = link()
    assert found.time_ns == pytest.approx(
        100 + 2 * flight_ns(0) + latency + 9_000 / bandwidth + 200, abs=0.01
    )


def test_a_halo_waits_for_sends_and_receives_together(tmp_path: Path) -> None:
    def program(trace: RankTrace) -> None:
        peer = 1 - trace.rank
        start = post(trace, peer, 9_000)
        send(trace, peer, 9_000, "MPI_Isend")
        complete(trace, "MPI_Waitall", (start, peer, 9_000))

    found = run(recorded(tmp_path / "p.cw", program, program))
    latency, bandwidth = link()
    assert found.time_ns == pytest.approx(
        100 + 2 * flight_ns(0) + latency + 9_000 / bandwidth + 200, abs=0.01
    )
    assert not found.relaxed


def test_a_wildcard_takes_the_message_that_it_took(tmp_path: Path) -> None:
    """Rank 0's message would be there first; recorded was that the first receive got rank 1's."""

    def sender(ns: int) -> Record:
        def program(trace: RankTrace) -> None:
            compute(trace, ns)
            send(trace, 2, 100)

        return program

    def taker(trace: RankTrace) -> None:
        first = post(trace, -3, 100, tag=-1)
        second = post(trace, -3, 100, tag=-1)
        complete(trace, "MPI_Wait", (first, 1, 100))
        compute(trace, 1_000)
        complete(trace, "MPI_Wait", (second, 0, 100))

    found = run(recorded(tmp_path / "p.cw", sender(0), sender(40_000), taker))
    received = 200 + 100 / 5
    expected = 40_000 + 100 + 100 / 5 + flight_ns(100) + received + 1_000 + received
    assert found.time_ns == pytest.approx(expected, abs=0.01)


def test_probes_and_tests_wait_and_polling_costs_nothing(tmp_path: Path) -> None:
    def left(trace: RankTrace) -> None:
        compute(trace, 10_000)
        send(trace, 1, 100, tag=4)

    def right(trace: RankTrace) -> None:
        trace.put(tw.MISS, "MPI_Iprobe", -3, 9, ticks=9_000)
        trace.put(tw.PROBE, "MPI_Probe", 0, 100, ticks=50, tag=4)
        compute(trace, 500)
        receive(trace, 0, 100, tag=4)

    found = run(recorded(tmp_path / "p.cw", left, right))
    assert found.time_ns == pytest.approx(10_000 + 120 + flight_ns(100) + 500 + 220, abs=0.01)
    assert found.path.computation_ns == pytest.approx(10_500, abs=0.01)


def test_work_between_tests_counts(tmp_path: Path) -> None:
    def program(trace: RankTrace) -> None:
        trace.put(tw.MISS, "MPI_Test", -3, 4, ticks=100_000)

    assert run(recorded(tmp_path / "p.cw", program)).time_ns == pytest.approx(100_000, abs=0.01)


def test_tests_that_never_find_anything_are_work(tmp_path: Path) -> None:
    """hpcc's random accesses test once in an update, and at last wait for other requests, or cancel."""

    def idle(trace: RankTrace) -> None:
        trace.put(tw.MISS, "MPI_Test", -3, 900, ticks=90_000)
        trace.put(tw.PLAIN, "MPI_Comm_split", ticks=10)
        trace.put(tw.MISS, "MPI_Test", -3, 100, ticks=10_000)
        trace.put(tw.PLAIN, "MPI_Waitall", ticks=10)
        trace.put(tw.MISS, "MPI_Test", -3, 50, ticks=5_000)

    found = run(recorded(tmp_path / "p.cw", idle), computation=2.0)
    assert found.time_ns == pytest.approx(2 * 105_000 + 10, abs=0.01)

    def waiting(trace: RankTrace) -> None:
        trace.put(tw.MISS, "MPI_Test", -3, 900, ticks=90_000)
        trace.put(tw.PLAIN, "MPI_Comm_split", ticks=10)
        trace.put(tw.PLAIN, "MPI_Test", ticks=10)

    assert run(recorded(tmp_path / "w.cw", waiting)).time_ns == pytest.approx(10, abs=0.01)


def test_calls_without_a_model_take_their_recorded_time(tmp_path: Path) -> None:
    def program(trace: RankTrace) -> None:
        trace.put(tw.PUT, "MPI_Put", 0, 10, ticks=1_234)
        trace.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 8, ticks=1_000)

    found = run(recorded(tmp_path / "p.cw", program), computation=0.5)
    assert found.time_ns == pytest.approx(2_234, abs=0.01)
    assert (found.unreplayed, found.unreplayed_ns) == (2, pytest.approx(2_234, abs=0.01))


def test_a_communicator_has_collectives_and_ranks_of_its_own(tmp_path: Path) -> None:
    """Ranks 3 and 1 broadcast among themselves; rank 3 is the root, and rank 0 of the communicator."""
    ranks = []
    for rank in range(4):
        trace = RankTrace(rank, 4, comms=[("pair", (3, 1))] if rank in (1, 3) else [])
        trace.put(tw.PLAIN, "MPI_Init", ticks=10)
        if rank == 3:
            compute(trace, 700)
        if rank in (1, 3):
            trace.put(tw.COLLECTIVE, "MPI_Bcast", 3, 100, ticks=20, comm=1)
            if rank == 3:
                trace.put(tw.SEND, "MPI_Send", 1, 100, comm=1)
            else:
                trace.put(tw.RECEIVE, "MPI_Recv", 3, 100, comm=1)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=10)
        ranks.append(trace)
    found = run(tw.write_run(tmp_path / "p.cw", ranks))
    latency, bandwidth = link()
    sent = 700 + 120
    arrives = (
        sent + 2 * latency + 140 / bandwidth
    )  # two links; the second message comes while it takes this one
    assert found.ranks["end_ns"][3] == pytest.approx(sent + 120, abs=0.01)
    assert found.ranks["end_ns"][1] == pytest.approx(arrives + 2 * 220, abs=0.01)
    assert found.ranks["end_ns"][0] == pytest.approx(0, abs=0.01)


def test_an_algorithm_is_chosen_by_name(tmp_path: Path) -> None:
    def program(trace: RankTrace) -> None:
        trace.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 100_000, ticks=20)

    folder = recorded(tmp_path / "p.cw", *[program] * 4)
    doubling, ring = run(folder), run(folder, algorithms={"allreduce": "ring"})
    assert (doubling.messages, doubling.bytes) == (8, 800_000)
    assert (ring.messages, ring.bytes) == (24, 600_000)
    assert algorithms()["allreduce"][0] == "recursive_doubling"


# --- properties -------------------------------------------------------------------------------------------


def test_twice_the_latency_is_never_quicker_for_a_chain(tmp_path: Path) -> None:
    def member(rank: int, size: int) -> Record:
        def program(trace: RankTrace) -> None:
            if rank > 0:
                receive(trace, rank - 1, size)
            compute(trace, 100 * rank)
            if rank < 5:
                send(trace, rank + 1, size)

        return program

    def machine(latency: int) -> Path:
        path = tmp_path / f"{latency}.toml"
        path.write_text(
            'format = "corewise-machine"\nversion = 1\nname = "m"\n'
            '[interconnect]\nkind = "mesh"\ndims = [6]\n'
            f'link_bandwidth = "10 GB/s"\nhop_latency = "{latency} ns"\n'
        )
        return path

    for size in (0, 10, 999, 1_000, 1_001, 65_536):
        recording = open_recording(
            recorded(tmp_path / f"{size}.cw", *(member(rank, size) for rank in range(6)))
        )
        times = [
            replay(recording, load_machine(str(machine(latency))), range(6)).time_ns
            for latency in (20, 40, 80)
        ]
        assert times == sorted(times)
        assert times[0] < times[2]


def test_the_same_replay_gives_the_same_result(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=5)
    first, second = run(folder, "flat:5"), run(folder, "flat:5")
    assert first.ranks.tobytes() == second.ranks.tobytes()
    assert (first.time_ns, first.events, first.path) == (second.time_ns, second.events, second.path)


def test_the_critical_path_is_the_predicted_time(tmp_path: Path) -> None:
    found = run(tw.ring_run(tmp_path / "ring.cw", size=6, rounds=9, message=900), "flat:6")
    path = found.path
    assert path.computation_ns + path.transfer_ns + path.software_ns == pytest.approx(found.time_ns)
    assert min(path.computation_ns, path.transfer_ns, path.software_ns) >= 0


# --- the ideal machine ------------------------------------------------------------------------------------


def test_on_the_ideal_machine_only_computation_and_order_are_left(tmp_path: Path) -> None:
    """Rank 0 computes 1000, then rank 1 300: together 1300. Of two at once the longer one counts."""
    assert ideal_ns(ping_pong(tmp_path / "p.cw")) == pytest.approx(1_300, abs=0.01)

    def worker(ns: int) -> Record:
        def program(trace: RankTrace) -> None:
            compute(trace, ns)
            send(trace, 1 - trace.rank, 1_000_000)
            receive(trace, 1 - trace.rank, 1_000_000)

        return program

    assert ideal_ns(recorded(tmp_path / "q.cw", worker(400), worker(900))) == pytest.approx(900, abs=0.01)


def test_a_recording_that_ends_early_has_no_ideal_time(tmp_path: Path) -> None:
    trace = RankTrace(0, 1, state=tw.RUNNING)
    trace.put(tw.PLAIN, "MPI_Init")
    assert ideal_ns(tw.write_run(tmp_path / "p.cw", [trace])) is None
    assert ideal_ns(tmp_path / "nothing.cw") is None


# --- what cannot be replayed ------------------------------------------------------------------------------


def test_a_truncated_recording_names_the_rank_and_the_call(tmp_path: Path) -> None:
    def left(trace: RankTrace) -> None:
        compute(trace, 10)
        trace.put(tw.COLLECTIVE, "MPI_Barrier", ticks=9)
        receive(trace, 1, 77, tag=5)

    def right(trace: RankTrace) -> None:
        trace.put(tw.COLLECTIVE, "MPI_Barrier", ticks=9)

    folder = recorded(tmp_path / "p.cw", left, right)
    with pytest.raises(
        RunError, match=r"rank 0 in MPI_Recv \(call 3\) waits for a message from rank 1, tag 5"
    ):
        run(folder)


def test_waiting_for_sends_gives_way_where_it_would_never_end(tmp_path: Path) -> None:
    """Rank 0 completes a receive by MPI_Waitall while its long send is under way, which is received later."""

    def left(trace: RankTrace) -> None:
        start = post(trace, 1, 10)
        send(trace, 1, 50_000, "MPI_Isend")
        complete(trace, "MPI_Waitall", (start, 1, 10))
        send(trace, 1, 10, tag=1)
        complete(trace, "MPI_Waitall")

    def right(trace: RankTrace) -> None:
        send(trace, 0, 10)
        receive(trace, 0, 10, tag=1)
        receive(trace, 0, 50_000)

    assert run(recorded(tmp_path / "p.cw", left, right)).relaxed


def test_a_ring_that_relied_on_buffers_is_replayed(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=3, message=3_000)
    assert run(folder, "flat:3").relaxed
    roomy = run(folder, "flat:3", {"eager_bytes": 3_000})
    assert not roomy.relaxed
    assert roomy.messages == run(folder, "flat:3").messages


def test_a_missing_rank_and_threads_are_refused(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw")
    (folder / "rank-00002.cwt").unlink()
    with pytest.raises(InputError, match=r"rank 2.*no file that can be read.*4 ranks"):
        open_recording(folder)
    with pytest.raises(InputError, match=r"no such folder.*NAME\.cw"):
        open_recording(tmp_path / "nothing.cw")
