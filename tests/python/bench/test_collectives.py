"""The collectives' benchmark on shared memory: its cases name algorithms that are there; its rows. The sweep.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from toy_tuning import HOSTS

from corewise import InputError
from corewise.analysis.selection import Configuration, configuration
from corewise.analysis.spread import median_interval
from corewise.bench.collectives import port, preload, tuning
from corewise.bench.collectives.study import Request, run_bench, run_tune
from corewise.bench.rows import Listener
from corewise.data.tuned_hosts import HostTable
from corewise.data.tuning import Choice, Host, TuningRow
from corewise.papers.collectives.cases import Case, run_cases

ROOT = Path(__file__).resolve().parents[3]
MPI = SimpleNamespace(name="mpich", version="5.0")


@pytest.fixture(scope="module")
def tune() -> ModuleType:
    """bench/collectives/tune.py as a module."""
    source = ROOT / "bench" / "collectives" / "tune.py"
    specification = importlib.util.spec_from_file_location("bench_collectives_tune", source)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_a_row_holds_ratios_to_the_mpi_and_to_the_floor() -> None:
    case = port.Case("barrier", 0, "pairwise_exchange")
    case.times = [(100.0, 300.0, 80.0), (100.0, 200.0, 100.0), (200.0, 300.0, 160.0)]
    row = port.row(MPI, 2, case)
    assert row.id == "collectives-barrier-0-2-mpich-5.0"
    assert (row.ours, row.theirs, row.floor) == (100, 300, 100)
    assert row.ratio == 2  # the median of 3, 2, 1.5
    assert row.more["over_floor"] == 1.25  # the median of 1.25, 1, 1.25
    assert (row.n, row.mpi, row.rival) == (3, "mpich 5.0", "mpich 5.0")
    assert row.more["runs"] == [2]
    case.run_ends = [2, 3]
    assert port.row(MPI, 2, case).more["runs"] == [2.5, 1.5]


def test_where_there_is_no_floor_the_row_says_so() -> None:
    case = port.Case("broadcast", 4096, "local_store_tree")
    case.times = [(100.0, 300.0, 0.0), (100.0, 200.0, 0.0)]
    assert port.row(MPI, 2, case).floor is None
    assert port.row(MPI, 2, case).more["over_floor"] is None


def test_every_case_names_an_algorithm_of_its_collective() -> None:
    for case in port.cases(port.SIZES):
        table = (ROOT / "src" / "coll" / case.collective / "table.hpp").read_text()
        names = re.findall(r'Row<P>\{"(\w+)"', table)
        assert case.algorithm.split(":")[0] in names


# --- through the preload -----------------------------------------------------------------------------------


def cell(*times: tuple[float, float], passed: str = "") -> preload.Cell:
    return preload.Cell(MPI, "allreduce", 64, times=[(*each, 0.0) for each in times], passed=passed)


def test_mapped_memory_has_a_floor_beside_it() -> None:
    times = [(100.0, 300.0, 80.0), (100.0, 200.0, 100.0), (200.0, 300.0, 160.0)]
    one = preload.Cell(MPI, "bcast", 4096, times=times, mapped=True, lent=True)
    row = preload.row_of(one, preload.Wanted(mapped=True))
    assert (row.floor, row.more["over_floor"], row.more["mapped"]) == (100.0, 1.25, True)


def test_data_with_gaps_have_rows_of_their_own() -> None:
    one = preload.Cell(MPI, "bcast", 4096, times=[(100.0, 300.0, 0.0)] * 6, gaps=64)
    row = preload.row_of(one, preload.Wanted(gaps=64))
    assert row.id == "collectives-preload-gaps64-bcast-4096-2-mpich-5.0"
    assert row.what == "bcast of 4096 bytes in runs of 64, 2 processes, through the preload"
    wanted = Request(gaps=64).wanted()
    assert wanted.sizes == (128, 2048, 32768, 524288)
    assert preload.COMBINING.isdisjoint(wanted.collectives) and "alltoall" in wanted.collectives


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(gaps=64, sizes=(4096, 100)), "--gaps: found 64, allowed: bytes of which every size is a"),
        (Request(gaps=64, sizes=(64,)), "--gaps: found 64, allowed: bytes of which every size is a"),
        (Request(gaps=64, collectives=("bcast", "scan")), "--gaps: found with scan, allowed: bcast, gather,"),
    ],
)
def test_gaps_that_do_not_fit_are_refused(request_: Request, message: str) -> None:
    with pytest.raises(InputError, match=message):
        request_.wanted()


def test_a_row_through_the_preload_has_the_ratio_and_its_interval() -> None:
    times = [(100.0, 300.0), (100.0, 200.0), (200.0, 300.0), (100.0, 110.0), (100.0, 400.0), (100.0, 250.0)]
    row = preload.row_of(cell(*times), preload.Wanted(ranks=4))
    assert row.id == "collectives-preload-allreduce-64-4-mpich-5.0"
    assert row.what == "allreduce of 64 bytes, 4 processes, through the preload"
    assert (row.ours, row.theirs, row.ratio, row.n) == (100, 275, 2.25, 6)
    assert (row.more["low"], row.more["high"]) == (1.1, 4)
    assert (row.more["taken"], row.more["again"], row.more["table"]) == (True, False, "on")


def test_a_row_says_what_was_left_to_the_mpi() -> None:
    row = preload.row_of(cell((100.0, 99.0), passed="the table leaves it to the MPI"), preload.Wanted())
    assert row.what.endswith("left to the MPI")
    assert (row.more["taken"], row.more["passed"]) == (False, "the table leaves it to the MPI")
    assert (row.more["low"], row.more["high"]) == (None, None)  # one round says nothing about chance


def test_what_loses_beyond_chance_is_measured_again_and_longer() -> None:
    slower, unclear = cell(*[(110.0, 100.0)] * 6), cell(*[(110.0, 100.0)] * 5, (100.0, 110.0))
    asked: list[tuple[int, int]] = []

    def measure(launches: list[list[preload.Cell]], effort: preload.Effort, listener: Listener) -> None:
        asked.append((len(launches), effort.rounds))
        for (each,) in launches:
            each.times += [(100.0, 120.0, 0.0)] * 6

    runner = SimpleNamespace(measure=measure)
    found = preload.measured_again(runner, [slower, unclear], preload.QUICK, Listener())
    assert asked == [(1, 3 * preload.QUICK.rounds)]
    assert found[1] is unclear and found[0].again
    assert (found[0].times, found[0].lost) == ([(100.0, 120.0, 0.0)] * 6, False)


def test_what_is_said_of_all_cells() -> None:
    won, lost = cell(*[(100.0, 400.0)] * 6), cell(*[(200.0, 100.0)] * 6)
    left = cell(*[(100.0, 99.0)] * 6, passed="the table leaves it to the MPI")
    assert list(preload.remarks_of([won, lost, left])) == [
        "through the preload, mpich 5.0: 2 of 3 taken over, 1.41 times as fast as by the MPI (geometric "
        "mean); slower beyond chance: allreduce 64 of these, and 1 of those left to the MPI"
    ]


def test_rounds_are_shared_out_among_launches() -> None:
    assert list(preload.Effort(7, 3, 1).shares()) == [(0, 2), (2, 2), (4, 3)]
    assert list(preload.Effort(2, 3, 1).shares()) == [(0, 1), (1, 1)]


def test_the_grid_and_every_fourth_of_it() -> None:
    assert (preload.GRID[0], preload.GRID[-1]) == (1, 4 << 20)
    assert preload.SIZES == (8, 128, 2048, 32768, 524288)
    assert Request().wanted() == preload.Wanted()
    whole = Request(everything=True).wanted()
    assert (whole.collectives, whole.sizes) == (preload.COLLECTIVES, preload.GRID)
    some = Request(collectives=("bcast",), sizes=(3, 5), ranks=4, rounds=9, quick=True).wanted()
    assert (some.collectives, some.sizes, some.ranks) == (("bcast",), (3, 5), 4)
    assert some.effort == preload.Effort(9, preload.QUICK.launches, preload.QUICK.budget_us)


def test_a_table_says_which_collectives_are_measured() -> None:
    table = "2>broadcast=136:eager_tree;gatherv=-:linear|4c>scan=-:chain/piece=64"
    assert Request(table=table).wanted().collectives == ("bcast", "scan", "gatherv")
    assert Request(table=table, collectives=("bcast",)).wanted().collectives == ("bcast",)
    assert Request(table="always").wanted().collectives == preload.PLAIN
    assert Request(table="host").wanted().collectives == preload.PLAIN


def test_the_hosts_table_is_each_mpis_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def shipped(name: str, version: str) -> HostTable:
        return HostTable(f"on|2>barrier=-:{name}_{version}", "")

    monkeypatch.setattr(preload, "host_collectives", shipped)
    libraries = [SimpleNamespace(family=family, version="5") for family in ("openmpi", "mpich")]
    cells = preload.cells_of(libraries, preload.Wanted(("barrier",), table="host"))
    assert [cell.table for cell in cells] == ["on|2>barrier=-:openmpi_5", "on|2>barrier=-:mpich_5"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Request("both"), "--cases: found 'both', allowed: preload, port, all"),
        (Request("port", table="on"), "--cases: found 'port' with --all"),
        (Request(everything=True, quick=True), "--all: found with --quick"),
        (Request(collectives=("nosuch",)), "--collectives: found 'nosuch', allowed: barrier"),
        (Request(sizes=(0,)), "--sizes: found 0, allowed: 1 to"),
        (Request(sizes=(1 << 30,)), "--sizes: found 1073741824, allowed: 1 to"),
        (Request(table="8:tree"), "--table: found '8:tree', allowed: on, host, always, or rows"),
    ],
)
def test_what_cannot_be_measured_is_refused(asked: Request, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        run_bench(Listener(), asked)


def test_options_of_the_preload_leave_the_port_out() -> None:
    assert Request().parts() == ("preload", "port")
    assert Request(sizes=(8,)).parts() == Request("preload").parts() == ("preload",)
    assert Request("port").parts() == ("port",)


# --- tuning ------------------------------------------------------------------------------------------------

EAGER, WHOLE, PIECES = configuration("eager"), configuration("ring"), configuration("ring", piece=4096)


def measured(**by_size: dict[Configuration, float]) -> tuning.Measured:
    """Cells by candidate, from ratios to an MPI that takes 100 ns: `b8={EAGER: 2.0}`."""
    found: dict[Configuration, list[preload.Cell]] = {}
    for size, ratios in by_size.items():
        for candidate, ratio in ratios.items():
            times = [(100 / ratio, 100.0, 0.0)] * 9
            found.setdefault(candidate, []).append(preload.Cell(MPI, "scan", int(size[1:]), times=times))
    return found


def won(collective: str, cells: tuning.Measured) -> list[tuple[int | None, str]]:
    return [(row.bytes_to, row.won.name) for row in tuning.rows_of(collective, 2, cells)]


def test_the_quickest_wins_and_what_is_no_quicker_than_the_mpi_does_not() -> None:
    cells = measured(
        b8={EAGER: 2.0, WHOLE: 0.5},
        b64={EAGER: 1.5, WHOLE: 0.9},
        b512={WHOLE: 0.9, PIECES: 1.0},
        b4096={WHOLE: 1.1},
    )
    assert won("scan", cells) == [(64, "eager"), (512, "mpi"), (None, "ring")]
    assert [row.lost[0].name for row in tuning.rows_of("scan", 2, cells)] == [
        "mpi",
        "ring(piece=4096)",
        "mpi",
    ]
    (first, *_) = tuning.rows_of("scan", 2, cells)
    assert (first.collective, first.won.latency_us, first.lost[0].latency_us) == (
        "scan",
        (0.05, 0.06667),
        (0.1, 0.1),
    )


def test_a_call_that_is_left_to_the_mpi_costs_what_it_costs_there() -> None:
    """What is slower than the MPI itself may be quicker than to look at a call and leave it."""
    left = tuning.LEFT_TO_MPI
    cells = measured(
        b64={WHOLE: 0.96, configuration(left): 0.9},
        b512={WHOLE: 0.96, configuration(left): 0.99},
        b4096={WHOLE: 1.1, configuration(left): 1.2},
    )
    assert won("scan", cells) == [(64, "ring"), (512, "mpi"), (None, "ring")]
    (first, *_) = tuning.rows_of("scan", 2, cells)
    assert (first.won.latency_us, first.lost[0].latency_us) == ((0.1042,), (0.1111,))


def test_the_median_decides_between_two_that_lose_to_the_mpi() -> None:
    scattered = preload.Cell(MPI, "scan", 8, times=[(104.0, 100.0, 0.0)] * 5 + [(125.0, 100.0, 0.0)] * 4)
    left = preload.Cell(MPI, "scan", 8, times=[(110.0, 100.0, 0.0)] * 9)
    assert scattered.interval is not None and scattered.interval[0] < 100 / 110
    assert won("scan", {WHOLE: [scattered], configuration(tuning.LEFT_TO_MPI): [left]}) == [(None, "ring")]


def test_luck_does_not_win() -> None:
    lucky = preload.Cell(MPI, "scan", 8, times=[(50.0, 100.0, 0.0)] * 5 + [(110.0, 100.0, 0.0)] * 4)
    assert won("scan", {EAGER: [lucky]}) == [(None, "mpi")]


def test_neighbours_that_are_as_good_share_a_row() -> None:
    cells = measured(
        b8={WHOLE: 2.0, PIECES: 1.0}, b64={WHOLE: 2.0, PIECES: 2.05}, b512={WHOLE: 2.0, PIECES: 2.5}
    )
    assert won("scan", cells) == [(64, "ring"), (None, "ring(piece=4096)")]


def test_blocks_of_unknown_size_have_one_row() -> None:
    """Its winner loses nowhere."""
    good = measured(b8={WHOLE: 0.99, PIECES: 4.0}, b64={WHOLE: 3.0, PIECES: 4.0})
    good[WHOLE][0].times[:4] = [(90.0, 100.0, 0.0)] * 4  # chance
    assert won("gatherv", good) == [(None, "ring(piece=4096)")]
    good[PIECES][0].times[:] = [(101.0, 100.0, 0.0)] * 9
    assert won("gatherv", good) == [(None, "ring")]
    assert won("gatherv", measured(b8={WHOLE: 0.9}, b64={WHOLE: 9.0})) == [(None, "mpi")]


def test_what_rides_in_flags_is_its_companion_for_more() -> None:
    """Else the luck of a launch at sizes where both run the same code would choose between them."""
    linear = configuration("linear")
    cells = measured(b8={EAGER: 1.06, linear: 0.98}, b4096={linear: 1.2}, b65536={linear: 1.7})
    assert won("gatherv", cells) == [(None, "eager")]
    (row,) = tuning.rows_of("gatherv", 2, cells)
    assert (row.lost[0].name, row.lost[0].latency_us[1:]) == ("linear", row.won.latency_us[1:])
    assert won("gatherv", measured(b8={EAGER: 1.0, linear: 1.05}, b4096={linear: 1.2})) == [(None, "linear")]


def test_every_candidate_is_a_row_of_its_collectives_table() -> None:
    alike = {"exscan": "scan", "reduce_scatter_block": "reduce_scatter"}
    for collective in preload.COLLECTIVES:
        word = preload.WORDS.get(collective, collective)
        table = (ROOT / "src" / "coll" / alike.get(word, word) / "table.hpp").read_text()
        names = re.findall(r'Row<P>\{"(\w+)"', table)
        for ranks in (2, 4):
            for candidate, sizes in tuning.candidates_of(collective, ranks):
                assert candidate.algorithm in names and sizes
                assert tuning.table_of(collective, candidate).startswith(f"{word}=-:{candidate.algorithm}")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Request("port"), "--cases: found with --tune"),
        (Request(rounds=3), "--rounds: found with --tune"),
        (Request(table="on"), "--table: found with --tune"),
        (Request(collectives=("nosuch",)), "--collectives: found 'nosuch'"),
        (Request(), "--tune: found 'nowhere', allowed: a folder"),
    ],
)
def test_what_cannot_be_tuned_is_refused(asked: Request, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        run_tune(Listener(), asked, Path("nowhere") if "nowhere" in said else tmp_path)


def test_a_file_of_another_host_is_not_written_over(tmp_path: Path) -> None:
    on = Host("GenuineIntel-6-1", "a processor", "mpich 5.0.2", 4)
    path = tmp_path / "collectives-shm-genuineintel-6-1-mpich.csv"
    path.write_text(HOSTS)
    with pytest.raises(InputError, match=r"--tune: found .*cores=2.*allowed: one of .*cores=4"):
        tuning._kept(path, on)
    rows, commands = tuning._kept(path, replace(on, cores=2))
    assert (len(rows), commands) == (3, ["tune"])


def test_a_median_lies_between_two_of_the_values() -> None:
    """By the binomial distribution: of 6 values all, of 10 the second to the ninth, of 20 the sixth."""
    assert median_interval([1.0] * 5) is None
    for count, place in ((6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (21, 6)):
        values = [float(each) for each in range(count, 0, -1)]
        assert median_interval(values) == (place, count + 1 - place), count


def test_every_collective_is_one_that_the_program_measures() -> None:
    table = (ROOT / "bench" / "collectives" / "measured.hpp").read_text()
    assert sorted(re.findall(r'\.name = "(\w+)"', table)) == sorted(preload.COLLECTIVES)


# --- the sweep --------------------------------------------------------------------------------------------


def row_for(collective: str, ranks: int) -> TuningRow:
    return TuningRow("all", collective, ranks, 0, None, (128,), Choice("tree", (), (1.0,)), ())


def test_a_tuning_names_the_commands_that_make_it(tune: ModuleType) -> None:
    whole = [row_for(name, ranks) for name in tune.SIZES for ranks in tune.RANKS]
    assert tune.command_for(whole) == tune.COMMAND
    some = [row_for(name, ranks) for name in ("reduce", "barrier") for ranks in (16, 8)]
    assert tune.command_for(some) == f"{tune.COMMAND} --collectives barrier,reduce --ranks 8,16"
    different = [*some, *(row_for("scan", ranks) for ranks in tune.RANKS)]
    assert tune.command_for(different) == (
        f"{tune.COMMAND} --collectives barrier,reduce --ranks 8,16 && {tune.COMMAND} --collectives scan"
    )


def test_only_what_an_algorithm_cannot_do_is_left_out_of_a_sweep() -> None:
    good = Case("broadcast", 2, 128, configuration("eager_tree"))
    too_long = Case("broadcast", 2, 1024, configuration("eager_tree"))
    assert list(run_cases([good, too_long], leave_out_unusable=True)) == [good]
    for wrong in (
        Case("broadcast", 2, 128, configuration("eager_tree", min_piece=1024)),
        Case("broadcast", 2, 128, configuration("pieces", buffers=4)),
        Case("broadcast", 2, 128, configuration("nosuch")),
    ):
        with pytest.raises(InputError, match="found"):
            run_cases([good, wrong], leave_out_unusable=True)
