"""`corewise place --objective replay`: the replay of a recorded run is the cost of a placement."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
import trace_writer as tw
from trace_writer import RankTrace

from corewise._core import Machine
from corewise.analysis.placement.comparison import Settings, study_placements
from corewise.analysis.placement.search import Costs
from corewise.analysis.placement.starts import named_starts
from corewise.cli.main import execute
from corewise.data.patterns import pattern_of
from corewise.errors import InputError, RunError
from corewise.sim.replay import open_recording, replay
from corewise.trials import replaying
from corewise.trials.replaying import Replays, ReplayTimes, placements_by_replay
from corewise.trials.timing import Candidate

LONG = 200_000
ROUNDS = 30


def chatting_hub(folder: Path) -> Path:
    """Rank 0 sends much to ranks 1 and 2, which have time for it, and little to and fro with rank 3."""
    traces = [RankTrace(rank, 4) for rank in range(4)]
    for trace in traces:
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
    hub, first, second, chatty = traces
    hub.put(tw.SEND, "MPI_Isend", 1, LONG, ticks=10)
    hub.put(tw.SEND, "MPI_Isend", 2, LONG, ticks=10)
    for _ in range(ROUNDS):
        hub.put(tw.SEND, "MPI_Send", 3, 8, ticks=10)
        hub.put(tw.RECEIVE, "MPI_Recv", 3, 8, ticks=10)
        chatty.put(tw.RECEIVE, "MPI_Recv", 0, 8, ticks=10)
        chatty.put(tw.SEND, "MPI_Send", 0, 8, ticks=10)
    hub.put(tw.PLAIN, "MPI_Waitall", ticks=10)
    for late in (first, second):
        late.put(tw.RECEIVE, "MPI_Recv", 0, LONG, ticks=10)
    for trace in traces:
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=1_000)
    return tw.write_run(folder, traces)


def rows_of(capsys: pytest.CaptureFixture[str], words: list[str]) -> dict[str, dict[str, object]]:
    assert execute([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["objective"], document["unit"]) == ("replay", "ns")
    assert document["collective_bytes"] == 0
    return {row["placement"]: row for row in document["rows"]}


def test_the_best_of_all_placements_is_proven_by_replaying_every_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = chatting_hub(tmp_path / "hub.cw")
    machine = Machine.from_synthetic("mesh:4x1")
    recording = open_recording(folder)
    every = {units: replay(recording, machine, units).time_ns for units in permutations(range(4))}
    rows = rows_of(capsys, ["place", str(folder), "-m", "mesh:4x1", "--objective", "replay", "--named"])
    assert rows["best"]["cost"] == min(every.values()) < max(every.values())
    assert rows["worst"]["cost"] == max(every.values())
    for row in rows.values():
        assert row["cost"] == every[tuple(row["unit_of_rank"])]  # type: ignore[arg-type]


def test_who_waits_decides_and_not_the_load_of_links(tmp_path: Path) -> None:
    """By loads the long messages get the hub's two links; by replay rank 3, that is waited for, is near."""
    machine = Machine.from_synthetic("mesh:4x1")
    replays = Replays(open_recording(chatting_hub(tmp_path / "hub.cw")), machine, "hub")
    pattern = replays.pattern()
    by_loads = study_placements(pattern, machine).best.unit_of_rank
    found = study_placements(pattern, machine, "replay", settings=replays.settings(Settings()))
    assert found.proven_optimal
    assert found == study_placements(pattern, machine, "replay", settings=replays.settings(Settings()))
    assert found.best.cost <= replays(by_loads)
    assert abs(found.best.unit_of_rank[0] - found.best.unit_of_rank[3]) == 1
    assert found.row("identity").cost == replays.in_order.time_ns > found.best.cost


@pytest.mark.parametrize("machine_text", ["mesh:6x4", "mesh:10x8"])
def test_no_placement_with_a_name_is_quicker(tmp_path: Path, machine_text: str) -> None:
    """Also where there are too many ranks to move them one by one, or too many units for a proof."""
    size = 20 if machine_text == "mesh:6x4" else 8
    folder = tw.ring_run(tmp_path / "ring.cw", size=size, message=20_000)
    machine = Machine.from_synthetic(machine_text)
    replays = Replays(open_recording(folder), machine, "ring")
    pattern = replays.pattern()
    settings = replays.settings(Settings(evaluations=25))
    found = study_placements(pattern, machine, "replay", settings=settings, named=True)
    named = named_starts(machine, [pattern])
    assert "greedy" in named
    assert found.best.cost == replays(found.best.unit_of_rank) <= min(map(replays, named.values()))


def test_a_clock_that_has_struck_still_replays_what_has_a_name(tmp_path: Path) -> None:
    machine = Machine.from_synthetic("mesh:10x8")
    folder = tw.ring_run(tmp_path / "ring.cw", size=6, message=20_000)
    replays = Replays(open_recording(folder), machine, "ring")
    settings = replays.settings(Settings(should_stop=lambda: True))
    found = study_placements(replays.pattern(), machine, "replay", settings=settings)
    starts = named_starts(machine, [replays.pattern()])
    assert found.best.cost <= min(map(replays, starts.values()))


def test_long_runs_are_replayed_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine.from_synthetic("mesh:4x1")
    replays = Replays(open_recording(chatting_hub(tmp_path / "hub.cw")), machine, "hub")
    assert replays.settings(Settings()).evaluations == 500
    monkeypatch.setattr(replaying, "MOST_EVENTS", 30 * replays.in_order.events)
    assert replays.settings(Settings()).evaluations == 30
    monkeypatch.setattr(replaying, "MOST_EVENTS", replays.in_order.events)
    assert replays.settings(Settings()).evaluations == replaying.LEAST_REPLAYS
    assert replays.settings(Settings(evaluations=7)).evaluations == 7


def test_limits_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = chatting_hub(tmp_path / "hub.cw")
    words = ["place", str(folder), "-m", "mesh:3x2", "--objective", "replay", "--fix", "1=core5"]
    rows = rows_of(capsys, [*words, "--keep-free", "core0"])
    best = rows["best"]["unit_of_rank"]
    assert isinstance(best, list)
    assert best[1] == 5 and 0 not in best
    assert rows["best"]["cost"] <= rows["identity"]["cost"]  # type: ignore[operator]


def test_it_is_explained_and_shown_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = chatting_hub(tmp_path / "hub.cw"), tmp_path / "page.html"
    words = [
        "place",
        str(folder),
        "-m",
        "mesh:4x1",
        "--objective",
        "replay",
        "--explain",
        "--html",
        str(page),
    ]
    assert execute(words) == 0
    shown = capsys.readouterr().out
    assert "replayed ns" in shown and "why the best placement costs" in shown
    assert "hub.cw" in page.read_text()


def test_replay_and_place_find_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = chatting_hub(tmp_path / "hub.cw")
    rows = rows_of(capsys, ["place", str(folder), "-m", "mesh:4x1", "--objective", "replay"])
    tried = placements_by_replay(open_recording(folder), Machine.from_synthetic("mesh:4x1"), "hub")
    assert tried[0].run.time_ns == rows["best"]["cost"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ring.json"], "found no profile with --objective replay, allowed: a NAME.cw"),
        (["hub.cw", "hub.cw"], "--objective replay: found 2 sources, allowed: one profile"),
        (["hub.cw", "--together"], "--objective replay: found --together, allowed: one profile"),
        (
            ["hub.cw", "--verify"],
            "--verify: found with --objective replay on a machine that is not this host",
        ),
        (
            ["hub.cw", "--certificate", "c.json"],
            "certificate: found with objective replay, allowed: objective",
        ),
        (["hub.cw", "--method", "branch-and-bound"], "'branch-and-bound' with objective replay"),
        (["silent.cw"], "no messages between ranks: nothing to place"),
        (["missing.cw"], "missing.cw"),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    chatting_hub(tmp_path / "hub.cw")
    silent = [RankTrace(rank, 2) for rank in range(2)]
    for trace in silent:
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=1_000)
    tw.write_run(tmp_path / "silent.cw", silent)
    assert execute(["patterns", "make", "ring", "ranks=4", "-o", "ring.json"]) == 0
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert execute(["place", *words, "-m", "mesh:4x1", "--objective", "replay"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_that_cannot_end_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lonely = [RankTrace(rank, 2) for rank in range(2)]
    for trace in lonely:
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
    lonely[0].put(tw.RECEIVE, "MPI_Recv", 1, 8, ticks=10)
    folder = tw.write_run(tmp_path / "lonely.cw", lonely)
    assert execute(["place", str(folder), "-m", "mesh:4x1", "--objective", "replay"]) == 1
    assert "deadlock" in capsys.readouterr().err


def test_what_a_cost_raises_ends_the_search() -> None:
    machine = Machine.from_synthetic("mesh:4x1")
    pattern = pattern_of("ring", ["ranks=4"])

    def cost(units: object) -> float:
        raise RunError("no more")

    costs = Costs(machine, [pattern], [1.0], Settings("replay", replay=cost))
    with pytest.raises(RunError, match="no more"):
        costs.searcher.search(pattern, objective="replay", cost=cost)
    with pytest.raises(InputError, match="cost"):
        costs.searcher.search(pattern, objective="flow", cost=cost)
    with pytest.raises(InputError, match="cost"):
        costs.searcher.search(pattern, objective="replay")
    with pytest.raises(InputError, match="without a recorded run"):
        study_placements(pattern, machine, "replay")


# --- explore ----------------------------------------------------------------------------------------------


def test_explore_replays_every_placement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = chatting_hub(tmp_path / "hub.cw")
    assert execute(["explore", str(folder), "-m", "mesh:4x1", "--model", "replay", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    replays = Replays(open_recording(folder), Machine.from_synthetic("mesh:4x1"), "hub")
    assert document["source"] == "replay" and len(document["rows"]) == 24
    for row in document["rows"]:
        assert row["runs_ns"] == [replays(row["unit_of_rank"])]


def test_an_unpinned_replay_is_the_mean_of_its_parts(tmp_path: Path) -> None:
    machine = Machine.from_synthetic("mesh:5x1")
    replays = Replays(open_recording(chatting_hub(tmp_path / "hub.cw")), machine, "hub")
    nobody, placed = Candidate("unpinned", pinned=False), Candidate("placed", ((4, 3, 2, 1),))
    backend = ReplayTimes(replays, seed=3)
    first, second = backend.time_ns([nobody, placed], 0, lambda share: None)
    assert second == replays((4, 3, 2, 1))
    every = [replays(units) for units in permutations(range(5), 4)]
    assert min(every) <= first <= max(every)
    assert backend.time_ns([nobody], 0, lambda share: None)[0] == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ring", "ranks=4"], "ring ranks=4: found with --model replay, allowed: one profile"),
        (["hub.cw", "--also", "ring"], "--also 'ring': found with --model replay"),
        (["hub.cw", "--jitter", "2"], "'--jitter': found with --model replay"),
        (["hub.cw", "--runs", "9"], "--runs 9: found with --model replay, allowed: 1"),
        (["hub.cw", "-n", "4"], "found with --model replay"),
        (["hub.cw", "--executor", "processes"], "--executor processes: found with --model replay"),
    ],
)
def test_explore_refuses_what_is_no_replay(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    chatting_hub(tmp_path / "hub.cw")
    assert execute(["explore", *words, "-m", "mesh:4x1", "--model", "replay"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
