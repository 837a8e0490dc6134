"""Profiles of simulated ranks: what is in them is what was simulated, and what reads profiles reads them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corewise.analysis.profile.call_graph import CallTree, call_tree
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.profile import Profile, load_profile
from corewise.errors import InputError, RunError
from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program
from corewise.sim.replay import ReplayOptions, open_recording, replay

HERE = Path(__file__).resolve().parent
RANKS, STEPS = 4, 10
MACHINE = "mesh:4x1"
REALTIME = slice(64, 72)
"""Of a rank file: when it began for people (docs/formats/trace.md)."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that does everything that leaves a record, its functions instrumented."""
    target = tmp_path_factory.mktemp("recorded") / "recorded.sim"
    words = ["-O2", "-g", "-finstrument-functions", str(HERE / "recorded.c"), "-o", str(target)]
    assert compile_program(words) == 0
    return target


def launched(program: Path, folder: Path, depth: int = 0, **settings: float) -> RankRun:
    options = RunOptions(profile=folder, function_depth=depth, settings=settings)
    run = run_program(program, (), RANKS, MACHINE, options=options)
    assert run.exit_status == 0, run.message
    return run


@pytest.fixture(scope="module")
def run(program: Path) -> RankRun:
    """One run, recorded as run.cw beside its program."""
    return launched(program, program.parent / "run.cw")


@pytest.fixture(scope="module")
def profile(run: RankRun, program: Path) -> Profile:
    """What it recorded, with rank 0's calls."""
    return load_profile(program.parent / "run.cw", calls=0)


def test_times_of_a_simulation_are_exact_however_short_it_is(profile: Profile) -> None:
    (world,) = profile.worlds
    assert all(rank.wall_ns < 10e6 for rank in world.ranks)
    assert all(rank.clock_known and rank.clock_precise for rank in world.ranks)


def edges(tree: CallTree) -> dict[str, list[int]]:
    """Label -> counts of the nodes that have it."""
    found: dict[str, list[int]] = {}
    for node in tree.nodes:
        found.setdefault(node.label, []).append(node.count)
    return found


def test_messages_of_the_profile_are_those_of_the_run(run: RankRun, profile: Profile) -> None:
    assert not profile.problems
    simulated, recorded = run.pattern(), profile.pattern()
    assert np.array_equal(recorded.matrix(), simulated.matrix())
    assert np.array_equal(recorded.message_matrix(), simulated.message_matrix())
    assert simulated.matrix().sum() > 0
    assert profile.world.differences() == []  # what was received is what was sent


def test_the_call_graph_has_functions_with_their_messages(profile: Profile) -> None:
    tree = call_tree(profile)
    found = edges(tree)
    assert found["main"] == [1]
    assert found["collide"] == [STEPS]  # expanded inline, and recorded all the same
    assert found["communicate"] == [STEPS]
    assert found["MPI_Isend(0,1,88)"] == [STEPS]
    assert found["MPI_Irecv(3,0,88)"] == [STEPS]
    node = next(each for each in tree.nodes if each.label == "collide")
    assert node.source.startswith("recorded.c:")
    assert node.inclusive_ns == pytest.approx(STEPS * 700, abs=0.1)


def test_outermost_functions_alone(program: Path, tmp_path: Path) -> None:
    launched(program, tmp_path / "shallow.cw", depth=1)
    found = edges(call_tree(load_profile(tmp_path / "shallow.cw", calls=0)))
    assert found["main"] == [1]
    assert "communicate" not in found
    assert found["MPI_Isend(0,1,88)"] == [STEPS]


def test_recording_takes_no_time_unless_it_is_said(program: Path, run: RankRun, tmp_path: Path) -> None:
    plain = run_program(program, (), RANKS, MACHINE)
    assert plain.time_ns == run.time_ns
    assert not (tmp_path / "dear.cw").exists()
    dear = launched(program, tmp_path / "dear.cw", record_ns=300)
    # Each step has entry and exit of two functions and three calls of MPI.
    assert dear.time_ns > run.time_ns + STEPS * 7 * 300


def test_a_replay_on_the_same_machine_takes_the_simulated_time(program: Path, run: RankRun) -> None:
    recording = open_recording(program.parent / "run.cw")
    again = replay(recording, load_machine(MACHINE), list(range(RANKS)), ReplayOptions(settings=run.settings))
    assert again.time_ns == pytest.approx(run.time_ns, rel=0.05)
    assert recording.recorded_ns == pytest.approx(run.time_ns, rel=1e-3)


def test_the_same_run_leaves_the_same_bytes(program: Path, run: RankRun, tmp_path: Path) -> None:
    launched(program, tmp_path / "again.cw")
    first = sorted((program.parent / "run.cw").glob("*.cwt"))
    second = sorted((tmp_path / "again.cw").glob("*.cwt"))
    assert [each.name for each in first] == [each.name for each in second]
    assert len(first) == RANKS
    for one, other in zip(first, second, strict=True):
        left, right = bytearray(one.read_bytes()), bytearray(other.read_bytes())
        left[REALTIME] = right[REALTIME] = bytes(8)
        assert left == right


def test_a_deadlock_leaves_a_profile_and_a_crash_leaves_none(tmp_path: Path) -> None:
    source = tmp_path / "stuck.c"
    source.write_text(
        "#include <mpi.h>\n#include <signal.h>\nint main(int c, char** v) { int rank, x = 0;\n"
        "MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank); if (c > 1) raise(SIGSEGV);\n"
        "MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); return 0; }\n"
    )
    assert compile_program([str(source), "-o", str(tmp_path / "stuck.sim")]) == 0
    run = run_program(tmp_path / "stuck.sim", (), 2, "ring:2", options=RunOptions(profile=tmp_path / "s.cw"))
    assert not run.ok
    profile = load_profile(tmp_path / "s.cw")
    assert profile.meta.exit_status == 1
    assert len(profile.world.ranks) == 2
    with pytest.raises(RunError, match="SIGSEGV"):
        run_program(
            tmp_path / "stuck.sim", ("x",), 2, "ring:2", options=RunOptions(profile=tmp_path / "c.cw")
        )
    assert not (tmp_path / "c.cw").exists()


def test_command_line(program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shown.cw"
    command = ["simrun", "-n", str(RANKS), "-m", MACHINE, "-o", str(folder), "--function-depth", "2"]
    deeper = ["simrun", "-n", str(RANKS), "-m", MACHINE, "--function-depth", "64"]
    assert execute([*command, str(program)]) == 0
    assert f"written to {folder}" in capfd.readouterr().out.replace("\n", "")
    assert json.loads((folder / "meta.json").read_text())["program"] == ["recorded.sim"]
    assert execute(["call-graph", str(folder), "--rank", "0"]) == 0
    said = capfd.readouterr().out
    assert "10\u00d7 communicate" in said
    assert "MPI_Isend(0,1,88)" in said
    assert execute([*command, str(program)]) == 2
    assert "a folder that is not empty" in capfd.readouterr().err
    assert execute([*deeper, str(program)]) == 2
    assert "--function-depth" in capfd.readouterr().err


def test_a_profile_needs_a_new_folder(program: Path, tmp_path: Path) -> None:
    (tmp_path / "there.cw").write_text("")
    with pytest.raises(InputError, match="a file"):
        launched(program, tmp_path / "there.cw")


def test_explore_replays_a_simulated_program_on_other_machines(
    program: Path, run: RankRun, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = program.parent / "run.cw"
    capfd.readouterr()
    command = ["explore", str(folder), "-m", "ring:4", "--model", "replay", "--all", "--json"]
    assert execute(command) == 0
    found = json.loads(capfd.readouterr().out)
    times = {tuple(row["unit_of_rank"]): row["time_ns"] for row in found["rows"]}
    assert len(times) == 24  # all of four ranks
    straight = replay(open_recording(folder), load_machine("ring:4"), list(range(RANKS)), ReplayOptions())
    assert times[tuple(range(RANKS))] == pytest.approx(straight.time_ns, rel=1e-9)
    assert max(times.values()) > min(
        times.values()
    )  # its ring of ranks takes longer where neighbours are apart
