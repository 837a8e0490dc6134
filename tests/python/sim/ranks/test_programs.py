"""Programs of apps/ on simulated ranks: molecular dynamics, and the sweep whose roots send for their groups.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program

APPS = Path(__file__).resolve().parents[4] / "apps"


def built(name: str, folder: Path, apps: Path = APPS) -> Path:
    """The program, compiled for simulated ranks."""
    sources = [str(each) for each in sorted((apps / name).glob("*.cpp"))]
    program = folder / f"{name}.sim"
    assert compile_program(["-O1", "-std=c++20", *sources, "-o", str(program)]) == 0
    return program


@pytest.fixture(scope="module")
def md(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Molecular dynamics."""
    return built("md", tmp_path_factory.mktemp("md"))


def launched(
    program: Path, ranks: int, capfd: pytest.CaptureFixture[str], *words: str, machine: str = ""
) -> tuple[RankRun, str]:
    """A run and what it said."""
    capfd.readouterr()
    run = run_program(program, words, ranks, machine or f"flat:{ranks}")
    captured = capfd.readouterr()
    return run, captured.out + captured.err


def peers(run: RankRun) -> dict[int, dict[int, int]]:
    """Rank -> peer -> messages that the program sent it."""
    found: dict[int, dict[int, int]] = {}
    for row in run.traffic:
        if row["messages"]:
            found.setdefault(int(row["sender"]), {})[int(row["receiver"])] = int(row["messages"])
    return found


# ---- molecular dynamics ----------------------------------------------------------------------------------


def test_md_follows_all_pairs_on_any_number_of_ranks(md: Path, capfd: pytest.CaptureFixture[str]) -> None:
    energies = []
    for ranks, dims in ((1, "1x1x1"), (2, "1x1x2"), (3, "3x1x1"), (6, "1x3x2"), (8, "2x2x2"), (18, "3x3x2")):
        words = ("--cells", "5x5x4", "--dims", dims, "--steps", "40", "--check")
        run, said = launched(md, ranks, capfd, *words)
        assert run.exit_status == 0, said
        assert "passed" in said and "step 40 of 40" in said
        energies.append(float(re.findall(r" energy=(\S+)", said)[0]))
    assert energies == pytest.approx([energies[0]] * len(energies), rel=1e-12)


def test_md_sends_to_six_neighbours_with_x_fastest(md: Path, capfd: pytest.CaptureFixture[str]) -> None:
    steps = 5
    run, said = launched(md, 36, capfd, "--cells", "6x5x5", "--dims", "4x3x3", "--steps", str(steps))
    assert run.exit_status == 0, said
    each = 2 * steps + 1  # atoms and ghosts of every step, ghosts of the start
    for rank, sent in peers(run).items():
        x, y, z = rank % 4, rank // 4 % 3, rank // 12
        around = {
            *(((x + way) % 4) + 4 * y + 12 * z for way in (-1, 1)),
            *(x + 4 * ((y + way) % 3) + 12 * z for way in (-1, 1)),
            *(x + 4 * y + 12 * ((z + way) % 3) for way in (-1, 1)),
        }
        assert sent == dict.fromkeys(around, each)


def test_md_with_one_rank_along_an_axis_sends_nothing_along_it(
    md: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run, said = launched(md, 2, capfd, "--cells", "4x3x3", "--dims", "2x1x1", "--steps", "3")
    assert run.exit_status == 0, said
    assert peers(run) == {0: {1: 14}, 1: {0: 14}}  # both neighbours are the same rank


def test_md_refuses_what_does_not_fit(md: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases = {
        ("--dims", "2x2x1"): "--dims: found 2x2x1; allowed: three numbers whose product is 8",
        (
            "--cells",
            "3x3x3",
            "--dims",
            "8x1x1",
        ): "--cells: found 3x3x3 for 8x1x1 ranks; allowed: an edge of 2.5",
        ("--cells", "2x3x3"): "--cells: found '2x3x3'; allowed: lattice cells of four atoms, each 3 to 512",
        ("--steps", "201", "--check"): "--steps: found 201; allowed: 1 to 200 with --check",
        ("--step", "nan"): "--step: found 'nan'; allowed: length of a step in reduced units",
    }
    for words, message in cases.items():
        run, said = launched(md, 8, capfd, *words)
        assert run.exit_status == 2
        assert message in said


# ---- the modified sweep ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sweep3D."""
    return built("sweep3d", tmp_path_factory.mktemp("sweep3d"))


def flux(output: str) -> str:
    """The result, with all its digits."""
    assert "different_cells=0" in output
    found: str = re.findall(r"flux_sum=(\S+)", output)[0]
    return found


@pytest.mark.parametrize(
    ("ranks", "groups"), [(1, (8,)), (6, (1, 2, 4)), (8, (2, 8)), (16, (2, 4, 8)), (32, (2, 8))]
)
def test_the_modified_sweep_gives_the_same_bits(
    ranks: int, groups: tuple[int, ...], sweep: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("--size", "9x8x10", "--iterations", "2", "--planes", "3", "--check")
    run, said = launched(sweep, ranks, capfd, *words)
    assert run.exit_status == 0
    expected = flux(said)
    for group in groups:
        run, said = launched(sweep, ranks, capfd, *words, "--modified", "--group", str(group))
        assert run.exit_status == 0, said
        assert flux(said) == expected


def test_only_roots_send_to_other_groups(sweep: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """16 ranks in 4x4, groups of 2: roots 0, 2, 4, ... ; in the original everybody sends 4 or 1 ranks on."""
    words = ("--size", "8x8x8", "--iterations", "1", "--planes", "2", "--directions", "6")
    original = peers(launched(sweep, 16, capfd, *words)[0])
    run = launched(sweep, 16, capfd, *words, "--modified", "--group", "2")[0]
    modified = peers(run)
    assert all(abs(to - rank) in (1, 4) for rank, sent in original.items() for to in sent)
    outside = {(rank, to) for rank, sent in modified.items() for to in sent if rank // 2 != to // 2}
    assert outside == {
        (2 * a, 2 * b)
        for a in range(8)
        for b in range(8)
        if abs(a - b) == 2 or {a, b} in ({0, 1}, {2, 3}, {4, 5}, {6, 7})
    }
    # Both members' faces along x cross in one message: 4 blocks of each of 4 octants.
    assert modified[0][4] == 16 and original[0][4] == original[1][5] == 16
    sizes = {(int(row["sender"]), int(row["receiver"])): int(row["bytes"]) for row in run.traffic}
    assert (
        sizes[0, 4] == 2 * 16 * 2 * 2 * 6 * 8
    )  # two members, 16 messages, 2 columns, 2 planes, 6 directions


def test_groups_that_are_no_rectangles_are_refused(sweep: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for group, allowed in (
        ("3", "a divisor or a multiple of 4, the ranks in y"),
        ("0", "ranks of a group, 1 to"),
    ):
        run, said = launched(sweep, 16, capfd, "--modified", "--group", group)
        assert run.exit_status == 2
        assert "--group: found" in said and allowed in said


# ---- the matrices of paper 003, on its 256 SPEs ----------------------------------------------------------


def test_figures_6_and_7(sweep: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--size", "16x16x4", "--iterations", "1", "--planes", "2", "--directions", "6")
    run, said = launched(sweep, 256, capfd, *words, machine="roadrunner")
    original = peers(run)
    assert {to - rank for rank, sent in original.items() for to in sent} == {-16, -1, 1, 16}
    run, changed = launched(sweep, 256, capfd, *words, "--modified", machine="roadrunner")
    outside = {(rank, to) for rank, sent in peers(run).items() for to in sent if rank // 8 != to // 8}
    assert {(to - rank, rank % 8) for rank, to in outside} == {(-16, 0), (-8, 0), (8, 0), (16, 0)}
    assert re.findall(r"flux_sum=(\S+)", changed) == re.findall(r"flux_sum=(\S+)", said) != []


def test_figure_8(md: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--cells", "12x12x6", "--dims", "8x8x4", "--steps", "1")
    run, said = launched(md, 256, capfd, *words, machine="roadrunner")
    assert run.exit_status == 0, said
    for rank, sent in peers(run).items():
        column, plane = rank % 64, rank // 64 * 64
        row = column // 8 * 8
        assert set(sent) == {
            *(plane + row + (rank + way) % 8 for way in (-1, 1)),
            *(plane + (column + way) % 64 for way in (-8, 8)),
            *((rank + way) % 256 for way in (-64, 64)),
        }


# ---- the levels of a cluster of Cells --------------------------------------------------------------------

TABLE_2 = {
    "roadrunner": {1: (0.272, 22994.2), 8: (0.825, 4281.3), 16: (3.116, 830.7), 32: (11.771, 161.2)},
    "ps3-cluster": {1: (0.272, 22994.2), 6: (60.0, 125.0)},
}
"""Machine -> peer of rank 0 -> microseconds and MB/s: of paper 003, but for what a file says it assumes."""
FORWARD_LEVEL = {"roadrunner": 2, "ps3-cluster": 1}
"""The level between whose parts PPEs forward: blades, consoles."""


@pytest.fixture(scope="module")
def pingpong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that measures pairs of ranks."""
    return built("pingpong", tmp_path_factory.mktemp("pingpong"))


@pytest.mark.parametrize("granularity", ["flow", "packet"])
@pytest.mark.parametrize("machine", sorted(TABLE_2))
def test_clusters_keep_table_2(
    machine: str, granularity: str, pingpong: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = TABLE_2[machine]
    pairs = ",".join(f"0-{peer}" for peer in expected)
    words = ("--pairs", pairs, "--bytes", "0,65536,131072", "--rounds", "20")
    capfd.readouterr()
    run = run_program(
        pingpong, words, max(expected) + 1, machine, options=RunOptions(granularity=granularity)
    )
    said = capfd.readouterr().out
    assert run.exit_status == 0
    found = {
        (int(peer), int(size)): float(time)
        for peer, size, time in re.findall(r"pair=0-(\d+) bytes=(\d+) half_trip_us=(\S+)", said)
    }
    for peer, (latency_us, mb_per_s) in expected.items():
        assert found[peer, 0] == pytest.approx(latency_us, rel=0.01)
        assert 65536 / (found[peer, 131072] - found[peer, 65536]) == pytest.approx(mb_per_s, rel=0.01)


@pytest.mark.parametrize("granularity", ["flow", "packet"])
@pytest.mark.parametrize("machine", sorted(TABLE_2))
def test_a_pair_alone_does_not_notice_its_ppes(
    machine: str, granularity: str, pingpong: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    level = FORWARD_LEVEL[machine]
    words = ("--bytes", "0,4096,65536", "--rounds", "5")
    for peer in TABLE_2[machine]:
        said = []
        for each in (0, level):
            capfd.readouterr()
            options = RunOptions(granularity=granularity, settings={"forward_level": each})
            run = run_program(pingpong, words, 2, machine, [0, peer], options)
            said.append([*map(float, re.findall(r"half_trip_us=(\S+)", capfd.readouterr().out))])
        assert len(said[0]) == 3
        assert said[1] == pytest.approx(said[0], rel=1e-3)  # the last trip meets the collective behind it
        assert run.ppes is not None
        assert (run.ppes["left"].sum() > 0) == (peer not in (1, 8))


def test_pingpong_refuses_what_does_not_fit(pingpong: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases = {
        ("--pairs", "0-4"): "--pairs: found 0-4; allowed: ranks 0 to 3",
        ("--pairs", "1-1"): "--pairs: found '1-1'; allowed: pairs of different ranks",
        ("--bytes", "-1"): "--bytes: found '-1'; allowed: message sizes, 0 to",
    }
    for words, message in cases.items():
        run, said = launched(pingpong, 4, capfd, *words)
        assert run.exit_status == 2
        assert message in said


# ---- the checks ------------------------------------------------------------------------------------------


@pytest.mark.long_test
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("exchange.cpp", "low_[axis] + kCutoff", "low_[axis] + 0.8 * kCutoff"),  # too few ghosts
        ("simulation.cpp", "push(atom, step_ / 2);\n  computing", "push(atom, step_);\n  computing"),
    ],
)
def test_md_check_finds_a_mistake(
    file: str, right: str, wrong: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(APPS, tmp_path / "apps")
    source = tmp_path / "apps" / "md" / file
    text = source.read_text()
    assert text.count(right) == 1
    source.write_text(text.replace(right, wrong))
    program = built("md", tmp_path, tmp_path / "apps")
    run, said = launched(program, 8, capfd, "--cells", "4x4x4", "--steps", "20", "--check")
    assert run.exit_status == 1 and "failed" in said
