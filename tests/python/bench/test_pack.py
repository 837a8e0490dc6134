"""`corewise bench pack` without an MPI: what is understood, what numbers say, refused input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from installed_tool import assert_one_line_error, corewise

from corewise.bench.pack import study as bench_study
from corewise.bench.pack.results import OURS, Study
from corewise.bench.pack.rows import crossover, losers_of
from corewise.bench.pack.runs import (
    Effort,
    Launch,
    Runner,
    Setting,
    distance,
    parse,
    steady_round,
    two_processors,
)
from corewise.bench.pack.study import AGAIN, result_of, run_bench, tuning_rows
from corewise.bench.pack.views import bench_figures, bench_tables, noise_text
from corewise.cli.main import execute
from corewise.errors import InputError, RunError
from corewise.mpi.find import MpiLibrary
from corewise.plots.bench import check_picture, write_pictures

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


def slower(launch: Launch, times: float) -> Launch:
    """All of it so many times as long."""
    return replace(launch, times={key: times * ns for key, ns in launch.times.items()})


# ---- what the program prints -----------------------------------------------------------------------------


def test_the_programs_lines_are_read() -> None:
    found = parse(
        "time case=constant/64 direction=both way=loop bytes=32768 n=9 "
        "median_ns=1200 low_ns=1100 high_ns=1300\n"
        "machine seconds=0.5 foreign=0.0212 latency_ns=51,249\n"
    )
    assert found == Launch({("constant/64", "both", "loop"): 1200}, 0.0212, (51, 249))


@pytest.mark.parametrize("text", ["", "machine seconds=1 foreign=0\n", "time case=a direction=both way=b\n"])
def test_output_that_says_nothing_is_an_error(text: str) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        parse(text)


def test_two_processors_differ_and_are_allowed() -> None:
    assert two_processors([0]) is None
    found = two_processors([900, 901, 902])  # the system says nothing of them
    assert found is not None and found[0] == 900 and found[1] in (901, 902)


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
    found.rounds[1] = tuple(slower(launch, 10) for launch in found.rounds[1])
    cell = ("constant/64", "both")
    assert found.ratio(cell, "datatype").median == 2.0 and found.time(cell, OURS).median == 2200.0
    drift = found.drift()
    assert drift is not None and drift.median == 1.0


@pytest.mark.parametrize(
    ("datatype", "crossing", "verdicts"),
    [
        # The paper's finding: datatypes lose below 2 KB, but for 4 bytes, and win from there on.
        ({2: 9e3, 4: 500.0, 8: 9e3, 512: 2e3, 2048: 900.0, 8192: 500.0}, 2048, [True, True, True, True]),
        # Datatypes win from 256 bytes on and at 8 bytes as well as at 4.
        ({2: 9e3, 4: 500.0, 8: 500.0, 16: 9e3, 256: 900.0, 2048: 900.0}, 256, [False, True, False, False]),
        # They never win.
        ({2: 9e3, 4: 9e3, 8: 9e3, 2048: 9e3}, None, [True, False, False, False]),
    ],
)
def test_the_papers_statements(
    datatype: dict[int, float], crossing: int | None, verdicts: list[bool]
) -> None:
    claims = result_of([sweep("paper", datatype, ours=1000.0)]).claims[:4]
    assert all(claim.what.startswith("32 KB") for claim in claims)
    assert [claim.reproduced for claim in claims] == verdicts
    assert crossover({size: 1000.0 / ns for size, ns in datatype.items()}) == crossing
    assert (str(crossing) if crossing else "do not win") in claims[2].found


def engine_study() -> Study:
    """MPI_Pack alone: ours in half of the MPI's time, in one and a half of the loop's."""
    key = ("constant/16", "pack")
    plain = {(*key, "mpi-pack"): 900.0, (*key, "loop"): 300.0}
    return study("mpi-pack", plain, {(*key, "mpi-pack"): 450.0, (*key, "loop"): 300.0})


def test_goals_give_the_mean_and_the_worst_case() -> None:
    (goal,) = result_of([sweep("columns", {8: 400.0, 64: 1600.0}, ours=400.0)]).goals
    assert (goal.least, goal.worst, goal.count, goal.rival) == (1.0, "constant/8 both", 2, "datatype")
    assert (goal.mean, goal.must, goal.must_least, goal.holds) == (2.0, None, 0.95, True)
    engine = result_of([engine_study()])
    assert [(each.what, each.rival, each.mean, each.holds) for each in engine.goals] == [
        ("MPI_Pack", "mpi-pack", 2.0, None),
        ("both, blocks of 8 to 16 B", "loop", 0.667, None),
    ]
    (row,) = engine.rows
    assert (row.rival, row.floor, row.ratio) == ("mpi-pack", None, 2.0)


@pytest.mark.parametrize(("datatype", "holds"), [(1500.0, True), (1300.0, False), (900.0, False)])
def test_applications_are_held_against_datatypes(datatype: float, holds: bool) -> None:
    keys = [(case, "both") for case in ("mg_x/34", "lammps_full/300")]
    plain = {(*key, way): ns for key in keys for way, ns in (("datatype", datatype), ("manual", 1100.0))}
    library = {(*key, "datatype"): 1000.0 for key in keys}
    goals = result_of([study("applications", plain, library, setting=OPEN_MPI)]).goals
    assert [goal.rival for goal in goals] == ["datatype", "manual", "best way"]
    assert [goal.holds for goal in goals] == [holds, None, None] and goals[0].must == 1.4


@pytest.mark.parametrize(
    ("datatype", "short", "longer"),
    [
        ({64: 5300.0, 4096: 1000.0}, True, True),
        ({64: 4900.0, 4096: 1000.0}, False, True),  # the mean is too small
        ({64: 5300.0, 4096: 900.0}, True, False),  # one case is under 0.95
    ],
)
def test_both_sweeps_are_held_against_what_is_asked(
    datatype: dict[int, float], short: bool, longer: bool
) -> None:
    result = result_of([sweep("paper", datatype, ours=1000.0, hand=9000.0)])
    found = {goal.what: goal for goal in result.goals}
    assert (found["blocks up to 256 B"].must, found["blocks up to 256 B"].holds) == (5.0, short)
    assert found["blocks above 256 B"].holds is longer and found["both sweeps"].rival == "best way"
    table = list(bench_tables(result))[-1]
    assert table.rows[0][-1] == f"mean 5, least 0.95: {'yes' if short else 'no'}" and table.rows[-1][-1] == ""


def test_losers_are_measured_again_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, list[str]]] = []

    def measured(runner: Runner, part: str, cases: list[str], progress: object) -> object:
        asked.append((runner.effort.rounds, cases))
        first = len(asked) == 1
        datatype = {8: 380.0, 64: 800.0} if first else {8: 440.0}
        return iter(sweep(part, datatype, ours=410.0 if first else 400.0).rounds)

    monkeypatch.setattr(Runner, "rounds", measured)
    monkeypatch.setattr(bench_study, "settings_of", lambda _: [MPICH])
    monkeypatch.setattr(bench_study, "build_for", lambda *_: Path("program"))
    result = run_bench(parts=("columns",), effort=Effort(2, 0, 0, True))
    assert asked == [(2, []), (2 * AGAIN, ["constant/8"])]
    ratios = {row.id: row.ratio for row in result.rows}
    assert ratios["pack/mpich/constant/8/both"] == 1.1 and result.goals[0].least == 1.1
    assert "measured again with 3 times the rounds: 1" in noise_text(result)
    assert losers_of(engine_study()) == []


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


def test_pictures_are_refused_before_the_long_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found the ending '\.pdf', allowed: \.svg, \.png"):
        check_picture(tmp_path / "plot.pdf")
    with pytest.raises(InputError, match="there is no folder"):
        check_picture(tmp_path / "nowhere" / "plot.svg")
    check_picture(None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cases", "rows"], "--cases: found 'rows', allowed: paper, columns, applications, mpi-pack, all"),
        (["-o", "plot.gif"], "-o plot.gif: found the ending '.gif', allowed: .svg, .png"),
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


def test_the_installed_tool_has_the_command(tmp_path: Path) -> None:
    assert_one_line_error(corewise("bench", "pack", "--cases", "rows", cwd=tmp_path), "--cases: found 'rows'")


# ---- tunings ---------------------------------------------------------------------------------------------


def grid(ratios: Mapping[tuple[str, str], list[float]], setting: Setting = MPICH) -> Study:
    """A grid of one case: times over ours by use and way, a number per round."""
    study = Study(setting, "grid")
    for turn in range(4):
        keys = {("grid/512/8", use, way): values[turn] for (use, way), values in ratios.items()}
        plain = {key: 1000.0 * value for key, value in keys.items()}
        study.rounds.append((Launch(plain, 0.0), Launch(dict.fromkeys(keys, 1000.0), 0.0)))
    return study


@pytest.mark.parametrize(
    ("ratios", "found", "taken"),
    [
        ({"send": [1.2] * 4, "receive": [1.3] * 4, "both": [1.4] * 4}, (1.2, 1.2), True),
        ({"send": [2.0] * 4, "receive": [0.9] * 4, "both": [1.4] * 4}, (0.9, 0.9), False),
        ({"send": [2.0] * 4, "receive": [2.0] * 4, "both": [0.8, 1.0, 1.2, 1.4]}, (1.1, 0.95), False),
        # The direction that is least by its median need not be the one that is least by its quartile.
        ({"send": [1.2] * 4, "receive": [2.0] * 4, "both": [0.7, 0.8, 1.8, 2.0]}, (1.2, 0.775), False),
    ],
)
def test_a_message_is_as_good_as_its_worst_direction(
    ratios: dict[str, list[float]], found: tuple[float, float], taken: bool
) -> None:
    engines = {(use, "mpi-pack"): [1.5] * 4 for use in ("pack", "unpack")}
    rows = tuning_rows(grid({(use, "datatype"): each for use, each in ratios.items()} | engines))
    assert [(row.use, row.lines, row.bytes, row.run) for row in rows] == [
        (use, "dense", 512, 8) for use in ("message", "pack", "unpack")
    ]
    assert (rows[0].ratio, rows[0].low, rows[0].taken) == (*found, taken) and rows[1].ratio == 1.5


def test_each_side_of_open_mpis_engine_is_judged_by_itself() -> None:
    ratios = {("send", "datatype"): [1.2] * 4, ("receive", "datatype"): [0.9] * 4}
    ratios |= {("both", "datatype"): [1.3] * 4}
    ratios |= {(use, "mpi-pack"): [2.0] * 4 for use in ("pack", "unpack")}
    rows = tuning_rows(grid(ratios, OPEN_MPI))
    expected = [("send", 1.2), ("receive", 0.9), ("pack", 2.0), ("unpack", 2.0)]
    assert [(row.use, row.ratio) for row in rows] == expected
    with pytest.raises(RunError, match="nothing was measured"):
        tuning_rows()


# ---- cores that move -------------------------------------------------------------------------------------


def told(*latencies: float) -> Launch:
    return Launch({}, 0.0, latencies)


NEAR, FAR = told(50, 55), told(250, 240)


def test_rounds_in_which_the_cores_moved_apart_are_done_again() -> None:
    asked: list[str] = []

    def launches(name: str, *found: Launch) -> Callable[[], Launch]:
        left = iter(found)

        def one() -> Launch:
            asked.append(name)
            return next(left)

        return one

    assert steady_round([launches("plain", NEAR, FAR), launches("library", FAR, FAR)], 2) == (FAR, FAR)
    assert asked == ["plain", "library"] * 2
    asked.clear()
    # The second time is no better, and there is no third: the first counts.
    worse = told(50, 400)
    pair = [launches("plain", NEAR, worse), launches("library", FAR, worse)]
    assert steady_round(pair, 1, backwards=True) == (NEAR, FAR)
    assert asked == ["library", "plain"] * 2
    assert distance([NEAR, FAR]) == 5 and distance([told()]) == 1
    # Latencies below 50 ns are seen from time to time between the same two cores.
    assert distance([told(15, 50), told(70)]) == 1.4


def test_rounds_whose_launches_saw_different_distances_say_nothing_of_a_ratio() -> None:
    kept = Study(MPICH, "grid", [(NEAR, NEAR), (FAR, FAR), (NEAR, FAR)]).steady()
    assert (kept.rounds, kept.left_out) == ([(NEAR, NEAR), (FAR, FAR)], 1)
    mixed = Study(MPICH, "grid", [(NEAR, FAR), (FAR, NEAR)])
    assert mixed.steady() == mixed


def test_the_remark_says_how_many_rounds_were_left_out() -> None:
    rounds = sweep("paper", {4: 1000.0}, 1000.0)
    text = noise_text(result_of([rounds, replace(rounds, left_out=2)]))
    assert "; rounds left out because the cores moved: 2; contiguous" in text
    assert "left out" not in noise_text(result_of([rounds]))
