"""`corewise bench pack` without an MPI: what is understood, what numbers say, refused input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from installed_tool import assert_one_line_error, corewise

from corewise.bench.pack import study as bench_study
from corewise.bench.pack.rows import claims_of, crossover, goals_of, losers_of, rows_of
from corewise.bench.pack.runs import (
    OURS,
    Effort,
    Launch,
    Setting,
    Study,
    Time,
    distance,
    parse,
    steady_round,
    two_processors,
)
from corewise.bench.pack.study import AGAIN, BenchResult, parts_of, run_bench, tuning_rows
from corewise.bench.pack.views import bench_figures, bench_tables, noise_text
from corewise.cli.main import execute
from corewise.errors import InputError, RunError
from corewise.mpi.find import MpiLibrary
from corewise.plots.bench_pack import check_picture, write_pictures

MPICH = MpiLibrary("mpich", "5.0.2", Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), (), ())
OPEN_MPI = replace(MPICH, name="openmpi", version="5.0.11")
WAYS = ("contiguous", "datatype", "mpi-pack", "loop", "assignment", "memcpy", "memcpy-prefetch")


def launch(times: dict[tuple[str, str, str], float], foreign: float = 0.01) -> Launch:
    return Launch({key: Time(32768, ns, ns, ns, 9) for key, ns in times.items()}, foreign)


def sweep(part: str, datatype: dict[int, float], ours: float, hand: float = 1000.0) -> Study:
    """Two rounds in which every way but datatypes takes `hand` at every size, the baseline half of it."""
    study = Study(Setting("mpich", MPICH), part)
    for _ in range(2):
        times: dict[tuple[str, str, str], float] = {}
        for size, ns in datatype.items():
            key = (f"constant/{size}", "both")
            times |= {(*key, way): hand for way in WAYS}
            times |= {(*key, "contiguous"): hand / 2, (*key, "datatype"): ns}
        study.plain.append(launch(times))
        shared = {key: ns for key, ns in times.items() if key[2] == "contiguous"}
        study.library.append(launch(shared | {(f"constant/{s}", "both", "datatype"): ours for s in datatype}))
    return study


# ---- what the program prints -----------------------------------------------------------------------------


def test_the_programs_lines_are_read() -> None:
    found = parse(
        "time case=constant/64 direction=both way=loop bytes=32768 n=9 "
        "median_ns=1200 low_ns=1100 high_ns=1300\n"
        "machine seconds=0.5 foreign=0.0212 latency_ns=51,249\n"
    )
    assert (found.foreign, found.latencies) == (0.0212, (51, 249))
    assert found.times == {("constant/64", "both", "loop"): Time(32768, 1200, 1100, 1300, 9)}


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
    (row,) = rows_of(sweep("paper", {64: 800.0}, ours=400.0), "AuthenticAMD-25-17")
    found = asdict(row)
    assert [found.pop(name) for name in ("what", "spread")] != [None, None] and row.ways["loop"] == 1.0
    assert found.pop("ways")["datatype"] == 0.8
    assert found == {
        "id": "pack/mpich/constant/64/both",
        "unit": "us",
        "ours": 0.4,
        "rival": "datatype",
        "theirs": 0.8,
        "floor": 0.5,
        "ratio": 2.0,
        "n": 2,
        "processor": "AuthenticAMD-25-17",
        "mpi": "mpich 5.0.2",
    }


def test_ratios_are_taken_round_by_round() -> None:
    study = sweep("paper", {64: 800.0}, ours=400.0)
    # The second round ran on a machine that was ten times slower: ratios do not notice.
    for launches in (study.plain, study.library):
        launches[1] = launch({key: 10 * time.median for key, time in launches[1].times.items()})
    assert study.ratio("constant/64", "both", "datatype").median == 2.0
    assert study.time("constant/64", "both", OURS).median == 2200.0
    drift = study.drift()
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
    study = sweep("paper", datatype, ours=1000.0)
    claims = [claim for claim in claims_of(study) if claim.what.startswith("32 KB")]
    assert [claim.reproduced for claim in claims] == verdicts
    assert crossover({size: 1000.0 / ns for size, ns in datatype.items()}) == crossing
    assert (str(crossing) if crossing else "do not win") in claims[2].found


def engine_study() -> Study:
    """MPI_Pack alone: ours in half of the MPI's time."""
    engine = Study(Setting("mpich", MPICH), "mpi-pack")
    key = ("constant/256", "pack")
    engine.plain.append(launch({(*key, "mpi-pack"): 900.0, (*key, "loop"): 300.0}))
    engine.library.append(launch({(*key, "mpi-pack"): 450.0}))
    return engine


def test_goals_give_the_mean_and_the_worst_case() -> None:
    study = sweep("columns", {8: 400.0, 64: 1600.0}, ours=400.0)
    (goal,) = goals_of(study)
    assert (goal.least, goal.worst, goal.count, goal.rival) == (1.0, "constant/8 both", 2, "datatype")
    assert (goal.mean, goal.must, goal.must_least, goal.holds) == (2.0, None, 0.95, True)
    (alone,) = goals_of(engine_study())
    assert (alone.what, alone.mean, alone.holds) == ("MPI_Pack", 2.0, None)
    (row,) = rows_of(engine_study())
    assert (row.rival, row.floor, row.ratio) == ("mpi-pack", None, 2.0)


@pytest.mark.parametrize(
    ("datatype", "holds"),
    [(1500.0, [True, None, None]), (1300.0, [False, None, None]), (900.0, [False, None, None])],
)
def test_applications_are_held_against_datatypes(datatype: float, holds: list[bool | None]) -> None:
    study = Study(Setting("openmpi", OPEN_MPI), "applications")
    keys = [(case, "both") for case in ("mg_x/34", "lammps_full/300")]
    study.plain.append(
        launch({(*key, way): ns for key in keys for way, ns in (("datatype", datatype), ("manual", 1100.0))})
    )
    study.library.append(launch({(*key, "datatype"): 1000.0 for key in keys}))
    found = list(goals_of(study))
    assert [goal.rival for goal in found] == ["datatype", "manual", "best way"]
    assert [goal.holds for goal in found] == holds and found[0].must == 1.4


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
    study = sweep("paper", datatype, ours=1000.0, hand=9000.0)
    found = {goal.what: goal for goal in goals_of(study)}
    assert (found["blocks up to 256 B"].must, found["blocks up to 256 B"].holds) == (5.0, short)
    assert found["blocks above 256 B"].holds is longer and found["both sweeps"].rival == "best way"
    table = list(bench_tables(BenchResult("h", (study,), (), (), tuple(goals_of(study)))))[-1]
    assert table.rows[0][-1] == f"mean 5, least 0.95: {'yes' if short else 'no'}" and table.rows[-1][-1] == ""


def test_losers_are_measured_again_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, list[str]]] = []

    def measured(setting: Setting, part: str, effort: Effort, _: Path, **more: Any) -> Study:
        asked.append((effort.rounds, more["cases"]))
        first = len(asked) == 1
        return sweep(
            part,
            {8: 380.0 if first else 440.0, 64: 800.0} if first else {8: 440.0},
            ours=400.0 if not first else 410.0,
        )

    monkeypatch.setattr(bench_study, "study", measured)
    monkeypatch.setattr(bench_study, "settings_of", lambda _: [Setting("mpich", MPICH)])
    monkeypatch.setattr(bench_study, "build_for", lambda *_: Path("program"))
    result = run_bench(parts=("columns",), effort=Effort(2, 0, 0, True))
    assert asked == [(2, []), (2 * AGAIN, ["constant/8"])]
    ratios = {row.id: row.ratio for row in result.rows}
    assert ratios["pack/mpich/constant/8/both"] == 1.1 and result.goals[0].least == 1.1
    assert "measured again with 3 times the rounds: 1" in noise_text(result)
    assert losers_of(engine_study()) == []


def test_parts_are_named() -> None:
    assert parts_of("all") == ("paper", "columns", "applications", "mpi-pack")
    assert parts_of("columns") == ("columns",)
    with pytest.raises(InputError, match="--cases: found 'rows', allowed: paper"):
        parts_of("rows")


def test_tables_and_pictures_show_every_way(tmp_path: Path) -> None:
    study = sweep("paper", {4: 500.0, 2048: 900.0}, ours=400.0)
    result = BenchResult(
        "host", (study,), tuple(rows_of(study)), tuple(claims_of(study)), tuple(goals_of(study))
    )
    (figure,) = bench_figures(result)
    assert [panel.title for panel in figure.panels] == ["1.C both, 32 KB by element size"]
    assert len(figure.panels[0].series) == len(WAYS) + 1
    titles = [table.title for table in bench_tables(result)]
    assert titles[-2:] == ["What paper 004 states", "The packing library beside others: their time over ours"]
    one = write_pictures([figure], tmp_path / "plot.svg")
    both = write_pictures([figure, figure], tmp_path / "two.svg")
    assert one == [tmp_path / "plot.svg"] and both[0] == tmp_path / "two-mpich.svg"
    drawn = one[0].read_text()
    assert drawn.count("<svg") == 1 and drawn == both[0].read_text()


def test_pictures_show_ours_beside_the_contiguous_message(tmp_path: Path) -> None:
    study = sweep("paper", {4: 500.0, 2048: 900.0}, ours=400.0)
    result = BenchResult("host", (study,), (), (), ())
    (figure,) = bench_figures(result)
    lines = {series.label: series.y for series in figure.panels[0].series}
    assert lines["ours: packing library"] == (0.4, 0.4) and lines["contiguous"] == (0.5, 0.5)
    # Two panels of the same many curves have one legend, and their axes plain numbers.
    twice = replace(figure, panels=figure.panels * 2)
    write_pictures([twice], tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
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


@pytest.mark.parametrize(
    ("ratios", "found"),
    [
        ({"send": [1.2] * 4, "receive": [1.3] * 4, "both": [1.4] * 4}, (1.2, 1.2)),
        ({"send": [2.0] * 4, "receive": [0.9] * 4, "both": [1.4] * 4}, (0.9, 0.9)),
        ({"send": [2.0] * 4, "receive": [2.0] * 4, "both": [0.8, 1.0, 1.2, 1.4]}, (1.1, 0.95)),
    ],
)
def test_a_message_is_as_good_as_its_worst_direction(
    ratios: dict[str, list[float]], found: tuple[float, float]
) -> None:
    engines = {(use, "mpi-pack"): [1.5] * 4 for use in ("pack", "unpack")}
    rows = tuning_rows(grid({(use, "datatype"): each for use, each in ratios.items()} | engines))
    assert [(row.use, row.lines, row.bytes, row.run) for row in rows] == [
        (use, "dense", 512, 8) for use in ("message", "pack", "unpack")
    ]
    assert (rows[0].ratio, rows[0].low) == found and rows[1].ratio == 1.5


def test_each_side_of_open_mpis_engine_is_judged_by_itself() -> None:
    ratios = {("send", "datatype"): [1.2] * 4, ("receive", "datatype"): [0.9] * 4}
    ratios |= {
        ("both", "datatype"): [1.3] * 4,
        ("pack", "mpi-pack"): [2.0] * 4,
        ("unpack", "mpi-pack"): [2.0] * 4,
    }
    study = replace(grid(ratios), setting=Setting("openmpi", OPEN_MPI))
    expected = [("send", 1.2), ("receive", 0.9), ("pack", 2.0), ("unpack", 2.0)]
    assert [(row.use, row.ratio) for row in tuning_rows(study)] == expected
    with pytest.raises(RunError, match="nothing was measured"):
        tuning_rows()


def grid(ratios: dict[tuple[str, str], list[float]], case: str = "grid/512/8") -> Study:
    """A grid of one case: times over ours by use and way, a number per round."""
    study = Study(Setting("mpich", MPICH), "grid")
    for turn in range(4):
        keys = {(case, use, way): values[turn] for (use, way), values in ratios.items()}
        study.plain.append(launch({key: 1000.0 * value for key, value in keys.items()}))
        study.library.append(launch(dict.fromkeys(keys, 1000.0)))
    return study


def test_rounds_in_which_the_cores_moved_apart_are_done_again() -> None:
    def told(*latencies: float) -> Launch:
        return Launch({}, 0.0, latencies)

    asked: list[str] = []

    def launches(name: str, *found: Launch) -> Callable[[], Launch]:
        left = iter(found)

        def one() -> Launch:
            asked.append(name)
            return next(left)

        return one

    near, far = told(50, 55), told(250, 240)
    pair = [launches("plain", near, far), launches("library", far, far)]
    assert steady_round(pair, 2) == (far, far)
    assert asked == ["plain", "library"] * 2
    asked.clear()
    # The second time is no better, and there is no third: the first counts.
    worse = told(50, 400)
    pair = [launches("plain", near, worse), launches("library", far, worse)]
    assert steady_round(pair, 1, backwards=True) == (near, far)
    assert asked == ["library", "plain"] * 2
    assert distance([near, far]) == 5 and distance([told()]) == 1
    # Latencies below 50 ns are seen from time to time between the same two cores.
    assert distance([told(15, 50), told(70)]) == 1.4


def test_rounds_whose_launches_saw_different_distances_say_nothing_of_a_ratio() -> None:
    near, far = Launch({}, 0.0, (60,)), Launch({}, 0.0, (240,))
    rounds = Study(Setting("mpich", MPICH), "grid", [near, far, near], [near, far, far])
    kept = rounds.steady()
    assert (kept.plain, kept.library, kept.left_out) == ([near, far], [near, far], 1)
    mixed = Study(Setting("mpich", MPICH), "grid", [near, far], [far, near])
    assert mixed.steady() == mixed


def test_the_remark_says_how_many_rounds_were_left_out() -> None:
    rounds = sweep("paper", {4: 1000.0}, 1000.0)
    result = BenchResult("m", (rounds, replace(rounds, left_out=2)), (), (), ())
    assert "; rounds left out because the cores moved: 2; contiguous" in noise_text(result)
    assert "left out" not in noise_text(BenchResult("m", (rounds,), (), (), ()))
