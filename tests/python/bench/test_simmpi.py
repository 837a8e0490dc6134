"""`corewise bench simmpi`: its rows, the platform that SimGrid gets, what it does without SimGrid."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest
import trace_writer as tw
from trace_writer import RankTrace

from corewise.bench.peers import SIMGRID
from corewise.bench.rows import Listener, Row
from corewise.bench.simmpi import replayed, study
from corewise.bench.simmpi.platform import hostfile, platform_xml
from corewise.data.machines import load_machine
from corewise.errors import InputError, RunError


def seconds(per_round: float, start: float) -> object:
    """A contestant's wall seconds: so many per round of the workload, and those of its start."""
    return lambda self, rounds: start + per_round * rounds


def test_a_row_holds_the_ratio_within_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study, "has_smpi", lambda: True)
    monkeypatch.setattr(study.Contest, "ours", seconds(0.001, 5.0))
    monkeypatch.setattr(study.Contest, "theirs", seconds(0.02, 9.0))
    row = study.row("ring", tmp_path, 3, Listener())
    assert row.ours == pytest.approx(128 / 0.001, rel=1e-3)  # what start takes is left out
    assert row.theirs == pytest.approx(128 / 0.02, rel=1e-3)
    assert (row.ratio, row.n, row.demand, row.rival) == (20, 3, 5.0, study.RIVAL)


def test_without_smpi_corewise_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "has_smpi", lambda: False)
    monkeypatch.setattr(study, "prepare", lambda folder, listener: None)
    monkeypatch.setattr(study, "whole_program", lambda folder: Row("simmpi-sweep3d", "", "s", 1.0))
    monkeypatch.setattr(study.Contest, "ours", seconds(0.001, 5.0))
    monkeypatch.setattr(study, "replay_row", lambda shape, *rest: Row(f"simmpi-replay-{shape}", "", "s", 1.0))
    outcome = study.run_bench(Listener(), rounds=2)
    assert [row.id for row in outcome.rows] == [
        *("simmpi-ring", "simmpi-halo", "simmpi-replay-ring", "simmpi-replay-halo", "simmpi-sweep3d")
    ]
    assert all(row.theirs is None for row in outcome.rows)
    assert outcome.absent == (SIMGRID,)


def test_the_platform_is_the_machine() -> None:
    machine = load_machine("mesh:3x2")
    zone = ET.fromstring(platform_xml(machine)).find("zone")
    assert zone is not None
    assert len(zone.findall("host")) == 6
    links = zone.findall("link")
    assert [float(link.attrib["bandwidth"].removesuffix("GBps")) for link in links] == [
        link.bandwidth_gb_per_s for link in machine.links
    ]
    routes = {(route.attrib["src"], route.attrib["dst"]): len(route) for route in zone.findall("route")}
    assert len(routes) == 30
    assert routes["unit0", "unit5"] == 3  # two steps in x, one in y
    assert hostfile(2) == "unit0\nunit1\n"


def test_sweep3d_on_256_ranks_keeps_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "SWEEP_WORDS", ("--size", "16x16x4", "--iterations", "1"))
    row = study.whole_program(tmp_path)
    assert row.theirs == 60
    # Eight octants, two blocks of directions, and a face for each of the 2 x 16 x 15 neighbours.
    assert int(str(row.more["messages"])) >= 8 * 2 * 2 * 16 * 15
    assert 0 < int(str(row.more["memory_mib"])) < study.SWEEP_BOUND_MIB


# --- replay -----------------------------------------------------------------------------------------------


def exchanged(folder: Path, rounds: int, collective: bool = False) -> Path:
    """Two ranks in a ring, as the workload does it: both neighbours are the other one."""
    traces = [RankTrace(rank, 2) for rank in range(2)]
    for trace in traces:
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
        trace.put(tw.PLAIN, "MPI_Comm_split", ticks=200)
        for _ in range(rounds):
            start = trace.now + 50
            trace.now = start
            trace.put(tw.POST_RECEIVE, "MPI_Irecv", 1 - trace.rank, 1024, ticks=5)
            trace.put(tw.SEND, "MPI_Isend", 1 - trace.rank, 1024, ticks=7)
            trace.put(tw.SEND, "MPI_Isend", -2, 1024, ticks=7)
            trace.put(tw.PLAIN, "MPI_Waitall", ticks=100)
            end = trace.now
            trace.now = start
            trace.put(tw.ARRIVAL, "MPI_Irecv", 1 - trace.rank, 1024, ticks=end - start)
        if collective:
            trace.put(tw.COLLECTIVE, "MPI_Allreduce", size=8, ticks=5)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=1_000)
    return tw.write_run(folder, traces)


def test_a_recording_becomes_the_actions_of_smpi(tmp_path: Path) -> None:
    """Gaps and calls without a model are computation; what went nowhere is left out."""
    listing = replayed.write_actions(exchanged(tmp_path / "two.cw", 2), tmp_path)
    first, second = [Path(line).read_text().splitlines() for line in listing.read_text().splitlines()]
    round_ = ["irecv 1 0 1024 6", "isend 1 0 1024 6", "compute 7", "waitall 0"]
    assert first == [
        f"0 {each}"
        for each in ("init", "compute 200", "compute 50", *round_, "compute 50", *round_, "finalize")
    ]
    assert second[3] == "1 irecv 0 0 1024 6"


def test_what_has_no_action_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="MPI_Allreduce"):
        replayed.write_actions(exchanged(tmp_path / "two.cw", 1, collective=True), tmp_path)


def test_our_contestant_replays_every_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed, "RANKS", 2)
    monkeypatch.setattr(replayed, "MACHINES", {"ring": ("ring:2", 2)})
    traces = replayed.Traces("ring", tmp_path)
    exchanged(traces.profile(3), 3)
    assert traces.ours(3) > 0
    exchanged(traces.profile(4), 3)
    with pytest.raises(RunError, match="6 messages were replayed"):
        traces.ours(4)


def test_a_replay_row_leaves_the_start_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = SimpleNamespace(name="MPI", version="1")
    monkeypatch.setattr(study, "chosen", lambda wanted: [mpi])
    monkeypatch.setattr(study, "exchange", lambda mpi, listener: Path("exchange"))
    monkeypatch.setattr(study, "has_smpi", lambda: True)
    monkeypatch.setattr(replayed.Traces, "record", lambda self, mpi, program: None)
    monkeypatch.setattr(replayed.Traces, "ours", seconds(0.001, 5.0))
    monkeypatch.setattr(replayed.Traces, "theirs", seconds(0.007, 9.0))
    row = study.replay_row("ring", tmp_path, 3, Listener())
    assert row is not None
    assert row.ours == pytest.approx(16 / 0.001, rel=1e-3)
    assert (row.ratio, row.demand, row.more["recorded_by"]) == (7, 5.0, "MPI 1")


def test_without_an_mpi_there_is_no_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(wanted: str | None) -> list[object]:
        raise InputError("no MPI found")

    monkeypatch.setattr(study, "chosen", none)
    assert study.replay_row("ring", tmp_path, 3, Listener()) is None
