"""`corewise bench pack` without an MPI: what is understood, what numbers say, refused input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock, call

import pytest

from corewise.bench.pack import study as bench_study
from corewise.bench.pack.results import OURS, Study
from corewise.bench.pack.rows import losers_of
from corewise.bench.pack.runs import (
    MAPPED,
    STRAIGHT,
    Effort,
    Launch,
    Runner,
    Setting,
    distance,
    parse,
    steady_round,
)
from corewise.bench.pack.study import AGAIN, result_of, run_bench, tuning_rows
from corewise.bench.pack.views import bench_figures, bench_tables, noise_text
from corewise.cli.main import execute
from corewise.data.packing_tuning import USES
from corewise.errors import RunError
from corewise.mpi.find import MpiLibrary
from corewise.plots.bench import write_pictures

LIBRARY = MpiLibrary("mpich", "5.0.2", Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), (), ())
MPICH = Setting("mpich", LIBRARY)
OPEN_MPI = Setting("openmpi", replace(LIBRARY, name="openmpi", version="5.0.11"))
WAYS = ("contiguous", "datatype", "mpi-pack", "loop", "assignment", "memcpy", "memcpy-prefetch")
Times = Mapping[tuple[str, str, str], float]


def study(part: str, plain: Times, library: Times, rounds: int = 1, setting: Setting = MPICH) -> Study:
    """Equal rounds."""
    return Study(setting, part, [(Launch(plain, 0.01), Launch(library, 0.01))] * rounds)


def sweep(part: str, datatype: Mapping[int, float], ours: float, hand: float = 1000.0) -> Study:
    """Two rounds in which every way but datatypes takes `hand` at every size, the baseline half of it."""
    plain: dict[tuple[str, str, str], float] = {}
    library: dict[tuple[str, str, str], float] = {}
    for size, ns in datatype.items():
        key = (f"constant/{size}", "both")
        plain |= {(*key, way): hand for way in WAYS}
        plain |= {(*key, "contiguous"): hand / 2, (*key, "datatype"): ns}
        library |= {(*key, "contiguous"): hand / 2, (*key, "datatype"): ours}
    return study(part, plain, library, 2)


# ---- what the program prints -----------------------------------------------------------------------------


def test_the_programs_lines_are_read() -> None:
    found = parse(
        "time case=constant/64 direction=both way=loop bytes=32768 n=9 median_ns=1200\n"
        "machine seconds=0.5 foreign=0.0212 latency_ns=51,249\n"
    )
    assert found == Launch({("constant/64", "both", "loop"): 1200}, 0.0212, (51, 249))


@pytest.mark.parametrize("text", ["", "machine seconds=1 foreign=0 latency_ns=5,6\n", "time case=a way=b\n"])
def test_output_that_says_nothing_is_an_error(text: str) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        parse(text)


# ---- what the numbers say --------------------------------------------------------------------------------


def test_a_row_is_beside_what_the_program_has_without_the_library() -> None:
    (row,) = result_of([sweep("paper", {64: 800.0}, ours=400.0)]).rows
    found = row.to_json()
    assert found["ways"] == {**dict.fromkeys(WAYS, 1.0), "contiguous": 0.5, "datatype": 0.8}
    assert (row.id, row.unit, row.mpi) == ("pack/mpich/constant/64/both", "us", "mpich 5.0.2")
    assert (row.ours, row.rival, row.theirs, row.floor) == (0.4, "datatype", 0.8, 0.5)
    assert (row.ratio, row.spread, row.n) == (2.0, 0.0, 2) and found["processor"]


def test_ratios_are_taken_round_by_round() -> None:
    found = sweep("paper", {64: 800.0}, ours=400.0)
    # The second round ran on a machine that was ten times slower: ratios do not notice.
    found.rounds[1] = tuple(
        replace(launch, times={key: 10 * ns for key, ns in launch.times.items()})
        for launch in found.rounds[1]
    )
    cell = ("constant/64", "both")
    assert found.ratio(cell, "datatype").median == 2.0 and found.time(cell, OURS).median == 2200.0
    drifted = "contiguous messages with the library over without: 1.00 to 1.00"
    assert noise_text(result_of([found])).endswith(f" above 3 %; {drifted}")
    found.left_out = 2
    assert noise_text(result_of([found])).endswith(f"; rounds left out because the cores moved: 2; {drifted}")


@pytest.mark.parametrize(
    ("datatype", "crossing", "verdicts"),
    [
        # The paper's finding: datatypes lose below 2 KB, but for 4 bytes, and win from there on.
        (
            {2: 9e3, 4: 500.0, 8: 9e3, 512: 2e3, 2048: 900.0, 8192: 500.0},
            "win from 2048 bytes on",
            [True] * 4,
        ),
        # Datatypes win from 256 bytes on and at 8 bytes as well as at 4.
        (
            {2: 9e3, 4: 500.0, 8: 500.0, 16: 9e3, 256: 900.0, 2048: 900.0},
            "win from 256 bytes on",
            [False, True, False, False],
        ),
        ({2: 9e3, 4: 9e3, 8: 9e3, 2048: 9e3}, "do not win at the largest size", [True, False, False, False]),
    ],
)
def test_the_papers_statements(datatype: dict[int, float], crossing: str, verdicts: list[bool]) -> None:
    claims = result_of([sweep("paper", datatype, ours=1000.0)]).claims[:4]
    assert all(claim.what.startswith("32 KB") for claim in claims)
    assert [claim.reproduced for claim in claims] == verdicts
    assert claims[2].found == f"datatypes {crossing}"


def engine_study() -> Study:
    """MPI_Pack alone: ours in half of the MPI's time, in one and a half of the loop's."""
    key = ("constant/16", "pack")
    plain = {(*key, "mpi-pack"): 900.0, (*key, "loop"): 300.0}
    return study("mpi-pack", plain, {(*key, "mpi-pack"): 450.0, (*key, "loop"): 300.0})


def applications(datatype: float) -> Study:
    """Two of them on Open MPI, ours in 1000 ns."""
    keys = [(case, "both") for case in ("mg_x/34", "lammps_full/300")]
    plain = {(*key, way): ns for key in keys for way, ns in (("datatype", datatype), ("manual", 1100.0))}
    return study("applications", plain, {(*key, "datatype"): 1000.0 for key in keys}, setting=OPEN_MPI)


def mapped(datatype: float, loop: float, transposed: float) -> Study:
    """Ours in 1000 ns, or in halves 500, in one launch with the others; each rival but one takes 9000."""
    cells = (("constant/64", datatype, 9e3), ("elements/8192", 9e3, loop), ("fft2/256", 9e3, transposed))
    times = {}
    for case, by_type, by_loop in cells:
        ways = {"contiguous": 500.0, "datatype": by_type, "mpi-pack": 9e3, "loop": by_loop}
        ways |= dict(zip(STRAIGHT, (1000.0, 500.0), strict=True))
        times |= {(case, MAPPED, way): ns for way, ns in ways.items()}
    return Study(MPICH, MAPPED, [(Launch(times, 0.01),)] * 2)


def test_straight_copies_are_beside_the_best_way_of_the_mpi() -> None:
    result = result_of([mapped(4000.0, 2000.0, 3000.0)])
    assert [(row.rival, row.theirs, row.ours, row.floor, row.ratio) for row in result.rows] == [
        ("datatype", 4.0, 1.0, 0.5, 4.0),
        ("loop", 2.0, 1.0, 0.5, 2.0),
        ("loop", 3.0, 1.0, 0.5, 3.0),
    ]
    assert noise_text(result).endswith(" above 3 %")
    *_, goals = bench_tables(result)
    assert goals.title == "Straight copies in mapped memory beside others: their time over ours"
    assert losers_of(mapped(900.0, 2000.0, 3000.0)) == ["constant/64"]


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (
            mapped(2000.0, 4000.0, 3000.0),
            "best way 2 2.828 True, best way 4 5.657 True, best way 3 3 None, best way 6 6 None",
        ),
        (
            mapped(1900.0, 2000.0, 900.0),
            "best way 1.9 1.949 False, best way 3.8 3.899 True, best way 0.9 0.9 None, best way 1.8 1.8 None",
        ),
        (sweep("columns", {8: 400.0, 64: 1600.0}, 400.0), "datatype 1 2 True"),
        (engine_study(), "mpi-pack 2 2 None, loop 0.667 0.667 None"),
        (applications(1500.0), "datatype 1.5 1.5 True, manual 1.1 1.1 None, best way 1.1 1.1 None"),
        (applications(1300.0), "datatype 1.3 1.3 False, manual 1.1 1.1 None, best way 1.1 1.1 None"),
        (applications(900.0), "datatype 0.9 0.9 False, manual 1.1 1.1 None, best way 0.9 0.9 None"),
        # Blocks up to 256 B, blocks above, and both.
        (
            sweep("paper", {64: 5300.0, 4096: 1000.0}, 1000.0, 9000.0),
            "datatype 5.3 5.3 True, datatype 1 1 True, best way 1 2.302 None",
        ),
        (
            sweep("paper", {64: 4900.0, 4096: 900.0}, 1000.0, 9000.0),
            "datatype 4.9 4.9 False, datatype 0.9 0.9 False, best way 0.9 2.1 None",
        ),
    ],
)
def test_goals_give_the_mean_and_the_worst_case(measured: Study, said: str) -> None:
    """Rival, least, mean, and whether it is what was asked."""
    goals = result_of([measured]).goals
    assert ", ".join(f"{goal.rival} {goal.least:g} {goal.mean:g} {goal.holds}" for goal in goals) == said
    assert goals[0].worst == " ".join(measured.cells()[0])


def test_losers_are_measured_again_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, Sequence[str]]] = []

    def measured(runner: Runner, part: str, cases: Sequence[str], progress: object) -> object:
        asked.append((runner.effort.rounds, cases))
        datatype = ({8: 380.0, 32: 370.0, 64: 800.0}, {8: 440.0, 32: 300.0}, {32: 400.0})[len(asked) - 1]
        return iter(sweep(part, datatype, ours=410.0 if len(asked) == 1 else 400.0).rounds)

    monkeypatch.setattr(Runner, "rounds", measured)
    monkeypatch.setattr(bench_study, "settings_of", lambda _: [MPICH])
    monkeypatch.setattr(bench_study, "build_for", lambda *_: Path("program"))
    result = run_bench(parts=("columns",), effort=Effort(2, 0, 0, False, AGAIN))
    once, twice = (2 * times for times in AGAIN)
    assert asked == [(2, ()), (once, ["constant/32", "constant/8"]), (twice, ["constant/32"])]
    ratios = {row.id: row.ratio for row in result.rows}
    assert ratios["pack/mpich/constant/8/both"] == 1.1
    assert ratios["pack/mpich/constant/32/both"] == 1.0 == result.goals[0].least
    assert "again with 3 times the rounds: 2; cases below 0.95, measured again with 9" in noise_text(result)
    assert losers_of(engine_study()) == []
    asked.clear()
    run_bench(parts=("columns",), effort=Effort(2, 0, 0, True))
    assert asked == [(2, ())]


# ---- tables and pictures ---------------------------------------------------------------------------------


def test_tables_and_pictures_show_every_way() -> None:
    result = result_of([sweep("paper", {4: 500.0, 2048: 900.0}, ours=400.0), engine_study()])
    (figure,) = bench_figures(result)
    assert [panel.title for panel in figure.panels] == ["1.C both, 32 KB by element size"]
    assert len(figure.panels[0].series) == len(WAYS) + 1
    tables = list(bench_tables(result))
    assert [table.title for table in tables[-2:]] == [
        "What paper 004 states",
        "The packing library beside others: their time over ours",
    ]
    assert tables[0].rows[0] == (
        *("constant/4 both", "0.50", "0.50", "1.00", "1.00", "0.40 (0.00)", "1.25", "1.25 (datatype)"),
    )
    assert tables[2].rows == (
        ("constant/16 pack", "", "", "0.90", "0.30", "0.45 (0.00)", "2.00", "0.67 (loop)"),
    )
    asked = tables[-1].rows
    assert asked[0] == (
        *("mpich 5.0.2: blocks up to 256 B", "datatype", "1.25", "1.25", "constant/4 both", "1"),
        "mean 5, least 0.95: no",
    )
    assert [row[-1] for row in asked[1:]] == ["least 0.95: yes", "", "", ""]
    lines = {series.label: series.y for series in figure.panels[0].series}
    assert lines["ours: packing library"] == (0.4, 0.4) and lines["contiguous"] == (0.5, 0.5)


def test_a_picture_per_mpi_is_named_after_the_file(tmp_path: Path) -> None:
    (figure,) = bench_figures(result_of([sweep("paper", {4: 500.0, 2048: 900.0}, ours=400.0)]))
    # Two panels of the same many curves have one legend, and their axes plain numbers.
    figure = replace(figure, panels=figure.panels * 2)
    one = write_pictures([figure], tmp_path / "plot.svg")
    both = write_pictures([figure, figure], tmp_path / "two.svg")
    assert one == [tmp_path / "plot.svg"] and both[0] == tmp_path / "two-mpich.svg"
    drawn = one[0].read_text()
    assert drawn.count("<svg") == 1 and drawn == both[0].read_text()
    assert drawn.count("<!-- ours: packing library -->") == 1 and "<!-- 0.5 -->" in drawn
    assert "mathdefault" not in drawn


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--cases", "rows"],
            "--cases: found 'rows', allowed: paper, columns, applications, mpi-pack, mapped, all",
        ),
        (["-o", "plot.gif"], "-o plot.gif: found the ending '.gif', allowed: .svg, .png"),
        (["-o", "none/plot.svg"], "none/plot.svg: cannot be written: there is no folder none"),
        (["--cases", "columns", "-o", "p.svg"], "-o: found with --cases columns, allowed: --cases paper"),
        (["--tune", "nowhere"], "--tune: found 'nowhere', allowed: a folder that is there"),
        (["--tune", ".", "-o", "p.svg"], "-o: found with --tune, allowed: one of them"),
        (["--mpi", "lam"], "--mpi lam: no such MPI found"),
    ],
)
def test_wrong_input_is_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    status = execute(["bench", "pack", *words])
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("corewise: ") and said in err


# ---- tunings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "messages", "found"),
    [
        # Sent, received, both; and both by the library that packs what is sent alone.
        (MPICH, ([1.2] * 4, [1.3] * 4, [1.4] * 4, [1.0] * 4), [(1.2, 1.2), (1.3, 1.3)]),
        # Alone both are slow together, and quick with each other.
        (MPICH, ([2.0] * 4, [3.0] * 4, [8.0] * 4, [0.5] * 4), [(2.0, 2.0), (3.0, 3.0)]),
        # What is received is the MPI's, because it is slow alone, or adds nothing to what is sent.
        (MPICH, ([2.0] * 4, [0.9] * 4, [0.8] * 4, [1.6] * 4), [(1.6, 1.6), (0.5, 0.5)]),
        (MPICH, ([2.0] * 4, [2.0] * 4, [2.0] * 4, [2.5] * 4), [(2.0, 2.0), (0.8, 0.8)]),
        # Packed where it is received, and perhaps not on another processor.
        (MPICH, ([2.0] * 4, [1.06] * 4, [1.5] * 4, [1.2] * 4), [(1.2, 1.2), (1.06, 1.06)]),
        # Not in three of four rounds.
        (MPICH, ([2.0] * 4, [2.0] * 4, [0.8, 1.0, 1.2, 1.4], [1.0] * 4), [(1.0, 1.0), (1.1, 0.95)]),
        # The direction that is least by its median need not be the one that is least by its quartile.
        (OPEN_MPI, ([1.2] * 4, [2.0] * 4, [0.7, 0.8, 1.8, 2.0], []), [(1.2, 0.775), (2.0, 2.0)]),
        # A round that was preempted is not a ratio of nothing, which no reader of a tuning would take.
        (OPEN_MPI, ([0.0004] * 4, [1.3] * 4, [1.4] * 4, []), [(0.0004, 0.0004), (1.3, 1.3)]),
        # Open MPI's engine has our loops on either side, and what is received is judged by itself.
        (OPEN_MPI, ([1.2] * 4, [0.9] * 4, [1.3] * 4, []), [(1.2, 1.2), (0.9, 0.9)]),
    ],
)
def test_each_side_of_a_message_is_as_good_as_its_worst_direction(
    setting: Setting, messages: tuple[list[float], ...], found: list[tuple[float, float]]
) -> None:
    grid = Study(setting, "grid")
    for turn, ratios in enumerate(zip(*messages[:3], strict=True)):
        ways = {
            (use, "datatype"): each for use, each in zip(("send", "receive", "both"), ratios, strict=True)
        }
        ways |= {(use, "mpi-pack"): 1.5 for use in ("pack", "unpack")}
        plain = {("grid/512/8", *key): 1000.0 * ratio for key, ratio in ways.items()}
        launches = [plain, dict.fromkeys(plain, 1000.0)]
        if setting is MPICH:
            both = ("grid/512/8", "both", "datatype")
            launches.insert(1, plain | {both: plain[both] / messages[3][turn]})
        grid.rounds.append(tuple(Launch(times, 0.0) for times in launches))
    rows = tuning_rows(grid)
    uses = zip(USES, [*found, (1.5, 1.5), (1.5, 1.5)], strict=True)
    assert [(row.use, (row.ratio, row.low)) for row in rows] == list(uses)
    assert {(row.lines, row.bytes, row.run) for row in rows} == {("dense", 512, 8)}


# ---- cores that move -------------------------------------------------------------------------------------


def told(*latencies: float) -> Launch:
    return Launch({}, 0.0, latencies)


NEAR, FAR = told(50, 55), told(250, 240)


def test_rounds_in_which_the_cores_moved_apart_are_done_again() -> None:
    run = Mock()
    run.plain.side_effect, run.library.side_effect = [NEAR, FAR], [FAR, FAR]
    assert steady_round([run.plain, run.library], 2) == (FAR, FAR)
    assert run.mock_calls == [call.plain(), call.library()] * 2
    run.reset_mock()
    # The second time is no better, and there is no third: the first counts.
    worse = told(50, 400)
    run.plain.side_effect, run.library.side_effect = [NEAR, worse], [FAR, worse]
    assert steady_round([run.plain, run.library], 1, backwards=True) == (NEAR, FAR)
    assert run.mock_calls == [call.library(), call.plain()] * 2
    assert distance([NEAR, FAR]) == 5 and distance([told()]) == 1
    # Latencies below 50 ns are seen from time to time between the same two cores.
    assert distance([told(15, 50), told(70)]) == 1.4


def test_rounds_whose_launches_saw_different_distances_say_nothing_of_a_ratio() -> None:
    kept = Study(MPICH, "grid", [(NEAR, NEAR), (FAR, FAR), (NEAR, FAR)]).steady()
    assert (kept.rounds, kept.left_out) == ([(NEAR, NEAR), (FAR, FAR)], 1)
    mixed = Study(MPICH, "grid", [(NEAR, FAR), (FAR, NEAR)])
    assert mixed.steady() == mixed
