"""`corewise bench pack` without an MPI: what is understood, what numbers say, tunings, refused input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
from installed_tool import assert_one_line_error, corewise

from corewise.analysis.bench_pack import TUNING_GAIN, BenchResult, parts_of, tuning_rows
from corewise.analysis.bench_pack_rows import claims_of, crossover, goals_of, rows_of
from corewise.analysis.bench_pack_runs import (
    OURS,
    Launch,
    Setting,
    Study,
    Time,
    parse,
    two_processors,
)
from corewise.analysis.bench_pack_views import bench_figures, bench_tables
from corewise.cli.main import execute
from corewise.data.packing_tuning import (
    PackingRow,
    PackingTuning,
    load_packing_tuning,
    longest_run,
    packing_tuning_text,
    parse_packing_tuning,
    save_packing_tuning,
)
from corewise.errors import InputError, RunError
from corewise.mpi.find import MpiLibrary
from corewise.plots.bench_pack import check_picture, write_pictures

MPICH = MpiLibrary("mpich", "5.0.2", Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), (), ())
WAYS = ("contiguous", "datatype", "mpi-pack", "loop", "assignment", "memcpy", "memcpy-prefetch")


def launch(times: dict[tuple[str, str, str], float], foreign: float = 0.01) -> Launch:
    return Launch({key: Time(32768, ns, ns, ns, 9) for key, ns in times.items()}, foreign)


def sweep(part: str, datatype: dict[int, float], ours: float, hand: float = 1000.0) -> Study:
    """Two rounds in which every way but datatypes takes `hand` at every size, the baseline half of it."""
    study = Study(Setting("mpich", MPICH), part)
    for _ in range(2):
        times = {}
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
        "machine seconds=0.5 foreign=0.0212\n"
    )
    assert found.foreign == 0.0212
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
    assert goal.mean == pytest.approx(2.5**0.5, abs=1e-3)  # beside 64 B the loops are quickest: 2.5
    engine = Study(Setting("mpich", MPICH), "mpi-pack")
    key = ("constant/256", "pack")
    engine.plain.append(launch({(*key, "mpi-pack"): 900.0, (*key, "loop"): 300.0}))
    engine.library.append(launch({(*key, "mpi-pack"): 450.0}))
    found = {(goal.what, goal.rival): goal.mean for goal in goals_of(engine)}
    assert found["MPI_Pack", "mpi-pack"] == 2.0 and found["MPI_Pack, 128 B to 8 KB", "mpi-pack"] == 2.0
    assert found["MPI_Pack, beside a loop by hand", "loop"] == pytest.approx(0.667)


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
        PackingRow("send", 4096, 0, (8, 64), (2.0, 1.0), (1.0, 1.0)),
        PackingRow("send", 32768, 64, (8, 64), (1.0, 1.0), (2.0, 1.5)),
        PackingRow("unpack", 32768, 8, (8,), (1.0,), (1.25,)),
    ),
)


def test_a_tuning_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    save_packing_tuning(TUNING, tmp_path / "t.toml")
    assert load_packing_tuning(tmp_path / "t.toml") == TUNING
    assert TUNING.knob() == "send=4096:0,32768:64;unpack=32768:8"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("version = 1", "version = 2", "t.toml: version: found 2, allowed: 1"),
        ("version = 1", "version = true", "t.toml: version: found True, allowed: 1"),
        ('host = "a processor"', "", "t.toml: host: found nothing, allowed: a text"),
        (
            'use = "unpack"',
            'use = "copy"',
            "t.toml: row[2].use: found 'copy', allowed: send, receive, pack, unpack",
        ),
        ("run = 64", "run = -1", "t.toml: row[1].run: found -1, allowed: a whole number from 0"),
        ("run = 64", "runs = 64", "t.toml: row[1].runs: found an unknown field, allowed: use, bytes, run"),
        (
            "bytes = 4096",
            "bytes = 65536",
            "t.toml: row[1].bytes: found 32768 after 65536 for send, allowed: rising",
        ),
        (
            "measured_runs = [8]",
            "measured_runs = [8, 8]",
            "row[2].measured_runs: found [8, 8], allowed: one or more",
        ),
        ("theirs_us = [1.25]", "theirs_us = [0]", "row[2].theirs_us: found [0], allowed: 1 positive numbers"),
        ("[[row]]", "[row", "t.toml: not TOML"),
    ],
)
def test_wrong_tunings_are_refused_with_their_field(before: str, after: str, said: str) -> None:
    text = packing_tuning_text(TUNING)
    assert before in text
    with pytest.raises(InputError) as error:
        parse_packing_tuning(text.replace(before, after), "t.toml")
    assert said in str(error.value)


def test_a_run_is_packed_up_to_the_first_length_that_does_not_pay() -> None:
    assert longest_run((8, 64, 512), (1, 1, 1), (2, 2, 2), 1.05) == 512
    assert longest_run((8, 64, 512), (1, 1, 1), (2, 1.04, 2), 1.05) == 8
    assert longest_run((8, 64), (1, 1), (1, 9), 1.05) == 0


def test_tuning_rows_come_from_the_grid() -> None:
    study = Study(Setting("mpich", MPICH), "grid")
    plain, library = {}, {}
    for size in (512, 4096):
        for run in (8, 256):
            for use, way in (
                ("send", "datatype"),
                ("receive", "datatype"),
                ("pack", "mpi-pack"),
                ("unpack", "mpi-pack"),
            ):
                key = (f"grid/{size}/{run}", use, way)
                plain[key] = 2000.0 if run == 8 else 1000.0
                library[key] = 1000.0
    study.plain.append(launch(plain))
    study.library.append(launch(library))
    rows = tuning_rows(study)
    assert [(row.use, row.run) for row in rows] == [
        (use, 8) for use in ("send", "receive", "pack", "unpack") for _ in "12"
    ]
    assert [row.bytes for row in rows[:2]] == [512, 16 * 1024 * 1024]
    assert rows[0].measured_runs == (8, 256) and rows[0].theirs_us == (2.0, 1.0)


def test_the_documented_tuning_is_a_tuning_and_means_what_the_page_says() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "formats" / "packing-tuning.md").read_text()
    tuning = parse_packing_tuning(page.split("```")[1].removeprefix("toml"), "the page")
    assert f"`{tuning.knob()}`" in page
    assert [row.run for row in tuning.rows] == [
        longest_run(row.measured_runs, row.ours_us, row.theirs_us, TUNING_GAIN) for row in tuning.rows
    ]
