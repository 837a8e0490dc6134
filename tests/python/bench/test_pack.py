"""`corewise bench pack` without an MPI: what is understood, what numbers say, tunings, refused input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from installed_tool import assert_one_line_error, corewise

from corewise._core import packing_decision
from corewise.bench.pack.rows import Goal, claims_of, crossover, goals_of, rows_of
from corewise.bench.pack.runs import (
    OURS,
    Launch,
    Setting,
    Study,
    Time,
    distance,
    parse,
    steady_round,
    two_processors,
)
from corewise.bench.pack.study import (
    MOST_BYTES,
    TUNING_GAIN,
    BenchResult,
    packed_ranges,
    parts_of,
    tuning_rows,
)
from corewise.bench.pack.turns import Turn, best_turn, confirmed
from corewise.bench.pack.views import bench_figures, bench_tables, noise_text
from corewise.cli.main import execute
from corewise.data.packing_tuning import (
    LINES,
    USES,
    PackingRow,
    PackingTuning,
    load_packing_tuning,
    packing_tuning_text,
    parse_packing_tuning,
    ranges_of,
    save_packing_tuning,
)
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


def test_a_row_names_the_quickest_rival_and_is_above_one_where_ours_is_quicker() -> None:
    (row,) = rows_of(sweep("paper", {64: 800.0}, ours=400.0))
    assert (row.id, row.rival, row.theirs, row.ours, row.floor) == (
        "mpich/constant/64/both",
        "datatype",
        0.8,
        0.4,
        0.5,
    )
    assert row.ratio == 2.0 and row.n == 2 and row.ways["loop"] == 1.0
    assert set(row.to_json()) >= {
        "id",
        "what",
        "unit",
        "ours",
        "rival",
        "theirs",
        "floor",
        "ratio",
        "spread",
        "n",
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


def test_goals_give_the_mean_and_the_worst_case() -> None:
    study = sweep("columns", {8: 400.0, 64: 1600.0}, ours=400.0)
    (goal,) = goals_of(study)
    assert (goal.least, goal.worst, goal.count) == (1.0, "constant/8 both", 2)
    assert (goal.must, goal.must_least, goal.aim, goal.holds) == (1.0, None, 1.3, True)
    assert goal.mean == pytest.approx(2.5**0.5, abs=1e-3)  # beside 64 B the loops are quickest: 2.5
    engine = Study(Setting("mpich", MPICH), "mpi-pack")
    key = ("constant/256", "pack")
    engine.plain.append(launch({(*key, "mpi-pack"): 900.0, (*key, "loop"): 300.0}))
    engine.library.append(launch({(*key, "mpi-pack"): 450.0}))
    found = {(goal.what, goal.rival): goal.mean for goal in goals_of(engine)}
    assert found["MPI_Pack", "mpi-pack"] == 2.0 and found["MPI_Pack, 128 B to 8 KB", "mpi-pack"] == 2.0
    assert found["MPI_Pack, beside a loop by hand", "loop"] == pytest.approx(0.667)


@pytest.mark.parametrize(("manual", "holds"), [(1100.0, True), (900.0, False)])
def test_applications_are_held_against_manual_packing(manual: float, holds: bool) -> None:
    study = Study(Setting("openmpi", MPICH), "applications")
    keys = [(case, "both") for case in ("mg_x/34", "lammps_full/300")]
    study.plain.append(launch({(*key, way): manual for key in keys for way in ("manual", "datatype")}))
    study.library.append(launch({(*key, "datatype"): 1000.0 for key in keys}))
    found = {goal.rival: goal for goal in goals_of(study)}
    assert (found["manual"].must_least, found["manual"].holds) == (1.0, holds)
    assert (found["best way"].aim, found["best way"].count) == (1.5, 2)


@pytest.mark.parametrize(
    ("datatype", "holds"),
    [
        ({64: 1300.0, 4096: 1300.0}, True),
        ({64: 1100.0, 4096: 1100.0}, False),  # the mean is too small
        ({64: 2000.0, 4096: 900.0}, False),  # one case is under 0.95
    ],
)
def test_both_sweeps_together_are_held_against_what_is_asked(datatype: dict[int, float], holds: bool) -> None:
    study = sweep("paper", datatype, ours=1000.0, hand=9000.0)
    (goal,) = [each for each in goals_of(study) if each.what == "strided, both sweeps"]
    assert (goal.must, goal.must_least, goal.aim, goal.holds) == (1.2, 0.95, 1.3, holds)
    short = next(each for each in goals_of(study) if each.what == "strided, blocks up to 256 B")
    assert (short.must, short.count, short.holds) == (5.0, 1, False)  # what MPICH with CMA must show


def goal_of(study: Study, what: str, rival: str) -> Goal:
    (found,) = [goal for goal in goals_of(study) if (goal.what, goal.rival) == (what, rival)]
    return found


def test_a_goal_says_what_packing_in_no_time_would_reach() -> None:
    # Contiguous messages take 500 ns; of 64 B the quickest way is a datatype, of 4 KB a loop.
    study = sweep("paper", {64: 550.0, 4096: 2000.0}, ours=800.0)
    both = goal_of(study, "strided, both sweeps", "best way")
    assert both.bound == pytest.approx((1.1 * 2.0) ** 0.5, abs=1e-3) and both.bound_least == 1.1
    assert both.holds is False and both.within_reach
    short = goal_of(study, "strided, blocks up to 256 B", "datatype")
    assert (short.must, short.bound, short.bound_least, short.within_reach) == (5.0, 1.1, 1.1, False)


def test_a_bound_is_never_below_a_ratio_that_was_measured() -> None:
    # A datatype is quicker than as many contiguous bytes, and ours is quicker still.
    study = sweep("paper", {64: 400.0}, ours=250.0)
    both = goal_of(study, "strided, both sweeps", "best way")
    assert both.mean == both.bound == both.bound_least == 1.6
    # So is one that each round finds, whatever the rounds have in common.
    for index, launches in enumerate((study.plain, study.library)):
        launches[1] = launch({key: (3 + index) * time.median for key, time in launches[1].times.items()})
    assert goal_of(study, "strided, both sweeps", "best way").bound == 1.6


def test_an_engines_bound_is_that_of_touching_its_lines() -> None:
    engine = Study(Setting("openmpi", OPEN_MPI), "mpi-pack")
    keys = [("constant/32", direction) for direction in ("pack", "unpack")]
    ways = {"mpi-pack": 1200.0, "loop": 1000.0, "lines": 900.0}
    engine.plain.append(launch({(*key, way): ns for key in keys for way, ns in ways.items()}))
    engine.library.append(
        launch({(*key, way): ns for key in keys for way, ns in {"mpi-pack": 960.0, "loop": 1000.0}.items()})
    )
    asked = goal_of(engine, "MPI_Pack, 16 to 64 B", "mpi-pack")
    assert (asked.mean, asked.bound, asked.holds, asked.within_reach) == (1.25, 1.333, False, False)
    assert goal_of(engine, "MPI_Unpack, beside a loop by hand", "loop").bound == 1.111
    row = next(iter(rows_of(engine)))
    assert (row.rival, row.floor, row.ways["lines"]) == ("mpi-pack", 0.9, 0.9)
    table = next(iter(bench_tables(BenchResult("h", (engine,), (), (), tuple(goals_of(engine))))))
    assert table.columns[:3] == ("block", "lines", "MPI") and table.rows[0][:3] == (
        "32 B pack",
        "0.90",
        "1.20",
    )


@pytest.mark.parametrize(
    ("must", "bound", "holds", "said"),
    [
        (1.2, 1.5, True, "mean 1.2: yes"),
        (1.2, 1.5, False, "mean 1.2: no"),
        (1.2, 1.1, False, "mean 1.2: no, out of reach"),
    ],
)
def test_the_table_says_what_is_out_of_reach(must: float, bound: float, holds: bool, said: str) -> None:
    goal = Goal("mpich", "what", "loop", 1.0, 1.0, "a case", 1, must, holds=holds, bound=bound)
    study = sweep("columns", {64: 500.0}, ours=400.0)
    table = list(bench_tables(BenchResult("h", (study,), (), (), (goal,))))[-1]
    assert table.columns[-2:] == ("bound", "must be") and table.rows[0][-2:] == (f"{bound:.2f}", said)
    assert table.note.startswith("bound: the mean of a library whose packing took no time; ")


def test_parts_are_named() -> None:
    assert parts_of("all") == ("paper", "columns", "applications", "mpi-pack")
    assert parts_of("columns") == ("columns",)
    with pytest.raises(InputError, match="--set: found 'rows', allowed: paper"):
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


def test_pictures_show_ours_as_it_would_be_in_the_other_launch(tmp_path: Path) -> None:
    study = sweep("paper", {4: 500.0, 2048: 900.0}, ours=400.0)
    for index, each in enumerate(study.library):  # all of it in half the time: the cores were nearer
        study.library[index] = launch({key: time.median / 2 for key, time in each.times.items()})
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
        (["--set", "rows"], "--set: found 'rows', allowed: paper, columns, applications, mpi-pack, all"),
        (["-o", "plot.gif"], "-o plot.gif: found the ending '.gif', allowed: .svg, .png"),
        (["--set", "columns", "-o", "p.svg"], "-o: found with --set columns, allowed: --set paper or all"),
        (["--tune", "a.toml"], "--tune: found --mpi both, allowed: one MPI"),
        (
            ["--mpi", "mpich", "--tune", "nowhere/a.toml"],
            "nowhere/a.toml: cannot be written: there is no folder",
        ),
        (["--tune", "a.toml", "-o", "p.svg"], "-o: found with --tune, allowed: one of them"),
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
    assert_one_line_error(corewise("bench", "pack", "--set", "rows", cwd=tmp_path), "--set: found 'rows'")


# ---- tunings ---------------------------------------------------------------------------------------------

TUNING = PackingTuning(
    "a processor",
    "mpich 5.0.2",
    "corewise 0",
    "2026-11-22",
    'corewise bench pack --tune "a b"',
    (
        PackingRow("send", "dense", 4096, (), (8, 64), (2.0, 1.0), (1.0, 1.0)),
        PackingRow("send", "dense", 32768, ((0, 8), (64, 64)), (8, 16, 64), (1.0,) * 3, (2.0, 1.0, 1.5)),
        PackingRow("send", "sparse", 32768, (), (8, 64), (1.0, 1.0), (1.0, 1.0)),
        PackingRow("unpack", "dense", 32768, ((0, 8),), (8,), (1.0,), (1.25,)),
    ),
    rotate=1 << 20,
    rotate_from=8192,
)


def test_a_tuning_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    save_packing_tuning(TUNING, tmp_path / "t.toml")
    assert load_packing_tuning(tmp_path / "t.toml") == TUNING
    assert TUNING.knob() == "send=4096:0,32768:8+64-64;send.sparse=32768:0;unpack=32768:8;rotate=1048576:8192"
    still = replace(TUNING, rotate=0, rotate_from=0)
    assert "rotate" not in still.knob() + packing_tuning_text(still)
    assert parse_packing_tuning(packing_tuning_text(still)) == still


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "version = 3",
            "version = 2",
            "t.toml: version: found 2, allowed: 3; corewise bench pack --tune writes",
        ),
        ("version = 3", "version = 1", "t.toml: version: found 1, allowed: 3"),
        ("version = 3", "version = true", "t.toml: version: found True, allowed: 3"),
        ("rotate = 1048576", "rotate = -1", "t.toml: rotate: found -1, allowed: a whole number from 0"),
        ("rotate = 1048576", "rotate = true", "t.toml: rotate: found True, allowed: a whole number from 0"),
        ('host = "a processor"', "", "t.toml: host: found nothing, allowed: a text"),
        (
            'use = "unpack"',
            'use = "copy"',
            "t.toml: row[3].use: found 'copy', allowed: send, receive, both, pack, unpack",
        ),
        ("runs = [[0, 8], [64, 64]]", "runs = 8", "t.toml: row[1].runs: found 8, allowed: rising pairs"),
        ("runs = [[0, 8], [64, 64]]", "runs = [[0, 8], [8, 64]]", "row[1].runs: found [[0, 8], [8, 64]]"),
        ("runs = [[0, 8], [64, 64]]", "runs = [[8, 4]]", "row[1].runs: found [[8, 4]], allowed: rising"),
        ("runs = [[0, 8], [64, 64]]", "run = 64", "t.toml: row[1].run: found an unknown field, allowed: use"),
        ('lines = "sparse"', 'lines = "thin"', "row[2].lines: found 'thin', allowed: dense, sparse"),
        (
            'use = "send"\nlines = "sparse"',
            'use = "receive"\nlines = "sparse"',
            "t.toml: row: found receive, sparse alone, allowed: with rows of dense",
        ),
        (
            "bytes = 4096",
            "bytes = 65536",
            "t.toml: row[1].bytes: found 32768 after 65536 for send, dense, allowed: rising",
        ),
        (
            "measured_runs = [8]",
            "measured_runs = [8, 8]",
            "row[3].measured_runs: found [8, 8], allowed: one or more",
        ),
        ("theirs_us = [1.25]", "theirs_us = [0]", "row[3].theirs_us: found [0], allowed: 1 positive numbers"),
        ("[[row]]", "[row", "t.toml: not TOML"),
        ("theirs_us = [1.25]", f"theirs_us = [1{'0' * 400}]", "row[3].theirs_us: found [1000"),
        (
            "bytes = 4096",
            f"bytes = {2**63}",
            f"bytes: found {2**63}, allowed: a whole number from 1 to {2**63 - 1}",
        ),
        (
            "runs = [[0, 8], [64, 64]]",
            f"runs = [[0, {2**63}]]",
            "row[1].runs: found [[0, 9223372036854775808]]",
        ),
        ("[[row]]", f"deep = {'[' * 5000}\n[[row]]", "t.toml: not TOML"),
        ("[[row]]", f"long = {'1' * 5000}\n[[row]]", "t.toml: not TOML"),
    ],
)
def test_wrong_tunings_are_refused_with_their_field(before: str, after: str, said: str) -> None:
    text = packing_tuning_text(TUNING)
    assert before in text
    with pytest.raises(InputError) as error:
        parse_packing_tuning(text.replace(before, after), "t.toml")
    assert said in str(error.value)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_table_is_the_same_after_writing_and_reading(data: st.DataObject) -> None:
    rows = []
    for use in data.draw(st.lists(st.sampled_from(USES), min_size=1, unique=True)):
        for lines in LINES[: data.draw(st.integers(1, 2))]:
            for size in sorted(data.draw(st.sets(st.integers(1, 1 << 30), min_size=1, max_size=4))):
                runs = sorted(data.draw(st.sets(st.integers(1, 1 << 20), min_size=1, max_size=6)))
                won = data.draw(st.lists(st.booleans(), min_size=len(runs), max_size=len(runs)))
                times = (1.5,) * len(runs)
                rows.append(PackingRow(use, lines, size, ranges_of(runs, won), tuple(runs), times, times))
    rotate = data.draw(st.integers(0, 1 << 40))
    least = data.draw(st.integers(0, 1 << 40)) if rotate else 0
    tuning = PackingTuning("h", "m", "w", "2026-11-22", "c", tuple(rows), rotate, least)
    assert parse_packing_tuning(packing_tuning_text(tuning)) == tuning
    decided = rows[data.draw(st.integers(0, len(rows) - 1))]
    density = 1.0 if decided.lines == "dense" else 0.1
    for run in decided.measured_runs:
        wanted = any(least <= run <= most for least, most in decided.runs)
        assert packing_decision(tuning.knob(), decided.use, decided.bytes, run, density)[0] == wanted


def test_ranges_are_what_won_side_by_side() -> None:
    assert ranges_of((8, 64, 512), (True, True, True)) == ((0, 512),)
    assert ranges_of((8, 64, 512), (True, False, True)) == ((0, 8), (512, 512))
    assert ranges_of((8, 64, 512, 4096), (False, True, True, False)) == ((64, 512),)
    assert ranges_of((8, 64), (False, False)) == ()


def grid(ratios: dict[tuple[str, str], list[float]], case: str = "grid/512/8") -> Study:
    """A grid of one case: times over ours by use and way, a number per round."""
    study = Study(Setting("mpich", MPICH), "grid")
    for turn in range(4):
        keys = {(case, use, way): values[turn] for (use, way), values in ratios.items()}
        study.plain.append(launch({key: 1000.0 * value for key, value in keys.items()}))
        study.library.append(launch(dict.fromkeys(keys, 1000.0)))
    return study


@pytest.mark.parametrize(
    ("send", "receive", "both", "packed"),
    [
        ([1.2] * 4, [1.2] * 4, [1.4] * 4, {"send", "receive", "both"}),
        ([0.98] * 4, [1.2] * 4, [1.4] * 4, {"receive", "both"}),
        ([1.2] * 4, [1.2] * 4, [1.02] * 4, {"send", "receive"}),  # too little
        ([1.2] * 4, [1.0] * 4, [0.8, 0.9, 1.3, 1.4], {"send"}),  # in half of the rounds only
    ],
)
def test_messages_are_taken_over_where_they_won_by_more_than_the_noise(
    send: list[float], receive: list[float], both: list[float], packed: set[str]
) -> None:
    engines = {(use, "mpi-pack"): [1.0] * 4 for use in ("pack", "unpack")}
    study = grid(
        {("send", "datatype"): send, ("receive", "datatype"): receive, ("both", "datatype"): both} | engines
    )
    rows = tuning_rows(study)
    assert {row.use for row in rows if row.runs} == packed
    assert list(dict.fromkeys(row.use for row in rows)) == list(USES) and rows[0].measured_runs == (8,)


@pytest.mark.parametrize(
    ("ratios", "ranges"),
    [
        ([1.5, 1.5, 1.5], ((0, 256),)),
        ([2.0, 2.0, 0.5], ((0, 64),)),  # the logarithms cross 1 half-way from 16 to 256
        ([0.5, 2.0, 0.5], ((8, 64),)),
        ([4.0, 4.0, 0.5], ((0, 101),)),
        ([2.0, 1.01, 2.0], ((0, 256),)),  # too little to be sure: as its neighbours
        ([2.0, 1.01, 0.5], ((0, 15),)),  # which do not agree
        ([2.0, 2.0, 1.01], ((0, 255),)),
        ([2.0, 0.99, 2.0], ((0, 15), (17, 256))),
        ([0.9, 0.9, 0.9], ()),
    ],
)
def test_the_border_lies_where_ratios_cross_one(
    ratios: list[float], ranges: tuple[tuple[int, int], ...]
) -> None:
    assert packed_ranges((4, 16, 256), [[each] * 4 for each in ratios]) == ranges


def turns(gains: dict[int, float]) -> Study:
    """A study in which turns made messages of some bytes so much quicker."""
    study = Study(Setting("mpich", MPICH), "turns")
    keys = {
        (f"grid/{size}/256", use, "datatype"): gain
        for size, gain in gains.items()
        for use in ("send", "both")
    }
    study.plain.append(launch({key: 1000.0 * gain for key, gain in keys.items()}))
    study.library.append(launch(dict.fromkeys(keys, 1000.0)))
    return study


@pytest.mark.parametrize(
    ("studies", "best"),
    [
        ({1 << 20: {2048: 0.9, 8192: 1.2, 32768: 1.5}}, Turn(1 << 20, 8192)),
        ({1 << 20: {2048: 0.9, 8192: 0.9, 32768: 0.9}}, Turn(0, 0)),
        ({1 << 20: {2048: 0.95, 8192: 1.03, 32768: 1.08}}, Turn(0, 0)),  # not worth the cache
        ({1 << 20: {2048: 1.2, 8192: 0.9, 32768: 1.5}}, Turn(1 << 20, 32768)),
        (
            {
                1 << 20: {8192: 1.2, 32768: 1.5},
                1 << 21: {8192: 1.5, 32768: 2.0},
                1 << 22: {8192: 1.5, 32768: 2.01},
            },
            Turn(1 << 21, 8192),
        ),
    ],
)
def test_turns_are_taken_from_the_size_on_from_which_they_pay(
    studies: dict[int, dict[int, float]], best: Turn
) -> None:
    assert best_turn({rotate: turns(gains) for rotate, gains in studies.items()}) == best


def test_a_turn_that_was_lucky_is_not_taken() -> None:
    """It is measured twice, and taken from the size on from which both times say so."""
    first = Turn(1 << 21, 8192)
    assert confirmed(first, Turn(1 << 21, 8192)) == first
    assert confirmed(first, Turn(1 << 21, 32768)) == Turn(1 << 21, 32768)
    assert confirmed(first, Turn(1 << 21, 2048)) == first
    assert confirmed(first, Turn(0, 0)) == Turn(0, 0)


def test_a_measured_size_stands_for_its_neighbours() -> None:
    study = Study(Setting("mpich", MPICH), "grid")
    uses = {
        "send": "datatype",
        "receive": "datatype",
        "both": "datatype",
        "pack": "mpi-pack",
        "unpack": "mpi-pack",
    }
    keys = [
        (f"{name}/{size}/8", use, way)
        for name, sizes in (("grid", (512, 2048, 8192)), ("sparse", (512,)))
        for size in sizes
        for use, way in uses.items()
    ]
    study.plain.append(launch(dict.fromkeys(keys, 2000.0)))
    study.library.append(launch(dict.fromkeys(keys, 1000.0)))
    rows = [row for row in tuning_rows(study) if row.use == "send"]
    assert [(row.lines, row.bytes, row.runs) for row in rows] == [
        ("dense", 1024, ((0, 8),)),
        ("dense", 4096, ((0, 8),)),
        ("dense", 12288, ((0, 8),)),
        ("dense", MOST_BYTES, ((0, 8),)),
        ("sparse", 768, ((0, 8),)),
        ("sparse", MOST_BYTES, ((0, 8),)),
    ]
    assert rows[0].theirs_us == (2.0,) and rows[0].ours_us == (1.0,)


def test_a_table_tells_times_as_it_compares_them() -> None:
    study = Study(Setting("mpich", MPICH), "grid")
    case = "grid/8192/8"

    def told(contiguous: float, other: float) -> Launch:
        uses = [("send", "datatype"), ("receive", "datatype"), ("both", "datatype")]
        times = {
            (case, use, way): other for use, way in [*uses, ("pack", "mpi-pack"), ("unpack", "mpi-pack")]
        }
        return launch({**times, (case, "send", "contiguous"): contiguous})

    # The processors were half as quick while the library ran.
    study.plain.append(told(1000.0, 3000.0))
    study.library.append(told(2000.0, 4000.0))
    rows = {row.use: row for row in tuning_rows(study)}
    assert rows["send"].runs == ((0, 8),) and rows["receive"].runs == ()
    assert (rows["send"].ours_us, rows["send"].theirs_us) == ((2.0,), (3.0,))


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


def test_a_table_is_one_of_all_its_studies() -> None:
    ratios = {(use, "datatype"): [1.5] * 4 for use in ("send", "receive", "both")}
    ratios |= {(use, "mpi-pack"): [0.5] * 4 for use in ("pack", "unpack")}
    long = grid({key: [2 - each for each in values] for key, values in ratios.items()}, "grid/131072/8")
    rows = tuning_rows(grid(ratios), long)
    assert [(row.use, row.bytes, row.runs) for row in rows if row.use in ("send", "pack")] == [
        ("send", 8192, ((0, 8),)),
        ("send", 196608, ()),
        ("send", MOST_BYTES, ()),
        ("pack", 8192, ()),
        ("pack", 196608, ((0, 8),)),
        ("pack", MOST_BYTES, ((0, 8),)),
    ]


def test_the_documented_tuning_is_a_tuning_and_means_what_the_page_says() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "formats" / "packing-tuning.md").read_text()
    tuning = parse_packing_tuning(page.split("```")[1].removeprefix("toml"), "the page")
    assert f"`{tuning.knob()}`" in page
    for row in tuning.rows:
        won = [b >= TUNING_GAIN * a for a, b in zip(row.ours_us, row.theirs_us, strict=True)]
        assert row.runs == ranges_of(row.measured_runs, won)
