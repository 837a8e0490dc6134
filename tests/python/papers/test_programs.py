"""Paper 003's programs on a cluster: levels, rows and figures from made-up matrices; the real runs take long.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from installed_tool import corewise
from numpy.typing import NDArray

from corewise.analysis.profile.call_graph import call_tree
from corewise.data.machines import load_machine, machine_text
from corewise.data.profile import load_profile
from corewise.papers.programs.calls import CallLine, call_lines, messages_of, within
from corewise.papers.programs.cluster import cluster_document, header_bytes
from corewise.papers.programs.data import CLUSTER, LEVELS, QUICK, Placed, Sent, Study, levels_of
from corewise.papers.programs.rows import rows_of
from corewise.papers.programs.study import PAPER, run_study
from corewise.plots.figures import write_figures
from corewise.sim.ranks import RunOptions, compile_program, run_program

pytestmark = pytest.mark.first_test

SPES = 256


def sent(pairs: Iterable[tuple[int, int, int, int]], time_us: float) -> Sent:
    """From (sender, receiver, messages, bytes)."""
    messages, volume = np.zeros((SPES, SPES), np.int64), np.zeros((SPES, SPES), np.int64)
    for sender, receiver, count, size in pairs:
        messages[sender, receiver] += count
        volume[sender, receiver] += size
    return Sent(messages, volume, time_us)


def grid(messages: int) -> list[tuple[int, int, int, int]]:
    """Sweep3D on 16x16."""
    found = []
    for rank in range(SPES):
        around = [(rank - 1, rank % 16 > 0), (rank + 1, rank % 16 < 15), (rank - 16, True), (rank + 16, True)]
        found += [(rank, to, messages, 100) for to, inside in around if inside and 0 <= to < SPES]
    return found


def by_roots(messages: int) -> list[tuple[int, int, int, int]]:
    """The same, with one root per Cell."""
    inner = [each for each in grid(messages) if each[0] // 8 == each[1] // 8]
    pieces = [(rank, rank // 8 * 8, messages, 100) for rank in range(SPES) if rank % 8]
    roots = [
        (cell * 8, other * 8, messages, 800)
        for cell in range(32)
        for other in range(32)
        if abs(cell - other) == 2 or (cell // 2 == other // 2 and cell != other)
    ]
    return inner + pieces + roots


def torus(size: int) -> list[tuple[int, int, int, int]]:
    """Six neighbours on 8x8x4, x fastest."""
    found = []
    for rank in range(SPES):
        x, y, z = rank % 8, rank // 8 % 8, rank // 64
        for way in (-1, 1):
            for to in (
                (x + way) % 8 + 8 * y + 64 * z,
                x + 8 * ((y + way) % 8) + 64 * z,
                x + 8 * y + 64 * ((z + way) % 4),
            ):
                found.append((rank, to, 1, size))
    return found


def edges() -> list[tuple[int, int, int, int]]:
    """Small messages to SPEs diagonally before in x and y."""
    return [(r, (r % 8 + 1) % 8 + 8 * ((r // 8 + 1) % 8) + r // 64 * 64, 1, 64) for r in range(SPES)]


def calls(flow: Sent) -> tuple[CallLine, ...]:
    """10 iterations of SPE 0 below main, beside something else."""
    found = [
        CallLine(0, "main", "a.cpp:1", 1, 9.0),
        CallLine(1, "run", "a.cpp:2", 1, 8.0),
        CallLine(2, "totals", "a.cpp:3", 2, 1.0),
        CallLine(2, "lbm::Flow::step", "a.cpp:4", 10, 7.0),
        CallLine(3, "lbm::Halo::start", "a.cpp:5", 10, 1.0),
    ]
    found.append(CallLine(4, "MPI_Isend", "", 10 * int((flow.messages[0] > 0).sum()), 1.0))
    for peer in np.nonzero(flow.messages[0])[0].tolist():
        found.append(CallLine(5, f"MPI_Isend(0,{peer},132)", "", 10, 1.0))
    found.append(CallLine(3, "lbm::Flow::advance", "b.cpp:2", 70, 1.0))
    found.append(CallLine(3, "lbm::Halo::finish", "a.cpp:9", 10, 1.0))
    return tuple(found)


@pytest.fixture(scope="module")
def levels() -> NDArray[np.int64]:
    return levels_of(load_machine(CLUSTER))


@pytest.fixture
def made_up(levels: NDArray[np.int64]) -> Study:
    sweep, modified = sent(grid(10), 100.0), sent(by_roots(10), 80.0)
    dynamics, flow = sent(torus(1000), 60.0), sent([*torus(2560), *edges()], 90.0)
    placed = {
        name: Placed(2.0, before, replace(before, time_us=before.time_us / gain), (1.0, 0.0, 0.0, 0.0), "")
        for name, before, gain in (
            ("Sweep3D", sweep, 1.1),
            ("modified Sweep3D", modified, 1.0),
            ("molecular dynamics", dynamics, 1.5),
            ("lattice Boltzmann", flow, 2.0),
        )
    }
    table2 = tuple((level.latency_us, level.mb_per_s) for level in LEVELS)
    gains = ((0.0, 100.0, 80.0), (0.5, 300.0, 200.0))
    return Study(QUICK, table2, levels, sweep, modified, dynamics, flow, gains, placed, calls(flow))


def failing(study: Study) -> set[str]:
    """Ids of the statements that do not hold."""
    rows = list(rows_of(study))
    assert len({row.id for row in rows}) == len(rows)
    return {row.id for row in rows if row.holds is False}


def test_levels_of_the_cluster_by_hand(levels: NDArray[np.int64]) -> None:
    assert [int(levels[0, peer]) for peer in (0, 7, 8, 15, 16, 31, 32, 255)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [int((levels[100] == number).sum()) for number in range(4)] == [8, 8, 16, 224]
    assert [int(levels[0, level.peer]) for level in LEVELS] == [0, 1, 2, 3]


def test_a_busy_forwarder_changes_no_latency() -> None:
    shipped = json.loads(machine_text(CLUSTER).text)["interconnect"]["level"]
    plain = cluster_document(header_bytes(0.0))["interconnect"]["level"]  # type: ignore[index]
    for ours, theirs in zip(plain, shipped, strict=True):
        assert {key: ours[key] for key in ours if key != "hop_latency"} == {
            key: theirs[key] for key in theirs if key != "hop_latency"
        }
        assert hop_ns(ours) == pytest.approx(hop_ns(theirs), rel=2e-3)
    for share in (0.0, 0.3, 0.6):
        header = header_bytes(share)
        tree = cluster_document(header)["interconnect"]["level"]  # type: ignore[index]
        hops = [hop_ns(each) for each in reversed(tree)]
        assert min(hops) > 0
        for number, level in enumerate(LEVELS):
            latency_ns = 200 + 2 * sum(hops[: number + 1]) + header / level.mb_per_s * 1e3
            assert latency_ns == pytest.approx(level.latency_us * 1e3, abs=0.01)
    assert header_bytes(0.5) / 161.2 == pytest.approx(11.771 / 2)


def hop_ns(level: dict[str, str]) -> float:
    """A quantity in ns as a number."""
    number, unit = level["hop_latency"].split()
    assert unit == "ns"
    return float(number)


def test_the_papers_matrices_hold_what_it_says_of_them(made_up: Study) -> None:
    assert failing(made_up) == {"fig6/x-on-chip"}  # 16 SPEs in a row, 8 on a Cell
    rows = {row.id: row for row in rows_of(made_up)}
    assert rows["fig6/x-on-chip"].refuted and rows["fig6/x-on-chip"].ours == pytest.approx(100 * 14 / 15)
    assert rows["fig9/nodes"].ours == pytest.approx(80 / 192)
    assert rows["fig9/cells"].ours == pytest.approx(48 / 112)
    assert rows["fig7/fewer"].ours == pytest.approx((32 + 2 * 240) / 92)
    assert rows["fig9/unequal"].ours == pytest.approx(40)


def test_other_matrices_do_not(made_up: Study) -> None:
    wrong = made_up.sweep
    wrong = replace(wrong, messages=np.roll(wrong.messages, 1, axis=1))
    assert {"fig6/neighbours", "fig6/y-levels"} <= failing(replace(made_up, sweep=wrong))
    assert {"fig7/roots", "fig7/fewer", "fig7/eib"} <= failing(replace(made_up, modified=made_up.sweep))
    assert "fig7/faster" in failing(replace(made_up, modified=replace(made_up.modified, time_us=101.0)))
    assert "fig8/neighbours" in failing(replace(made_up, dynamics=made_up.flow))
    even = replace(made_up.flow, volume=made_up.flow.messages * 100)
    assert {"fig9/unequal", "fig9/pattern", "fig9/bus"} <= failing(replace(made_up, flow=even))
    order = np.random.default_rng(1).permutation(SPES)
    elsewhere = replace(made_up, levels=made_up.levels[order][:, order])
    assert {"fig8/x", "fig8/y", "fig8/z"} <= failing(elsewhere)
    slow = {
        name: replace(each, after=replace(each.before, time_us=each.before.time_us * 1.01))
        for name, each in made_up.placed.items()
    }
    found = failing(replace(made_up, placed=slow))
    assert {"fig6/placed", "fig7/placed", "fig8/room", "fig9/room", "fig9/more-room"} <= found


def test_figure_10_from_a_call_graph(made_up: Study) -> None:
    assert not {"fig10/once", "fig10/source", "fig10/messages"} & failing(made_up)
    lines = list(made_up.calls)
    missing = [line for line in lines if not line.name.startswith("MPI_Isend(0,1,")]
    assert failing(replace(made_up, calls=tuple(missing))) - failing(made_up) == {"fig10/messages"}
    nameless = [replace(line, source="") for line in lines]
    assert failing(replace(made_up, calls=tuple(nameless))) - failing(made_up) == {"fig10/source"}
    twice = [replace(line, count=20) if "start" in line.name else line for line in lines]
    assert failing(replace(made_up, calls=tuple(twice))) - failing(made_up) == {"fig10/once"}
    table = next(each for each in PAPER.result("made up", made_up).tables if "figure 10" in each.title)
    assert [row[0] for row in table.rows[:4]] == [
        "main",
        "  run",
        "    lbm::Flow::step",
        "      lbm::Halo::start",
    ]
    assert ("          MPI_Isend(0,1,132)", "", "10", "1.00") in table.rows


def test_a_recorded_lattice_boltzmann_has_figure_10(tmp_path: Path) -> None:
    source = tmp_path / "flow.cpp"
    source.write_text(
        "#include <mpi.h>\n#include <vector>\nnamespace lbm { template <class T> struct Halo {\n"
        "__attribute__((noinline)) void start(std::vector<T>& v) {\n"
        "MPI_Request r[2]; MPI_Irecv(&v[1], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &r[0]);\n"
        "MPI_Isend(&v[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &r[1]);\n"
        "MPI_Waitall(2, r, MPI_STATUSES_IGNORE); } }; }\n"
        "int main(int c, char** v) { MPI_Init(&c, &v); int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "std::vector<int> data(2); lbm::Halo<int> halo;\n"
        "for (int i = 0; rank == 0 && i < 10; ++i) halo.start(data);\n"
        "for (int i = 0; rank == 1 && i < 10; ++i) {\n"
        "MPI_Recv(&data[0], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        "MPI_Send(&data[0], 1, MPI_INT, 0, 0, MPI_COMM_WORLD); } MPI_Finalize(); }\n"
    )
    flags = ["-O1", "-g", "-std=c++20", "-finstrument-functions"]
    assert compile_program([*flags, str(source), "-o", str(tmp_path / "flow.sim")]) == 0
    run = run_program(tmp_path / "flow.sim", (), 2, "ring:2", options=RunOptions(profile=tmp_path / "f.cw"))
    assert run.exit_status == 0, run.message
    lines = call_lines(call_tree(load_profile(tmp_path / "f.cw", calls=0)), tmp_path)
    assert lines[0].name == "main"
    step = within(lines, "lbm::Halo::start")
    assert (step[0].count, step[0].source) == (10, "flow.cpp:4")
    assert messages_of(step) == [(1, 4, 10)]
    assert not any(line.name.startswith("std::") for line in lines)  # only its own functions


def test_tables_and_figures_are_complete(made_up: Study, tmp_path: Path) -> None:
    result = PAPER.result("made up", made_up)
    shares = {row[0]: row[2:6] for row in result.tables[2].rows}
    assert shares["Sweep3D"] == ("46.7", "3.3", "26.7", "23.3")
    assert shares["lattice Boltzmann, heavy"] == ("33.3", "16.7", "8.3", "41.7")
    assert [row[3] for row in result.tables[3].rows] == ["1.250", "1.500"]
    names = [figure.name for figure in result.figures]
    assert names == [*(f"003-figure-{number}" for number in (6, 7, 8, 9)), "003-modified-sweep"]
    dots = {series.label: len(series.x) for series in result.figures[0].panels[0].series}
    assert dots == {"same Cell": 448, "same blade": 32, "same node": 256, "other node": 224}
    written = write_figures(result.figures, tmp_path)
    assert len(written) == 10 and all(path.stat().st_size > 5000 for path in written)
    first = written[0].read_bytes()
    write_figures(result.figures[:1], tmp_path)
    assert written[0].read_bytes() == first


@pytest.mark.long_test
def test_the_study_on_256_simulated_spes() -> None:
    told: list[float] = []
    study = run_study(QUICK, told.append)
    assert told == sorted(told) and told[-1] == pytest.approx(1.0)
    for level, (latency_us, mb_per_s) in zip(LEVELS, study.table2, strict=True):
        assert latency_us == pytest.approx(level.latency_us, rel=0.05)
        assert mb_per_s == pytest.approx(level.mb_per_s, rel=0.05)
    assert failing(study) & {"fig6/neighbours", "fig6/y-levels", "fig7/roots", "fig7/fewer"} == set()
    assert failing(study) & {"fig8/neighbours", "fig8/x", "fig8/y", "fig8/z", "fig9/pattern"} == set()
    shares = [original / modified for _, original, modified in study.gains]
    assert shares == sorted(shares)  # the busier a forwarder, the more fewer messages gain


def test_the_command_prints_tables_and_writes_figures(tmp_path: Path) -> None:
    done = corewise("paper", "programs", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "levels of the cluster, by ping-pong" in done.stdout and "10 figures written" in done.stdout
    assert "iteration 1 of" not in done.stdout + done.stderr  # what the programs print is not shown
    assert len(list(tmp_path.glob("*.svg"))) == 5
