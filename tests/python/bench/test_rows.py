"""Rows of benchmarks: medians and ratios of rounds, ids, demands; what every command prints of them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import os
import pty
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import documents
import pytest
import typer
from installed_tool import COREWISE

from corewise.bench import mpis, programs
from corewise.bench.collectives import port as collectives
from corewise.bench.mapping import trees
from corewise.bench.pack import study as packing
from corewise.bench.peers import SIMGRID, UFTRACE
from corewise.bench.programs import Program
from corewise.bench.recogniser import study as recogniser
from corewise.bench.rounds import alone, beside, in_turns
from corewise.bench.rows import Listener, Outcome, Row, stamped
from corewise.bench.sim import messages
from corewise.bench.views import table
from corewise.cli.bench import pack, sim
from corewise.cli.main import build_app, execute
from corewise.errors import InputError, RunError

FIELDS = {
    *("id", "what", "unit", "ours", "rival", "theirs", "floor", "ratio", "spread", "n"),
    *("processor", "mpi"),
}
"""What every row of every benchmark has."""
PACKED = Row(
    *("pack/mpich/constant/64/send", "a step", "us", 1.0, "datatype", 2.0, 0.5, 2.0, 0.1, 5, "mpich 5.0"),
    more={"processor": "Maker-1-2", "ways": {"datatype": 2.0}},
)
QUESTIONS = (
    "sim",
    "simmpi",
    "port",
    "collectives",
    "profiler",
    "mapping",
    "recogniser",
    "copy",
    "pack",
    "node",
    "fft",
)
BLANK = Row("sim-one", "something", "ns", None, "another", floor=3.0)
ROW = replace(BLANK, ours=10.0, theirs=30.0, ratio=3.0, spread=0.1, n=9)


# --- rounds to rows ---------------------------------------------------------------------------------------


def test_a_ratio_is_taken_within_its_round() -> None:
    row = beside(BLANK, [10.0, 20.0, 40.0], [30.0, 40.0, 80.0])
    assert (row.ours, row.theirs, row.ratio, row.n) == (20, 40, 2, 3)
    assert row.spread == 0.25  # quartiles of 2, 2, 3 are 2 and 2.5
    assert (row.id, row.rival, row.floor) == ("sim-one", "another", 3)


def test_where_more_is_better_the_ratio_is_the_other_way_round() -> None:
    assert beside(BLANK, [10.0, 20.0], [5.0, 10.0], more_is_better=True).ratio == 2


def test_what_was_added_may_be_nothing() -> None:
    assert beside(BLANK, [0.0, 10.0, 10.0], [30.0, 30.0, 40.0]).ratio == 4  # of infinite, 3 and 4
    nothing = beside(BLANK, [-1.0, 0.0, 10.0], [30.0, 30.0, 40.0])
    assert (nothing.ratio, nothing.spread, nothing.ours) == (None, None, 0)


def test_without_a_rival_the_spread_is_of_ours() -> None:
    row = alone(BLANK, [10.0, 20.0, 30.0])
    assert (row.ours, row.theirs, row.ratio, row.spread, row.n) == (20, None, None, 0.5, 3)
    assert alone(BLANK, [10.0]).spread is None


@pytest.mark.parametrize(
    ("value", "told"), [(1234567.8, 1234568), (0.000123461, 0.0001235), (math.inf, None)]
)
def test_values_have_four_significant_digits(value: float, told: float | None) -> None:
    assert alone(BLANK, [value]).ours == told


def test_everybody_is_first_in_turn_and_progress_is_told() -> None:
    order: list[str] = []
    shares: list[float] = []
    contestants = {name: (lambda name=name: order.append(name)) for name in ("a", "b", "c")}
    found = in_turns(contestants, 3, shares.append)
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert [set(each) for each in found] == [{"a", "b", "c"}] * 3
    assert shares == sorted(shares) and len(shares) == 9 and shares[-1] == 1


def test_a_part_of_the_work_fills_its_part_of_the_bar() -> None:
    shares: list[float] = []
    part = Listener(shares.append).part(0.5, 1)
    part.progress(0)
    part.part(0.5, 1).progress(1)
    assert shares == [0.5, 1]


# --- ids, demands -----------------------------------------------------------------------------------------


def test_every_row_has_processor_and_mpi() -> None:
    (row,) = stamped("sim", "A processor", [ROW.to_json()])
    assert set(row) >= FIELDS
    assert (row["processor"], row["mpi"]) == ("A processor", None)


@pytest.mark.parametrize("ids", [("sim-a", "sim-a"), ("sim-a", "port-a"), ("a", "sim-a"), ("simple",)])
def test_ids_are_unique_and_of_their_question(ids: Sequence[str]) -> None:
    with pytest.raises(AssertionError, match="bench sim"):
        stamped("sim", "A processor", [{**ROW.to_json(), "id": each} for each in ids])


def test_a_demand_is_missed_below_it_and_where_nobody_was_there() -> None:
    rows = (
        replace(ROW, id="sim-a", demand=3.0),
        replace(ROW, id="sim-b", demand=3.1),
        replace(ROW, id="sim-c", ratio=None, demand=1.0),
        replace(ROW, id="sim-d", ratio=None),
    )
    missed = Outcome("sim", rows).missed()
    assert missed == ["sim-b: ratio 3.0, demanded: 3.1 or more", "sim-c: not compared"]


# --- what the commands print ------------------------------------------------------------------------------


def outcome(**fields: object) -> Outcome:
    rows = (replace(ROW, demand=4.0), replace(ROW, id="sim-two", rival=None, theirs=None, ratio=None))
    return replace(Outcome("sim", rows, (SIMGRID,), ("Both agree.",)), **fields)  # type: ignore[arg-type]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """`corewise bench sim` finds the outcome above."""
    monkeypatch.setattr(sim, "run_bench", lambda listener, **asked: outcome())


@pytest.mark.usefixtures("measured")
def test_json_is_one_object_and_an_absent_peer_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["bench", "sim", "--json"]) == 0
    said = capsys.readouterr()
    result = documents.read(said.out)
    assert {"name", "version", "commit", "machine", "rows"} <= set(result)
    assert (result["name"], result["remarks"]) == ("bench sim", ["Both agree."])
    assert result["absent"] == [{"peer": "SimGrid", "get": SIMGRID.get}]
    assert [row["id"] for row in result["rows"]] == ["sim-one", "sim-two"]
    assert all(set(row) >= FIELDS and row["processor"] == result["machine"] for row in result["rows"])
    assert said.err == f"{SIMGRID.hint}\n"


@pytest.mark.usefixtures("measured")
def test_people_get_a_table_and_how_to_get_the_absent(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["bench", "sim"]) == 0
    said = capsys.readouterr()
    assert "something" in said.out and "3.00" in said.out and "Both agree." in said.out
    assert said.err.splitlines() == [SIMGRID.hint]
    assert "apt install" in SIMGRID.hint and "apt install" in UFTRACE.hint


@pytest.mark.usefixtures("measured")
def test_check_ends_with_1_and_names_the_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["bench", "sim", "--check", "--json"]) == 1
    assert "sim-one: ratio 3.0, demanded: 4.0 or more" in capsys.readouterr().err


def test_rows_of_packing_have_the_same_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [replace(PACKED, id=f"pack/mpich/constant/64/{way}") for way in ("send", "receive")]
    studies = (SimpleNamespace(launches=lambda: [SimpleNamespace(foreign=0.01)]),)
    result = packing.BenchResult("A processor", studies, tuple(rows), (), ())  # type: ignore[arg-type]
    monkeypatch.setattr(pack, "noise_text", lambda result: "")
    pack._show_json(result, [])
    told = documents.read(capsys.readouterr().out)["rows"]
    assert [row["id"] for row in told] == ["pack/mpich/constant/64/send", "pack/mpich/constant/64/receive"]
    assert all(set(row) >= FIELDS and row["mpi"] == "mpich 5.0" for row in told)
    assert told[0]["processor"] == "Maker-1-2" and told[0]["ways"] == {"datatype": 2.0}


def test_a_table_leaves_empty_what_is_not_known() -> None:
    first, second = table(outcome()).rows
    assert first == ("something", "ns", "10", "30", "another", "3.00", "10 %", "3", "9")
    assert second[3:6] == ("", "", "")


def test_a_bar_moves_where_somebody_watches(tmp_path: Path) -> None:
    """On a terminal; elsewhere standard error carries lines to know alone."""
    begun, watcher = pty.openpty()
    command = [str(COREWISE), "bench", "copy", "--quick", "--size", "300", "--kernel", "naive", "--json"]
    with (tmp_path / "out").open("wb") as out, ThreadPoolExecutor(1) as pool:
        seen = pool.submit(all_of, begun)
        done = subprocess.run(command, stdout=out, stderr=watcher, check=False, timeout=300)
        os.close(watcher)
        shown = seen.result()
    assert done.returncode == 0
    assert "measuring copies" in shown and "%" in shown


def all_of(terminal: int) -> str:
    """What is written to a terminal until nobody has it open any more."""
    shown = b""
    try:
        while more := os.read(terminal, 1 << 16):
            shown += more
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(terminal)
    return shown.decode()


def test_options_are_the_same_word_for_the_same_thing() -> None:
    """Every question has --quick and --json, and says how many rounds by the same word, if at all."""
    bench = typer.main.get_command(build_app()).commands["bench"]  # type: ignore[attr-defined]
    assert set(bench.commands) == {*QUESTIONS, "history"}
    for question in QUESTIONS:
        words = {word for option in bench.commands[question].params for word in option.opts}
        assert {"--quick", "--json"} <= words, question
        others = {"--repeats", "--repetitions", "--runs", "--seeds", "--output", "--prefix"}
        assert not words & others, question


# --- contestants are built ----------------------------------------------------------------------------------


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "bench" / "port"
    folder.mkdir(parents=True)
    monkeypatch.setattr(programs, "folder_of", lambda question: folder)
    return folder


def test_a_contestant_is_built_once_and_again_when_it_changes(cached: Path) -> None:
    (cached / "hello.c").write_text('#include <stdio.h>\nint main(void) { return puts("1 2.5") < 0; }\n')
    notes: list[str] = []
    listener = Listener(note=notes.append)
    program = Program("port", "hello", ("hello.c",))
    first = program.build(listener)
    assert mpis.output_of([str(first)], os.environ) == "1 2.5\n"
    assert program.build(listener) == first
    assert notes == ["building hello (bench/port), once"]
    (cached / "hello.c").write_text("int main(void) { return 3; }\n")
    second = program.build(listener)
    assert second != first and len(notes) == 2
    with pytest.raises(RunError, match="ended with 3"):
        mpis.output_of([str(second)], os.environ)
    assert [path for path in second.parent.iterdir() if path.name.startswith("building-")] == []


def test_a_compiler_that_fails_says_why_and_leaves_nothing(cached: Path) -> None:
    (cached / "wrong.cpp").write_text("int main() { return nothing; }\n")
    with pytest.raises(RunError, match=r"(?s)building a contestant failed: .*nothing"):
        Program("port", "wrong", ("wrong.cpp",)).build(Listener())
    assert not list((cached.parents[1] / "cache").rglob("wrong*"))
    with pytest.raises(RunError, match=r"no-compiler: cannot be run: .*a compiler is needed"):
        programs.compiled(["no-compiler", "wrong.c"])


@pytest.mark.parametrize(
    "source", ["sim/corewise_actors.cpp", "mapping/multilevel_mapping.cpp", "mapping/plain_enumeration.cpp"]
)
def test_contestants_that_take_long_to_link_still_compile(source: str) -> None:
    question, name = source.split("/")
    program = Program(question, "checked", (name,))
    includes = ["-I" + str(programs.source_root()), *programs.wheel_includes()]
    words = [*programs.compiler(), "-std=c++20", "-fsyntax-only", *includes]
    programs.compiled([*words, str(programs.folder_of(program.question) / name)])


def test_sources_of_the_core_that_contestants_name_are_there() -> None:
    named = (*messages.CORE, *trees.CORE, *collectives.CORE, *programs.SHM_CORE)
    assert [name for name in named if not (programs.source_root() / name).is_file()] == []


def test_the_port_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """A small real run, built from the installed sources."""
    assert execute(["bench", "port", "--rounds", "2", "--json"]) == 0
    rows = documents.read(capsys.readouterr().out)["rows"]
    assert [row["id"] for row in rows] == ["port-barrier-2", "port-barrier-4"]
    assert all(set(row) >= FIELDS and row["ours"] > 0 and row["n"] == 2 for row in rows)
    assert rows[0]["floor"] > 0 and rows[1]["floor"] is None


# --- the recogniser ---------------------------------------------------------------------------------------


def test_every_family_is_named_and_a_wrong_name_ends_the_run() -> None:
    assert {recogniser.made(case, recogniser.RANKS).ranks for case in recogniser.CASES} == {4096}
    found = recogniser.run_bench(Listener(), rounds=2, ranks=256)
    rows = stamped("recogniser", "A processor", [row.to_json() for row in found.rows])
    assert len(rows) == 2 * len(recogniser.CASES)
    assert all(row["theirs"] == 1 and row["n"] == 2 for row in rows)
    wrong = replace(recogniser.CASES[0], family="halo_3d")
    with pytest.raises(RunError, match="halo_3d is named"):
        recogniser.seconds(recogniser.made(recogniser.CASES[0], 256), wrong)


# --- MPIs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["profiler", "collectives"])
def test_an_mpi_that_is_not_there_is_one_error(question: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["bench", question, "--mpi", "nothing"]) == 2
    assert "--mpi nothing: no such MPI" in capsys.readouterr().err


def test_without_a_name_each_kind_of_mpi_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        def __init__(self, name: str, version: str) -> None:
            self.name, self.version = name, version

    libraries = [
        Library(*words) for words in (("mpich", "4.2"), ("abi", "5"), ("openmpi", "5"), ("mpich", "4.10"))
    ]
    monkeypatch.setattr(mpis.find, "find_all", lambda: libraries)
    assert [mpis.title(each) for each in mpis.chosen(None)] == ["mpich 4.2", "openmpi 5"]
    assert [mpis.title(each) for each in mpis.newest(None)] == ["openmpi 5", "mpich 4.10"]
    assert [mpis.title(each) for each in mpis.newest("mpich")] == ["mpich 4.10"]
    monkeypatch.setattr(mpis.find, "find_all", list)
    for some in (mpis.chosen, mpis.newest):
        with pytest.raises(InputError, match="no MPI found"):
            some(None)
