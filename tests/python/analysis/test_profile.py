"""Profiles in Python: folders that are refused, tables against sums by hand, endings, call sites by name.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw
from trace_writer import RankTrace

from corewise.analysis.profile.tables import analyse_profile, matrix_blocks, placement_scope
from corewise.cli.main import execute
from corewise.data.profile import load_profile
from corewise.data.quantities import cpu_list
from corewise.data.symbols.addresses import demangled, find_symbol
from corewise.errors import InputError


def test_what_is_no_profile_is_refused(tmp_path: Path) -> None:
    cases = {
        "none": "found nothing (no such folder), allowed: a profile folder",
        "file": "found a file, allowed: a profile folder",
        "empty": "not a profile: it holds neither meta.json nor rank files",
        "silent": "0 events seen: no rank of './flow <x>' left a trace",
        "foreign": "field 'format': found 'other', allowed: corewise-profile",
        "newer": "field 'version': found 2, allowed: 1",
        "broken": "meta.json: not JSON: Expecting property name",
        "typed": "field 'exit_status': found '0', allowed: a whole number",
    }
    (tmp_path / "file").write_text("x")
    for name in ("empty", "silent", "foreign", "newer", "broken", "typed"):
        (tmp_path / name).mkdir()
    tw.write_meta(tmp_path / "silent")
    tw.write_meta(tmp_path / "foreign", format="other")
    tw.write_meta(tmp_path / "newer", version=2)
    tw.write_meta(tmp_path / "typed", exit_status="0")
    (tmp_path / "broken" / "meta.json").write_text("{")
    for name, message in cases.items():
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            load_profile(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_a_ring_comes_back_as_it_was_written(tmp_path: Path) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "ring.cw", size=4, rounds=3, message=1_000))
    assert profile.meta.program == ("./flow <x>",)
    expected = np.zeros((4, 4), dtype=np.uint64)
    for rank in range(4):
        expected[rank, (rank + 1) % 4] = 3_000
    assert (profile.world.matrix("sent") == expected).all()
    assert (profile.world.matrix("received") == expected).all()
    assert (profile.pattern().matrix() == expected).all()
    assert profile.pattern().name == "ring"
    # An allreduce of 64 bytes over 4 ranks: 2/4 of it to each other rank.
    collective = profile.world.matrix("collective")
    assert (collective == np.where(np.eye(4, dtype=bool), 0, 32)).all()


def test_records_beyond_the_first_half_are_read_from_chunks(tmp_path: Path) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "long.cw", size=2, rounds=1_000, message=7))
    assert profile.world.matrix("sent").tolist() == [[0, 7_000], [7_000, 0]]
    assert [rank.records for rank in profile.world.ranks] == [2_003, 2_003]


def test_tables_against_sums_by_hand(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(tw.ring_run(tmp_path / "ring.cw", size=4, rounds=3)))
    rows = {row.procedure: row for row in analysis.calls}
    received = rows["MPI_Recv"]
    assert (received.calls, received.ranks, received.bytes) == (12, 4, 12_000)
    assert received.time_ns == pytest.approx(3 * 300 * (1 + 2 + 3 + 4))
    assert received.mean_ns == pytest.approx(750)
    assert received.longest_ns == pytest.approx(1_200)
    assert received.imbalance == pytest.approx(4 / 2.5)
    in_mpi = 9_000 + 12 * 100 + 4 * 500
    in_run = 4 * (10_000_000 - 1_002_000)
    assert received.mpi_share == pytest.approx(9_000 / in_mpi)
    assert received.run_share == pytest.approx(9_000 / in_run)
    assert (rows["MPI_Init"].mpi_share, rows["MPI_Init"].run_share) == (None, None)
    assert analysis.mpi_share == pytest.approx(in_mpi / in_run)
    assert analysis.balance.startswith("< 0.1 % of the run in MPI: most of the time goes into computing")
    assert analysis.calls[0].procedure == "MPI_Recv"
    assert [row.procedure for row in analysis.calls[-2:]] == ["MPI_Init", "MPI_Finalize"]
    first = analysis.ranks[0]
    assert first.mpi_ns == pytest.approx(3 * 100 + 3 * 300 + 500)
    assert first.startup_ns == pytest.approx(1_002_000)
    assert first.wall_ns == pytest.approx(10_000_000 - 1_002_000)
    assert (first.sent_bytes, first.received_bytes, first.cpus) == (3_000, 3_000, "0")
    size = {row.low_bytes: row for row in analysis.sizes}
    assert (size[512].messages, size[512].bytes, size[512].high_bytes) == (12, 12_000, 1_023)
    assert (size[64].collective_calls, size[64].collective_bytes) == (4, 256)
    assert analysis.communicators[0].name == "MPI_COMM_WORLD"
    assert analysis.summary.best is not None
    assert analysis.summary.best.family == "ring"
    assert analysis.consistency.statement == "what was sent arrived: 4 pairs agree in bytes and messages"
    assert analysis.warnings == ()


def test_endings_are_told_apart(tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 4) for rank in range(4)]
    for rank in ranks:
        rank.put(tw.SEND, "MPI_Send", 0, 8)
    assert analyse_profile(load_profile(tw.write_run(tmp_path / "a.cw", ranks))).ending.finished
    ranks[2].state = tw.RUNNING
    ending = analyse_profile(load_profile(tw.write_run(tmp_path / "b.cw", ranks))).ending
    assert not ending.finished
    assert ending.statement == (
        "did not finish: rank 2 ended without MPI_Finalize; all 4 records up to then are here"
    )
    ranks[1].state, ranks[1].end_ticks = tw.RUNNING, tw.START_TICKS + 500
    ending = analyse_profile(load_profile(tw.write_run(tmp_path / "c.cw", ranks))).ending
    assert "did not finish: ranks 1-2 ended without MPI_Finalize; all" in ending.statement
    ranks[0].state, ranks[0].abort_code = tw.ABORTED, 7
    folder = tw.write_run(tmp_path / "d.cw", ranks)
    (folder / "rank-00003.cwt").unlink()
    analysis = analyse_profile(load_profile(folder))
    assert analysis.ending.statement.startswith(
        "did not finish: rank 0 called MPI_Abort (code 7); ranks 1-2 ended with it; "
    )
    assert analysis.ending.statement.endswith("rank 3 left no readable trace; 3 records are here")
    assert analysis.ranks[3].ending == "missing"


def test_losses_and_damage_are_said(tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 2, lost_bytes=64 * rank) for rank in range(2)]
    folder = tw.write_run(tmp_path / "lossy.cw", ranks)
    (folder / "rank-00007.cwt").write_text("not a trace")
    tw.write_meta(folder, exit_status=137)
    warnings = analyse_profile(load_profile(folder)).warnings
    assert any("rank-00007.cwt: not a corewise trace" in warning for warning in warnings)
    assert "rank 1: 64 bytes of records lost: the file system was full" in warnings
    assert "the launcher ended with exit status 137" in warnings


def test_a_profile_without_meta_is_read(tmp_path: Path) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "ring.cw", meta=False))
    assert not profile.has_meta
    assert profile.meta.program == ()
    tw.write_meta(tmp_path / "ring.cw", exit_status=None)
    assert load_profile(tmp_path / "ring.cw").meta.exit_status is None


def test_only_while_the_launcher_has_not_ended_a_rank_may_be_running(tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 3, state=tw.FINALIZED if rank == 0 else tw.RUNNING) for rank in range(3)]
    folder = tw.write_run(tmp_path / "run.cw", ranks)
    tw.write_meta(folder, exit_status=None)
    statement = analyse_profile(load_profile(folder)).ending.statement
    assert "ranks 1-2 ended without MPI_Finalize or are still running" in statement
    (folder / "meta.json").unlink()
    assert analyse_profile(load_profile(folder)).ending.statement == statement
    tw.write_meta(folder, exit_status=1)
    assert "still running" not in analyse_profile(load_profile(folder)).ending.statement


@pytest.mark.parametrize("broken", ["{", "[]", "{}", '{"format": "corewise-profile", "version": 0}'])
def test_traces_beside_a_broken_meta_are_read(tmp_path: Path, broken: str) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4)
    (folder / "meta.json").write_text(broken)
    analysis = analyse_profile(load_profile(folder))
    assert not analysis.profile.has_meta
    assert analysis.summary.messages == 12
    (warning,) = analysis.warnings
    assert warning.startswith(f"{folder / 'meta.json'}: ")
    assert warning.endswith("; read without it")


@pytest.mark.parametrize("left", [40_000, 37_000, 45_000])
def test_a_cut_file_is_said(tmp_path: Path, left: int) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4, rounds=200)
    cut = folder / "rank-00001.cwt"
    whole = cut.read_bytes()
    assert len(whole) > left + 4_096
    cut.write_bytes(whole[:left])
    gone = f"{len(whole) - left:,}".replace(",", " ")
    assert (
        f"rank 1: {gone} bytes missing at the trace file's end: cut short, or the file system was full"
        in analyse_profile(load_profile(folder)).warnings
    )


def test_differences_are_said_by_pair(tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 7) for rank in range(7)]
    ranks[0].put(tw.SEND, "MPI_Send", 1, 5_000)
    ranks[2].put(tw.RECEIVE, "MPI_Recv", 1, 30)
    ranks[4].put(tw.SEND, "MPI_Send", 5, 8)
    ranks[5].put(tw.RECEIVE, "MPI_Recv", 4, 4)
    ranks[5].put(tw.RECEIVE, "MPI_Recv", 4, 4)
    consistency = analyse_profile(load_profile(tw.write_run(tmp_path / "a.cw", ranks))).consistency
    assert consistency.statement == (
        "3 of 3 pairs differ: sent but not received: 5 000 B (0→1); received but not sent: 30 B (1→2); "
        "as many bytes, but not as many messages: 4→5"
    )
    for peer in (2, 3, 4, 5, 6):
        ranks[0].put(tw.SEND, "MPI_Send", peer, peer)
    statement = analyse_profile(load_profile(tw.write_run(tmp_path / "b.cw", ranks))).consistency.statement
    assert "sent but not received: 5 020 B (0→1, 0→6, 0→5, 0→4, ...)" in statement


def test_what_a_placement_leaves_out(tmp_path: Path) -> None:
    both = load_profile(tw.ring_run(tmp_path / "ring.cw", size=4)).world
    # An allreduce of 64 bytes over 4 ranks: 32 bytes between each of the 12 pairs.
    assert placement_scope(both) == (True, "384 bytes of collectives are not in the placement")
    ranks = [tw.RankTrace(rank, 4) for rank in range(4)]
    for rank in ranks:
        rank.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 64)
    only = load_profile(tw.write_run(tmp_path / "only.cw", ranks)).world
    assert placement_scope(only) == (
        False,
        "no point-to-point messages: nothing to place; 384 bytes of collectives are not considered",
    )
    ranks[0].put(tw.SEND, "MPI_Send", 1, 0)
    empty = load_profile(tw.write_run(tmp_path / "empty.cw", ranks)).world
    assert placement_scope(empty)[1].startswith("all point-to-point messages are empty: nothing to place")


def test_ranks_without_records_are_an_empty_profile(tmp_path: Path) -> None:
    folder = tw.write_run(tmp_path / "idle.cw", [tw.RankTrace(0, 1)])
    analysis = analyse_profile(load_profile(folder))
    assert analysis.empty
    assert analysis.calls == ()


def test_large_matrices_are_summed_into_blocks(tmp_path: Path) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "ring.cw", size=10, rounds=1, message=5))
    cells, block = matrix_blocks(profile.world, "sent", most_cells=4)
    assert block == 3
    # Ranks 0-2, 3-5, 6-8, 9: two messages stay inside each full block, one leaves each.
    assert cells.tolist() == [[10, 5, 0, 0], [0, 10, 5, 0], [0, 0, 10, 5], [5, 0, 0, 0]]


def test_an_unknown_kind_of_traffic_is_refused(tmp_path: Path) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "ring.cw"))
    with pytest.raises(InputError, match="field 'kind': found 'bogus', allowed: sent, received"):
        profile.world.matrix("bogus")


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 5, 7, 8], "0-2,5,7-8")], ids=["none", "one", "ranges"]
)
def test_cpu_lists(cpus: list[int], text: str) -> None:
    assert cpu_list(cpus) == text


# ---- call sites ------------------------------------------------------------------------------------------

_PROGRAM = """
#include <cstdio>
#include <cstring>
namespace halo { __attribute__((noinline)) void* exchange(int) { return __builtin_return_address(0); } }
__attribute__((noinline)) extern "C" void* step() {
  void* at = halo::exchange(3);
  asm volatile("");
  return at;
}
int main() {
  void* at = step();
  std::printf("%p\\n", at);
  char line[4096];
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  while (std::fgets(line, sizeof line, maps)) if (std::strstr(line, " r-xp ")) std::fputs(line, stdout);
}
"""


@pytest.mark.parametrize("flags", [["-fPIE", "-pie"], ["-no-pie", "-fno-pie"]], ids=["pie", "no-pie"])
def test_call_sites_get_their_function(tmp_path: Path, flags: list[str]) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.fail("g++ is needed to build a program with known functions")
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(_PROGRAM)
    subprocess.run([compiler, "-O1", "-g", *flags, str(source), "-o", str(program)], check=True)
    address, _, maps = subprocess.run([program], check=True, capture_output=True, text=True).stdout.partition(
        "\n"
    )
    now_ns = program.stat().st_mtime_ns + 1_000_000_000
    sites_at = {9: int(address, 16), 10: 0x10}
    trace = tw.RankTrace(0, 1, sites=sites_at, maps=maps, started_realtime_ns=now_ns)
    trace.put(tw.SEND, "MPI_Send", 0, 8, site=9)
    trace.put(tw.SEND, "MPI_Send", 0, 8, ticks=5, site=10)
    trace.put(tw.SEND, "MPI_Send", 0, 8, ticks=1)
    sites = analyse_profile(load_profile(tw.write_run(tmp_path / "run.cw", [trace]))).sites
    line = next(number for number, text in enumerate(_PROGRAM.splitlines(), 1) if "exchange(3)" in text)
    assert sites[0].where == f"step (program.cpp:{line})"
    assert sites[0].object == str(program)
    assert not sites[0].changed
    assert [site.where for site in sites[1:]] == ["0x10", "unknown"]
    os.utime(program, ns=(now_ns, now_ns + 1))
    old = analyse_profile(load_profile(tmp_path / "run.cw")).sites[0]
    assert old.changed
    assert old.where == f"program+0x{old.file_offset:x}"
    program.write_bytes(b"no ELF file any more")
    find_symbol.__globals__["_table"].cache_clear()
    assert find_symbol(str(program), sites[0].file_offset) is None


def test_names_are_demangled() -> None:
    assert demangled("main") == "main"
    assert demangled("__lattice_MOD_collide") == "lattice::collide"
    assert demangled("_ZN3lbm4Halo5startEi") == "lbm::Halo::start"
    assert demangled("_ZN12_GLOBAL__N_13runERKSt6vectorIiSaIiEE") == "(anonymous namespace)::run"
    assert demangled("_Znot_a_name") == "_Znot_a_name"


def test_numbers_survive_json(tmp_path: Path) -> None:
    """Everything that the tables hold is a plain number or text, never a NumPy scalar."""
    analysis = analyse_profile(load_profile(tw.ring_run(tmp_path / "ring.cw")))
    json.dumps(
        [vars(row) for row in (*analysis.calls, *analysis.ranks, *analysis.sizes, *analysis.communicators)]
    )


def test_names_that_are_not_utf8_are_shown_with_replacements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program may name a region in Latin-1, and a byte of a file may be wrong: every command reads on."""
    ranks = [RankTrace(rank, 2) for rank in range(2)]
    for trace in ranks:
        trace.put(tw.PLAIN, "MPI_Init")
        trace.mark(tw.REGION_ENTER, "cafe")
        trace.put(tw.SEND, "MPI_Send", 1 - trace.rank, 8)
        trace.put(tw.RECEIVE, "MPI_Recv", 1 - trace.rank, 8)
        trace.mark(tw.REGION_EXIT, "cafe")
        trace.put(tw.PLAIN, "MPI_Finalize")
    folder = tw.write_run(tmp_path / "p.cw", ranks)
    for file in folder.glob("*.cwt"):
        content = file.read_bytes().replace(b"MPI_Send\0", b"MPI_S\xffnd\0").replace(b"cafe", b"caf\xe9")
        file.write_bytes(content.replace(b"MPI_COMM_WORLD", b"MPI_COMM_W\xffRLD"))
    world = load_profile(folder).world
    assert "MPI_S\ufffdnd" in world.procedures
    written = tmp_path / "rows.csv"
    for words in (
        ["report"],
        ["waits"],
        ["call-graph"],
        ["matrix"],
        ["export", "--to", "csv", "-o", str(written)],
    ):
        assert execute([words[0], str(folder), *words[1:]]) == 0, words
    shown = capsys.readouterr().out
    assert "caf\ufffd" in shown
    assert "MPI_S\ufffdnd" in written.read_text()


def test_a_profile_of_a_newer_version_is_refused_and_a_broken_meta_costs_what_it_held(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw")
    machine = ["-m", "mesh:4x1"]
    commands = (
        ["report"], ["waits"], ["call-graph"], ["matrix"], ["replay", *machine], ["place", *machine],
        ["place", *machine, "--objective", "replay"],
        ["export", "--to", "csv", "-o", str(tmp_path / "rows.csv")],
        ["diff", str(folder)], ["bundle"],
    )  # fmt: skip
    tw.write_meta(folder, version=99)
    for words in commands:
        assert execute([words[0], str(folder), *words[1:]]) == 2, words
        assert f"{folder / 'meta.json'}: field 'version': found 99, allowed: 1" in capsys.readouterr().err
    for broken in ("{", '{"format": "corewise-profile", "version": "99"}'):
        (folder / "meta.json").write_text(broken)
        for words in commands:
            assert execute([words[0], str(folder), *words[1:]]) == 0, (broken, words)


@pytest.mark.parametrize("command", ["report", "waits", "bundle", "export", "replay"])
def test_what_is_no_profile_is_named_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    more = {"export": ["--to", "csv", "-o", str(tmp_path / "rows.csv")], "replay": ["-m", "flat:2"]}
    said = {
        "none": "found nothing (no such folder), allowed: a profile folder NAME.cw",
        "file": "found a file, allowed: a profile folder NAME.cw",
        "empty": "not a profile: it holds neither meta.json nor rank files (*.cwt)",
    }
    for name, message in said.items():
        assert execute([command, str(tmp_path / name), *more.get(command, [])]) == 2
        assert f"{tmp_path / name}: {message}" in capsys.readouterr().err
