"""`corewise advise` of profiles that were recorded elsewhere: predictions, each with its reason, and no run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trace_writer as tw

from corewise._core import Machine
from corewise.analysis.placement.comparison import study_placements
from corewise.cli.main import execute
from corewise.data.patterns import load_pattern_or_profile
from corewise.sim.replay import open_recording
from corewise.trials.replaying import Replays

LEVERS = ["binding", "placement", "reordering", "idle_core", "acceleration", "algorithm", "packing"]


def far_neighbours(folder: Path, procedure: str = "", lost: bool = False) -> Path:
    """Eight ranks, each of which talks to the one half way round; three quarters of the run are messages."""
    ranks = []
    for number in range(8):
        trace = tw.RankTrace(number, 8, now=tw.START_TICKS)
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
        for _ in range(10):
            trace.now += 1_000
            trace.put(tw.SEND, "MPI_Send", (number + 4) % 8, 1 << 20, ticks=1_500)
            trace.put(tw.RECEIVE, "MPI_Recv", (number + 4) % 8, 1 << 20, ticks=1_500)
            if procedure:
                trace.put(tw.COLLECTIVE, procedure, size=8, ticks=4_000)
        if lost and number == 7:
            trace.put(tw.RECEIVE, "MPI_Recv", 0, 8, ticks=10, tag=9)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=1_000)
        trace.end_ticks = trace.now
        ranks.append(trace)
    return tw.write_run(folder, ranks)


def advised(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert execute(["advise", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def prediction(found: dict[str, Any], lever: str) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in found["rows"] if row["id"] == lever)
    assert not row["tried"] and row["gain"] is None
    predicted: dict[str, Any] = row["prediction"]
    return predicted


def test_a_bad_placement_on_a_described_machine_is_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rank order sends every message over four links of the ring; on neighbouring units one will do."""
    profile = far_neighbours(tmp_path / "far.cw")
    found = advised(capsys, profile, "--machine", "ring:8")
    assert [row["id"] for row in found["rows"]] == LEVERS
    placement = prediction(found, "placement")
    assert placement["promising"] and "replayed on ring:8 the run takes" in placement["reason"]
    replays = Replays(open_recording(profile), Machine.from_synthetic("ring:8"), "far")
    best = study_placements(load_pattern_or_profile(profile), replays.machine).best.unit_of_rank
    assert placement["gain"] == pytest.approx(replays(range(8)) / replays(best))
    assert placement["gain"] > 1.1
    assert [row["id"] for row in found["rows"] if row["prediction"]["promising"]] == ["placement"]
    assert found["statement"].startswith("predicted only, ") and "placement may make it" in found["statement"]
    assert (found["launch"], found["difference"], found["confirming_rounds"]) == (None, False, 0)
    assert "placement" in [row["id"] for row in found["findings"]]


def test_messages_that_nobody_waits_for_promise_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Links are relieved, and most of the run is in sends; but by replay only its computation takes long."""
    ranks = [tw.RankTrace(number, 8, now=tw.START_TICKS) for number in range(8)]
    for trace in ranks:
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
        for _ in range(5):
            trace.put(tw.SEND, "MPI_Send", (trace.rank + 4) % 8, 4_000, ticks=100_000)
        trace.now += 500_000
        for _ in range(5):
            trace.put(tw.RECEIVE, "MPI_Recv", (trace.rank + 4) % 8, 4_000, ticks=100_000)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=1_000)
        trace.end_ticks = trace.now
    found = advised(capsys, tw.write_run(tmp_path / "slack.cw", ranks), "--machine", "ring:8")
    placement = prediction(found, "placement")
    assert not placement["promising"]
    assert placement["gain"] == pytest.approx(1, abs=0.005)


def test_a_run_that_cannot_be_replayed_is_predicted_by_its_links(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message that nobody sent arrived. Three quarters of the run are messages: at most 4 times faster."""
    profile = far_neighbours(tmp_path / "far.cw", lost=True)
    placement = prediction(advised(capsys, profile, "--machine", "ring:8"), "placement")
    assert placement["promising"] and "rank order loads the busiest link of ring:8" in placement["reason"]
    assert 1.5 < placement["gain"] < 4.1


def test_nothing_is_advised_on_a_run_that_did_not_finish(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two ranks that wait for each other: no message, no collective, and no sign that all is well."""
    ranks = [tw.RankTrace(number, 2, state=tw.RUNNING, version=3) for number in range(2)]
    for trace in ranks:
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
        trace.enter(tw.RECEIVE, "MPI_Recv", 1 - trace.rank, 8)
    folder = tw.write_run(tmp_path / "deadlock.cw", ranks)
    assert execute(["advise", str(folder), "-m", "ring:8"]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert f"{folder}: nothing can be advised, the run did not finish: ranks 0-1 ended without" in found.err
    assert execute(["place", str(folder), "-m", "ring:8"]) == 2
    assert "nothing to place; the run did not finish: 2 of 2 ranks" in capsys.readouterr().err


def test_nothing_is_predicted_where_the_machine_has_one_distance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = advised(capsys, far_neighbours(tmp_path / "far.cw"), "--machine", "flat:8")
    assert not prediction(found, "placement")["promising"]
    assert "as good as any" in prediction(found, "placement")["reason"]


def test_collectives_promise_by_their_share_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_them = advised(capsys, far_neighbours(tmp_path / "with.cw", "MPI_Allreduce"), "-m", "ring:8")
    promised = prediction(with_them, "acceleration")
    assert promised["promising"] and promised["gain"] is None
    assert "collectives take 50.0 % of the run, most in MPI_Allreduce, 8 B a call" in promised["reason"]
    assert "no table has them on 8 ranks" in promised["reason"]
    without = advised(capsys, far_neighbours(tmp_path / "without.cw"), "-m", "ring:8")
    assert prediction(without, "acceleration") == {
        "gain": 1.0, "reason": "the program calls no collective", "promising": False,
    }  # fmt: skip


def test_the_terminal_tells_findings_levers_and_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["advise", str(far_neighbours(tmp_path / "far.cw")), "--machine", "ring:8"]) == 0
    out = capsys.readouterr().out
    places = [out.index(word) for word in ("findings", "parallel efficiency", "levers", "predicted only, ")]
    assert places == sorted(places)
    assert all(lever in out for lever in LEVERS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget", "5"], "--budget: found '5', allowed: a time with a unit: s, min, h"),
        (["--budget", "soon"], "--budget: found 'soon'"),
        (["-n", "2"], "--ranks: found '2' with the profile"),
        (["--mpi", "mpich"], "--mpi: found 'mpich' with the profile"),
        (["--machine", "no-such-machine"], "no-such-machine"),
    ],
)
def test_wrong_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    profile = far_neighbours(tmp_path / "far.cw")
    assert execute(["advise", str(profile), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and said in captured.err


def test_a_program_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["advise", "-n", "2", "--", "./no-such-program"]) == 2
    assert "no such program" in capsys.readouterr().err
    assert execute(["advise"]) == 2
    assert "no program to run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_said_in_the_commands_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["advise", "-n", "2"]) == 2
    assert "corewise advise -n 4 -- ./program" in capsys.readouterr().err
    assert execute(["advise", "nowhere.cw"]) == 2
    assert "nowhere.cw: no profile folder is there" in capsys.readouterr().err
    assert execute(["bench", "nosuch"]) == 2
    assert "no command 'nosuch' (see corewise bench --help)" in capsys.readouterr().err
    assert execute(["bench", "nodes"]) == 2
    assert "no command 'nodes': did you mean corewise bench node? (see " in capsys.readouterr().err


def test_noise_that_is_no_noise_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = far_neighbours(tmp_path / "far.cw")
    assert execute(["advise", str(profile), "--noise", "rate=x"]) == 2
    assert "--noise: found 'rate=x'" in capsys.readouterr().err
    found = advised(capsys, profile, "--noise", "rate=10,length=50us", "--machine", "ring:8")
    idle = prediction(found, "idle_core")
    assert idle["gain"] is None and idle["reason"] == "only this host's noise is known"
