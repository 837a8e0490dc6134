"""`corewise replay`: placements, timelines, and what it refuses.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trace_writer as tw
from replayed_runs import DEFAULTS, complete, compute, ping_pong, post, receive, recorded, run, send
from trace_writer import RankTrace

from corewise._core import Machine
from corewise.cli.main import execute
from corewise.data.placement import load_placement
from corewise.errors import InputError
from corewise.sim.replay import ideal_ns, open_recording


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
