"""Microtasks: ranks of a program that share the units of a simulated machine and take turns on them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import documents
import numpy as np
import pytest

from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.placement import load_placement
from corewise.data.profile import load_profile
from corewise.errors import InputError
from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program

HERE = Path(__file__).resolve().parent
STEPS = 20
REALTIME = slice(64, 72)
"""Of a rank file: when it began for people (docs/formats/trace.md)."""


def compiled(source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.sim"
    assert compile_program(["-O1", str(source), "-o", str(made)]) == 0
    return made


@pytest.fixture(scope="module")
def stencil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(HERE.parents[3] / "bench/simmpi/stencil.c", tmp_path_factory.mktemp("stencil"))


@pytest.fixture(scope="module")
def collectives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All collectives, checked."""
    return compiled(HERE / "collectives.c", tmp_path_factory.mktemp("collectives"))


def launched(
    program: Path, ranks: int, machine: str, settings: Mapping[str, float], *words: str, **options: object
) -> RankRun:
    """A run that ends well."""
    placement = options.pop("placement", "identity")
    chosen = RunOptions(settings=settings, **options)  # type: ignore[arg-type]
    run = run_program(program, words, ranks, machine, placement, chosen)  # type: ignore[arg-type]
    assert (run.exit_status, run.message) == (0, "")
    return run


# ---- results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", ["flow", "packet"])
def test_the_answer_does_not_depend_on_who_shares_a_unit(
    stencil: Path, capfd: pytest.CaptureFixture[str], granularity: str
) -> None:
    said = []
    for tasks in (1, 2, 4, 16):
        capfd.readouterr()
        run = launched(stencil, 16, "mesh:4x4", {"tasks_per_unit": tasks}, "10", granularity=granularity)
        said.append(capfd.readouterr().out)
        assert run.ranks["unit"].tolist() == [rank // tasks for rank in range(16)]
        assert (run.microtasks is None) == (tasks == 1)
        if run.microtasks is not None:
            # Neighbours share a unit, so every step changes the task, and more than once where more share it.
            assert run.microtasks["changes"].sum() >= STEPS * 16 // tasks
            assert run.microtasks["time_ns"].sum() <= run.time_ns * (16 // tasks)
    assert len(set(said)) == 1
    assert said[0].startswith("sum ")


@pytest.mark.parametrize("receiver_initiated", [0, 1])
def test_all_collectives_on_shared_units(collectives: Path, receiver_initiated: int) -> None:
    for ranks in (3, 8, 11, 16):
        settings = {"tasks_per_unit": 3, "receiver_initiated": receiver_initiated}
        launched(collectives, ranks, "flat:6", settings)
        launched(collectives, ranks, "ring:8", {**settings, "tasks_per_unit": 16}, granularity="packet")
    mixed = [rank * 5 % 16 // 2 * 17 for rank in range(16)]
    forwarding = {"tasks_per_unit": 2, "receiver_initiated": receiver_initiated, "forward_level": 2}
    launched(collectives, 16, "roadrunner", forwarding, placement=mixed)


@pytest.mark.parametrize(
    ("source", "kept", "settings"),
    [
        ("overlays.c", "overlays", {"overlay_bytes": 50000}),
        ("touches.c", "caches", {"cache_line_bytes": 128, "cache_sets": 32}),
    ],
)
def test_code_and_cached_data_stay_in_a_context(
    tmp_path: Path, source: str, kept: str, settings: Mapping[str, float]
) -> None:
    """Loads, hits and misses are those of ranks that have a unit each."""
    program = compiled(HERE / source, tmp_path)
    alone = launched(program, 2, "flat:2", settings)
    shared = launched(program, 2, "flat:2", {**settings, "tasks_per_unit": 2})
    assert shared.ranks["unit"].tolist() == [0, 0]
    assert getattr(shared, kept).tolist() == getattr(alone, kept).tolist()
    assert shared.time_ns > alone.time_ns


def test_without_a_shared_unit_nothing_changes(stencil: Path) -> None:
    """Times to the last bit; a unit that only one rank has needs no change."""
    alone = launched(stencil, 16, "mesh:4x4", {}, "10")
    spread = launched(stencil, 16, "mesh:4x4", {"tasks_per_unit": 2}, "10", placement=list(range(16)))
    assert spread.ranks.tolist() == alone.ranks.tolist()
    assert spread.microtasks is not None
    assert spread.microtasks.tolist() == [(0, 0.0, 0.0)] * 16


def test_the_same_run_gives_the_same_bytes(stencil: Path, tmp_path: Path) -> None:
    settings = {"tasks_per_unit": 4}
    runs = [launched(stencil, 16, "ring:4", settings, "10", profile=tmp_path / f"{name}.cw") for name in "ab"]
    assert runs[0].ranks.tolist() == runs[1].ranks.tolist()
    assert runs[0].events == runs[1].events
    for rank in range(16):
        first, second = (
            bytearray((tmp_path / f"{name}.cw" / f"rank-{rank:05d}.cwt").read_bytes()) for name in "ab"
        )
        first[REALTIME] = second[REALTIME]
        assert first == second


def test_a_recording_has_the_messages_and_the_times(stencil: Path, tmp_path: Path) -> None:
    run = launched(stencil, 8, "ring:4", {"tasks_per_unit": 2}, "10", profile=tmp_path / "shared.cw")
    profile = load_profile(tmp_path / "shared.cw")
    assert not profile.problems
    assert np.array_equal(profile.pattern().matrix(), run.pattern().matrix())
    assert profile.world.differences() == []
    # A rank that is loaded late begins late; its waits for turns are in its calls.
    for rank, recorded in enumerate(profile.world.ranks):
        assert recorded.wall_ns == pytest.approx(run.ranks["end_ns"][rank], rel=0.3)


# ---- what sharing gains and costs ------------------------------------------------------------------------


def test_tasks_hide_the_way_of_messages_where_contexts_are_small(stencil: Path) -> None:
    """Eight SPEs of eight nodes, 11.8 us from each other; cells for 24 us a step on each SPE."""
    units = [32 * node for node in range(8)]
    twice = [32 * (rank // 2) for rank in range(16)]
    one = launched(stencil, 8, "roadrunner", {}, "200", placement=units)
    context = {"tasks_per_unit": 2, "context_bytes": 2048}
    two = launched(stencil, 16, "roadrunner", context, "200", placement=twice)
    large = launched(stencil, 16, "roadrunner", {**context, "context_bytes": 262144}, "200", placement=twice)
    computed = STEPS * 24000
    assert one.time_ns > computed + STEPS * 11800
    assert two.time_ns < computed + STEPS * 5000
    assert large.time_ns > one.time_ns


# ---- the command -----------------------------------------------------------------------------------------


def test_the_command_says_how_often_tasks_changed(stencil: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["simrun", "-n", "16", "-m", "ring:8", "--set", "tasks_per_unit=2"]
    assert execute([*words, str(stencil)]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "microtasks: 16 on 8 units, " in said
    assert execute([*words, "--json", str(stencil)]) == 0
    document = documents.read(capfd.readouterr().out)
    assert not list(documents.validator("simrun").iter_errors(document))
    rows = [row["microtasks"] for row in document["rows"]]
    changes = sum(row["changes"] for row in rows)
    assert f"{changes} changes" in said
    change_ns = 2 * (300 + 262144 / 7)
    for row in rows:
        assert row["time_ns"] <= row["changes"] * change_ns + 1
        assert row["time_ns"] >= row["changes"] * change_ns / 2 - 1
    assert execute(["simrun", "-n", "2", "-m", "ring:8", "--json", str(stencil)]) == 0
    found = documents.read(capfd.readouterr().out)
    assert [row["microtasks"] for row in found["rows"]] == [None, None]


REFUSED = {
    "none": ("4", ["tasks_per_unit=0"], "'tasks_per_unit': found 0, allowed: 1 to 1024"),
    "less": ("4", ["tasks_per_unit=-2"], "'tasks_per_unit': found -2, allowed: 1 to 1024"),
    "a part": ("4", ["tasks_per_unit=1.5"], "'tasks_per_unit': found 1.5, allowed: a whole number"),
    "no number": ("4", ["tasks_per_unit=two"], "'--set tasks_per_unit': found two, allowed: a number"),
    "not a number": ("4", ["tasks_per_unit=nan"], "'tasks_per_unit': found nan, allowed: 1 to 1024"),
    "more ranks than units": ("5", [], "'ranks': found 5, allowed: 1 to 4, the units of 'ring:4'"),
    "too many ranks": (
        "9",
        ["tasks_per_unit=2"],
        "'ranks': found 9, allowed: 1 to 8, 2 on each of the 4 units of 'ring:4'",
    ),
    "more ranks than a run may have": (
        "4097",
        ["tasks_per_unit=1024"],
        "'ranks': found 4097, allowed: 1 to 4096, 1024 on each of the 4 units of 'ring:4'",
    ),
    "a larger context than a local store": (
        "4",
        ["tasks_per_unit=2", "context_bytes=300000"],
        "'context_bytes': found 300000, allowed: 0 to 262144",
    ),
    "collectives on local stores": (
        "4",
        ["tasks_per_unit=2", "collective_level=1"],
        "'collective_level': found 1, allowed: 0, where tasks_per_unit is not 1",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_input_is_refused(stencil: Path, capfd: pytest.CaptureFixture[str], what: str) -> None:
    ranks, settings, expected = REFUSED[what]
    chosen = [word for each in settings for word in ("--set", each)]
    assert execute(["simrun", "-n", ranks, "-m", "ring:4", *chosen, str(stencil)]) == 2
    assert expected in " ".join(capfd.readouterr().err.split())


def test_a_replay_is_refused(stencil: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    launched(stencil, 4, "ring:4", {}, profile=tmp_path / "four.cw")
    words = ["replay", str(tmp_path / "four.cw"), "-m", "ring:4", "--set", "tasks_per_unit=2"]
    assert execute(words) == 2
    assert "'tasks_per_unit': found 2, allowed: 1" in " ".join(capfd.readouterr().err.split())


# ---- placements ------------------------------------------------------------------------------------------


def placement_file(folder: Path, units: list[int]) -> Path:
    file = folder / "placement.json"
    names = [f'"{load_machine("cell-be").units[unit].name}"' for unit in units]
    file.write_text(
        '{"format": "corewise-placement", "version": 1, "machine": "cell-be", '
        f'"unit_of_rank": {units}, "units": [{", ".join(names)}]}}'
    )
    return file


def test_a_placement_says_who_shares(
    stencil: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    units = [0, 1, 0, 1, 0, 1]
    file = placement_file(tmp_path, units)
    words = ["simrun", "-n", "6", "-m", "cell-be", "-p", str(file), "--json"]
    assert execute([*words, "--set", "tasks_per_unit=3", str(stencil)]) == 0
    rows = documents.read(capfd.readouterr().out)["rows"]
    names = [each.name for each in load_machine("cell-be").units]
    assert [row["unit"] for row in rows] == [names[unit] for unit in units]
    for tasks, found in ((1, "unit_of_rank[2]"), (2, "unit_of_rank[4]")):
        assert execute([*words, "--set", f"tasks_per_unit={tasks}", str(stencil)]) == 2
        assert found in capfd.readouterr().err
    assert load_placement(file, ranks_per_unit=3).unit_of_rank == tuple(units)
    with pytest.raises(InputError, match="a unit that no other rank has"):
        load_placement(file)


def test_an_affinity_gives_its_units_to_as_many_ranks_each(stencil: Path) -> None:
    single = launched(stencil, 8, "cell-be", {}, placement="even_odd").ranks["unit"].tolist()
    shared = launched(stencil, 16, "cell-be", {"tasks_per_unit": 2}, placement="even_odd")
    assert shared.ranks["unit"].tolist() == [unit for unit in single for _ in range(2)]
