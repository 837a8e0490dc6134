"""Replay of made-up recordings: predicted times against sums by hand, and runs that cannot end.

A record's own duration never counts where the call is replayed: the tests give records odd durations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trace_writer as tw
from trace_writer import RankTrace

from corewise._core import Machine
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.message_costs import AFTER, BEFORE, CostRow, MessageCosts, save_message_costs
from corewise.data.placement import load_placement
from corewise.errors import InputError, RunError
from corewise.sim.replay import Replay, ReplayOptions, algorithms, ideal_ns, open_recording, replay

SETTINGS = {"send_ns": 100, "receive_ns": 200, "copy_gb_per_s": 5, "eager_bytes": 1000, "header_bytes": 40}
Record = Callable[[RankTrace], None]


def recorded(folder: Path, *programs: Record, finalized: bool = True) -> Path:
    """A profile whose ranks do these, between MPI_Init and MPI_Finalize."""
    ranks = []
    for rank, program in enumerate(programs):
        trace = RankTrace(rank, len(programs))
        trace.put(tw.PLAIN, "MPI_Init", ticks=70_000)
        program(trace)
        if finalized:
            trace.put(tw.PLAIN, "MPI_Finalize", ticks=9_000)
        ranks.append(trace)
    return tw.write_run(folder, ranks)


def send(trace: RankTrace, to: int, size: int, procedure: str = "MPI_Send", tag: int = 0) -> None:
    trace.put(tw.SEND, procedure, to, size, ticks=37, tag=tag)


def receive(trace: RankTrace, source: int, size: int, tag: int = 0) -> None:
    trace.put(tw.RECEIVE, "MPI_Recv", source, size, ticks=4_321, tag=tag)


def post(trace: RankTrace, source: int, size: int, tag: int = 0) -> int:
    """A receive posted; gives its start."""
    start = trace.now
    trace.put(tw.POST_RECEIVE, "MPI_Irecv", source, size, ticks=5, tag=tag)
    return start


def complete(trace: RankTrace, procedure: str, *arrivals: tuple[int, int, int]) -> None:
    """A call that completes receives: (start of the post, sender, bytes) each."""
    trace.put(tw.PLAIN, procedure, ticks=777)
    end = trace.now
    for start, source, size in arrivals:
        trace.now = start
        trace.put(tw.ARRIVAL, "MPI_Irecv", source, size, ticks=end - start)
    trace.now = end


def compute(trace: RankTrace, ns: int) -> None:
    trace.now += ns


def run(
    folder: Path, machine: str = "mesh:4x1", settings: dict[str, float] | None = None, **options: object
) -> Replay:
    recording = open_recording(folder)
    chosen = ReplayOptions(settings={**SETTINGS, **(settings or {})}, **options)  # type: ignore[arg-type]
    return replay(recording, Machine.from_synthetic(machine), list(range(recording.size)), chosen)


def link(machine: str = "mesh:4x1") -> tuple[float, float]:
    """Latency in ns and bytes per ns of a link."""
    first = Machine.from_synthetic(machine).links[0]
    return first.latency_ns, first.bandwidth_gb_per_s


def flight_ns(size: int, machine: str = "mesh:4x1") -> float:
    """A message with its header to a neighbour."""
    latency, bandwidth = link(machine)
    return latency + (size + 40) / bandwidth


def ping_pong(folder: Path, first: int = 1_000) -> Path:
    def left(trace: RankTrace) -> None:
        compute(trace, first)
        send(trace, 1, 500)
        receive(trace, 1, 500)

    def right(trace: RankTrace) -> None:
        receive(trace, 0, 500)
        compute(trace, 300)
        send(trace, 0, 500)

    return recorded(folder, left, right)


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


MEASURED = MessageCosts(
    "a processor", "an mpi", 1_000, (0, 100_000),
    (CostRow(500, 50, (400, 600), (450, 700)), CostRow(8_000, 200, (4_200, 8_200), (5_200, 10_200))),
)  # fmt: skip


def test_measured_messages_take_what_the_table_says(tmp_path: Path) -> None:
    """New buffers cost what the last column says; the latency to the nearest unit is in the table."""
    found = run(ping_pong(tmp_path / "p.cw"), messages=MEASURED, settings={"header_bytes": 0})
    one_way = 600 + 500 / link()[1]
    assert found.time_ns == pytest.approx(1_000 + one_way + 300 + one_way, abs=0.01)
    assert found.path.software_ns + found.path.transfer_ns == pytest.approx(2 * one_way, abs=0.01)


def test_measured_long_messages_are_copied_both_ways_and_again(tmp_path: Path) -> None:
    def program(rounds: int) -> Record:
        def member(trace: RankTrace) -> None:
            for _ in range(rounds):
                start = trace.now
                trace.put(tw.SEND, "MPI_Sendrecv", 1 - trace.rank, 8_000, ticks=55, tag=0)
                end, trace.now = trace.now, start
                trace.put(tw.ARRIVAL, "MPI_Sendrecv", 1 - trace.rank, 8_000, ticks=end - start)
                trace.now = end

        return member

    once, twice = (
        run(
            recorded(tmp_path / f"{rounds}.cw", program(rounds), program(rounds)),
            messages=MEASURED,
            settings={"header_bytes": 0, "eager_bytes": MEASURED.eager_bytes},
        ).time_ns
        for rounds in (1, 2)
    )
    assert once == pytest.approx(10_200, abs=1)
    # A rank moved 16,000 bytes since: its buffers stay where they are, and the first column holds.
    assert twice - once == pytest.approx(5_200, abs=1)


def test_a_table_is_read_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, file = ping_pong(tmp_path / "p.cw"), tmp_path / "m.json"
    save_message_costs(MEASURED, file)
    words = ["replay", str(folder), "-m", "mesh:4x1", "--messages", str(file), "--json"]
    assert execute(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["options"]["messages"] == [str(file)]
    (row,) = document["rows"]
    assert row["time_ns"] == run(folder, messages=MEASURED, settings=DEFAULTS).time_ns
    file.write_text("{}")
    assert execute(words) == 2
    assert "m.json: field 'format'" in capsys.readouterr().err


def slower(factor: float) -> MessageCosts:
    """The table above with every time times this."""
    rows = tuple(
        CostRow(
            row.bytes,
            factor * row.send_ns,
            tuple(factor * ns for ns in row.one_way_ns),
            tuple(factor * ns for ns in row.both_ns),
        )
        for row in MEASURED.rows
    )
    return replace(MEASURED, rows=rows)


def with_tables(folder: Path, *factors: float) -> Path:
    """A profile that holds tables, as `corewise run --messages` leaves them."""
    for name, factor in zip((BEFORE, AFTER), factors, strict=False):
        save_message_costs(slower(factor), folder / name)
    return folder


def rows_of(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[dict[str, Any]]:
    assert execute(["replay", *map(str, words), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return found


def test_a_validation_uses_the_tables_that_the_profile_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prediction by the medians, and the range of what each table gives alone; of parts too."""
    own, plain = with_tables(ping_pong(tmp_path / "p.cw"), 1, 3), ping_pong(tmp_path / "q.cw")
    on = ["--validate", "-m", "mesh:4x1", "--cut", "71us"]
    with_own, without = rows_of(capsys, *on, own, plain)
    once, twice, thrice = (
        run(own, messages=slower(factor), settings=DEFAULTS, cuts_ns=[71_000]) for factor in (1, 2, 3)
    )
    assert with_own["tables"] == [str(own / BEFORE), str(own / AFTER)]
    assert with_own["time_ns"] == twice.time_ns
    assert with_own["range_ns"] == [once.time_ns, thrice.time_ns]
    assert [part["range_ns"] for part in with_own["parts"]] == [
        [low.time_ns, high.time_ns] for low, high in zip(once.parts, thrice.parts, strict=True)
    ]
    # A profile without tables is replayed as ever, and so is one for which none are wanted.
    assert (without["tables"], without["range_ns"]) == ([], None)
    assert without["time_ns"] == run(plain, settings=DEFAULTS).time_ns
    assert rows_of(capsys, *on, "--messages", "none", own)[0]["time_ns"] == without["time_ns"]
    # Another machine's replay takes them where it is told to.
    assert rows_of(capsys, "-m", "mesh:4x1", own)[0]["tables"] == []
    assert rows_of(capsys, "-m", "mesh:4x1", "--messages", own, plain)[0]["time_ns"] == twice.time_ns


def test_a_range_is_shown_where_there_are_several_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = with_tables(ping_pong(tmp_path / "p.cw"), 1)
    assert execute(["replay", "--validate", "-m", "mesh:4x1", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "measured of an mpi" in " ".join(shown.split()) and "by single tables" not in shown
    with_tables(folder, 1, 3)
    assert execute(["replay", "--validate", "-m", "mesh:4x1", str(folder)]) == 0
    assert "by single tables" in capsys.readouterr().out


CLUSTER = """
format = "corewise-machine"
version = 1
name = "two"
[interconnect]
kind = "tree"
[[interconnect.level]]
name = "box"
count = 2
up_bandwidth = "1 GB/s"
down_bandwidth = "1 GB/s"
hop_latency = "1 us"
[[interconnect.level]]
name = "core"
count = 2
up_bandwidth = "9 GB/s"
down_bandwidth = "9 GB/s"
hop_latency = "9 ns"
[cluster]
nodes = ["a", "b"]
os_indexes = [0, 1]
logical_cores = [0, 1]
"""


def test_a_table_of_one_node_is_refused_on_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, plain = with_tables(ping_pong(tmp_path / "p.cw"), 1), ping_pong(tmp_path / "q.cw")
    (tmp_path / "two.toml").write_text(CLUSTER)
    for machine, nodes in (("roadrunner", 8), (str(tmp_path / "two.toml"), 2)):
        for words in (["--messages", own, plain], ["--validate", own]):
            assert execute(["replay", *map(str, words), "-m", machine]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"with {nodes} nodes, allowed: a machine of one node" in line
        assert rows_of(capsys, "--validate", own, "-m", machine, "--messages", "none")
        assert rows_of(capsys, "--validate", plain, "-m", machine)


def test_wrong_tables_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, own = ping_pong(tmp_path / "p.cw"), with_tables(ping_pong(tmp_path / "q.cw"), 1)
    save_message_costs(replace(MEASURED, mpi="another mpi"), tmp_path / "m.json")
    for words, said in (
        (["--messages", folder], "allowed: a profile of `corewise run --messages`"),
        (["--messages", own, "--messages", tmp_path / "m.json"], "m.json: field 'mpi': found another mpi"),
        (["--messages", own, "--messages", "none"], "allowed: none alone, or files"),
    ):
        assert execute(["replay", str(folder), "-m", "mesh:4x1", *map(str, words)]) == 2
        assert said in capsys.readouterr().err


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


# --- the command ------------------------------------------------------------------------------------------


def test_the_command_shows_a_line_per_placement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4)
    turned = tmp_path / "turned.json"
    assert execute(["place", str(folder), "-m", "ring:4", "-o", str(turned)]) == 0
    capsys.readouterr()
    page = tmp_path / "replay.html"
    words = ["replay", str(folder), "-m", "ring:4", "-p", "identity", "-p", str(turned), "--html", str(page)]
    assert execute(words) == 0
    shown = capsys.readouterr().out
    assert "predicted on ring:4" in shown
    assert "critical path" in shown
    assert shown.count("ring.cw") >= 4
    assert "critical path" in page.read_text()


def test_the_quickest_replay_of_the_searched_placements_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ranks 0 and 3 of a chain of units exchange long messages: apart, every message crosses three links."""

    def talker(trace: RankTrace) -> None:
        peer = 3 - trace.rank
        for _ in range(20):
            start = post(trace, peer, 100_000)
            send(trace, peer, 100_000, "MPI_Isend")
            complete(trace, "MPI_Waitall", (start, peer, 100_000))

    folder = recorded(tmp_path / "p.cw", talker, lambda trace: None, lambda trace: None, talker)
    best = tmp_path / "best.json"
    words = ["replay", str(folder), "-m", "mesh:4x1", "-p", "search", "-o", str(best)]
    assert execute([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    times = [row["time_ns"] for row in rows]
    assert {"identity", "best"} <= {row["placement"] for row in rows}
    assert times == sorted(times)
    assert times[0] < next(row["time_ns"] for row in rows if row["placement"] == "identity")
    placed = load_placement(best, Machine.from_synthetic("mesh:4x1")).unit_of_rank
    assert abs(placed[0] - placed[3]) == 1
    assert execute(["replay", str(folder), "-m", "mesh:4x1", "-p", str(best), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["time_ns"] == times[0]


def test_a_run_without_messages_stays_in_rank_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded(tmp_path / "p.cw", lambda trace: compute(trace, 10), lambda trace: compute(trace, 20))
    assert execute(["replay", str(folder), "-m", "mesh:4x1", "-p", "search", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["placement"], row["time_ns"]) == ("identity", pytest.approx(20, abs=0.01))


def test_the_command_prints_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ping_pong(tmp_path / "p.cw")
    assert execute(["replay", str(folder), "-m", "mesh:4x1", "--set", "send_ns=5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["rows"]
    path = row["critical_path"]
    assert document["name"] == "replay"
    assert path["computation_ns"] + path["transfer_ns"] + path["software_ns"] == pytest.approx(row["time_ns"])
    assert [rank["calls"] for rank in row["ranks"]] == [2, 2]
    assert execute(["replay", "--validate", "-m", "mesh:4x1", "--cut", "71us", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "parts" in shown and "its begin" in shown and "71 µs" in shown
    assert "against recordings" in shown
    assert f"{100 * (run(folder, settings=DEFAULTS).time_ns / row['recorded_ns'] - 1):+.1f} %" in shown


DEFAULTS = {"send_ns": 100, "receive_ns": 100, "copy_gb_per_s": 8, "eager_bytes": 4096, "header_bytes": 32}


def test_a_timeline_has_each_call_once_and_ends_when_the_run_does(tmp_path: Path) -> None:
    for folder in (ping_pong(tmp_path / "p.cw"), tw.ring_run(tmp_path / "ring.cw", size=3, message=3_000)):
        found = run(folder, timeline=True)
        assert found.timeline is not None
        assert found.timeline.events.size == found.ranks["calls"].sum()
        last = int(found.timeline.events["end"].max())
        assert last * found.timeline.tick_ns == pytest.approx(found.time_ns, abs=1)


def test_a_timeline_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "p.pftrace"
    assert (
        execute(["replay", str(ping_pong(tmp_path / "p.cw")), "-m", "mesh:4x1", "--trace", str(written)]) == 0
    )
    assert b"MPI_Recv" in written.read_bytes()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--machine: found none"),
        (["-m", "mesh:4x1", "--collective", "allreduce=magic"], "recursive_doubling, ring, reduce_broadcast"),
        (["-m", "mesh:4x1", "--collective", "magic=ring"], "NAME=ALGORITHM with a name of barrier"),
        (["-m", "mesh:4x1", "--set", "magic=1"], "NAME=VALUE with a name of send_ns"),
        (["-m", "mesh:4x1", "--set", "copy_gb_per_s=0"], "0.001 to 1000000"),
        (["-m", "roadrunner", "--set", "collective_level=2"], "'collective_level': found 2, allowed: 0"),
        (["-m", "mesh:4x1", "--cut", "1s"], "--cut: found without --validate"),
        (["--validate", "-m", "mesh:4x1", "--cut", "1"], "--cut"),
        (
            ["-m", "ring:3", "-p", "ring"],
            "placement 'ring' is unknown on 'ring:3', allowed: search, identity",
        ),
        (["-m", "flat:2", "--granularity", "coarse"], "flow, packet"),
        (
            ["-m", "mesh:4x1", "-p", "identity", "-p", "identity", "--trace", "x"],
            "one profile with one placement",
        ),
    ],
)
def test_wrong_input_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert execute(["replay", str(ping_pong(tmp_path / "p.cw")), *words]) == 2
    assert said in capsys.readouterr().err


def test_too_few_units_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["replay", str(tw.ring_run(tmp_path / "r.cw", size=4)), "-m", "flat:2"]) == 2
    assert "found 4, allowed: 1 to 2, the units of 'flat:2'" in capsys.readouterr().err


def test_a_run_that_cannot_end_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(tmp_path / "p.cw", lambda trace: receive(trace, 1, 7), lambda trace: None)
    assert execute(["replay", str(folder), "-m", "flat:2"]) == 1
    assert "rank 0 in MPI_Recv (call 2) waits for a message from rank 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("role", "procedure", "peer", "comm", "said"),
    [
        (tw.SEND, "MPI_Send", 9_371, 0, "'peer of MPI_Send (call 2)': found 9371, allowed: 0 to 2"),
        (tw.SEND, "MPI_Send", -3, 0, "'peer of MPI_Send (call 2)': found -3, allowed: 0 to 2"),
        (tw.RECEIVE, "MPI_Recv", 3, 0, "'peer of MPI_Recv (call 2)': found 3, allowed: 0 to 2"),
        (tw.ARRIVAL, "MPI_Irecv", 5, 0, "'peer of MPI_Irecv (call 2)': found 5, allowed: 0 to 2"),
        (tw.PROBE, "MPI_Probe", 4, 0, "'peer of MPI_Probe (call 2)': found 4, allowed: 0 to 2"),
        (tw.COLLECTIVE, "MPI_Bcast", 70, 0, "'peer of MPI_Bcast (call 2)': found 70, allowed: 0 to 2"),
        (tw.SEND, "MPI_Send", 2, 1, "found 2, allowed: a member of communicator 'pair'"),
    ],
)
def test_a_record_of_nobody_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    role: int,
    procedure: str,
    peer: int,
    comm: int,
    said: str,
) -> None:
    """A wrong byte in a trace: the process died of it."""

    def damaged(trace: RankTrace) -> None:
        trace.comms.append(("pair", [0, 1]))
        trace.put(role, procedure, peer, 8, comm=comm)

    folder = recorded(tmp_path / "p.cw", damaged, lambda trace: None, lambda trace: None)
    for words in (["replay"], ["place", "--objective", "replay"]):
        assert execute([*words, str(folder), "-m", "mesh:4x1"]) == 2
        error = capsys.readouterr().err
        assert "rank-00000.cwt: field" in error
        assert said in error
    assert ideal_ns(folder) is None
    assert execute(["report", str(folder)]) == 0


def test_a_time_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """A replay counts picoseconds, of which no 64 bits hold a year."""
    year_ns = 366 * 86_400 * 10**9
    folder = recorded(
        tmp_path / "p.cw",
        lambda trace: None,
        lambda trace: (compute(trace, year_ns), send(trace, 0, 8)),  # type: ignore[func-returns-value,arg-type]
    )
    with pytest.raises(
        InputError, match=r"rank-00001.cwt: field 'time of MPI_Send \(call 2\)': found 31622400 s"
    ):
        open_recording(folder)
