"""Phases, regions, stopped recording, files and functions in the tables, against sums by hand.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import trace_writer as tw

from corewise.analysis.profile.tables import analyse_profile
from corewise.cli.main import execute
from corewise.data.profile import load_profile


def _sections(folder: Path) -> Path:
    """Two ranks; rank 1 takes twice as long everywhere.

    Each: Init, phase work: region step (twice) with region halo inside, phase output: file, put, get, a stop.
    """
    ranks = []
    for rank in range(2):
        slow = rank + 1
        trace = tw.RankTrace(rank, 2, end_ticks=tw.START_TICKS + 100_000)
        trace.put(tw.PLAIN, "MPI_Init", ticks=1_000)
        trace.mark(tw.PHASE, "work")
        for _ in range(2):
            trace.mark(tw.REGION_ENTER, "step")
            trace.now += 100 * slow
            trace.mark(tw.REGION_ENTER, "halo")
            trace.function(tw.FUNCTION_ENTER, 0x401234)
            trace.put(tw.SEND, "MPI_Send", 1 - rank, 64, ticks=10 * slow)
            trace.function(tw.FUNCTION_EXIT, 0x401234)
            trace.put(tw.RECEIVE, "MPI_Recv", 1 - rank, 64, ticks=30 * slow)
            trace.mark(tw.REGION_EXIT, "halo")
            trace.mark(tw.REGION_EXIT, "step")
        trace.mark(tw.PHASE, "output")
        trace.put(tw.FILE_WRITE, "MPI_File_write", tw.NO_PEER, 4_096, ticks=50)
        trace.put(tw.FILE_READ, "MPI_File_read", tw.NO_PEER, 1_024, ticks=5)
        trace.put(tw.PUT, "MPI_Put", 1 - rank, 512, ticks=4)
        trace.recording(0)
        trace.now += 10_000 * slow
        trace.recording(1)
        trace.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 8, ticks=20)
        ranks.append(trace)
    return tw.write_run(folder, ranks)


def test_phases_and_regions_against_sums_by_hand(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(_sections(tmp_path / "run.cw")))
    before, work, output = analysis.phases
    assert (before.name, work.name, output.name) == ("", "work", "output")
    assert (work.ranks, work.entered, work.slowest, work.calls) == (2, 2, 1, 8)
    # Rank 0: twice 100 + 10 + 30; rank 1 twice as much.
    assert work.longest_ns == pytest.approx(560)
    assert work.wall_ns == pytest.approx((280 + 560) / 2)
    assert work.mpi_ns == pytest.approx((80 + 160) / 2)
    assert (work.sent_bytes, work.received_bytes, work.collective_bytes) == (256, 256, 0)
    assert (output.file_bytes, output.one_sided_bytes, output.collective_bytes) == (10_240, 1_024, 16)
    assert before.mpi_ns == 0  # MPI_Init does not count
    halo, step = analysis.regions
    assert (halo.name, step.name) == ("halo", "step")
    assert (halo.entered, step.entered, halo.unclosed) == (4, 4, 0)
    assert halo.longest_ns == pytest.approx(160)
    assert step.longest_ns == pytest.approx(560)
    assert (halo.sent_bytes, step.sent_bytes, step.file_bytes) == (256, 256, 0)
    assert halo.share == pytest.approx(1.0)


def test_functions_are_counted_and_disturb_nothing(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(_sections(tmp_path / "run.cw")))
    assert analysis.functions == 8
    rows = {row.procedure: row for row in analysis.calls}
    assert (rows["MPI_Send"].calls, rows["MPI_Recv"].calls) == (4, 4)
    assert rows["MPI_Send"].time_ns == pytest.approx(2 * 10 + 2 * 20)
    assert "MPI_Barrier" not in rows  # a function's record names no procedure


def test_files_and_one_sided_volume(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(_sections(tmp_path / "run.cw")))
    other = analysis.other
    assert (other.put_bytes, other.put_count, other.get_count) == (1_024, 2, 0)
    assert (other.read_bytes, other.written_bytes) == (2_048, 8_192)
    rows = {row.procedure: row for row in analysis.calls}
    assert (rows["MPI_File_write"].bytes, rows["MPI_File_read"].bytes) == (8_192, 2_048)
    assert analysis.world.ranks[0].file_written_bytes == 4_096


def test_stopped_recording_is_said(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(_sections(tmp_path / "run.cw")))
    assert [(rank, stops) for rank, stops, _ in analysis.stopped] == [(0, 1), (1, 1)]
    assert [round(stopped_ns) for _, _, stopped_ns in analysis.stopped] == [10_001, 20_001]
    assert (
        "ranks 0-1: the program stopped recording; at most 20.0 % of a rank's time is not in the tables "
        "(rank 1)" in analysis.warnings
    )
    # Never started again: until the end.
    trace = tw.RankTrace(0, 1, end_ticks=tw.START_TICKS + 5_000)
    trace.recording(0)
    world = load_profile(tw.write_run(tmp_path / "off.cw", [trace])).world
    assert world.ranks[0].stopped_ns == pytest.approx(5_000 - 100)


def test_regions_may_overlap_nest_in_themselves_and_stay_open(tmp_path: Path) -> None:
    trace = tw.RankTrace(0, 1)
    steps = [
        (tw.REGION_EXIT, "never entered"),
        (tw.REGION_ENTER, "a"), (tw.REGION_ENTER, "b"), (tw.REGION_ENTER, "a"),
        (tw.REGION_EXIT, "a"), (tw.REGION_EXIT, "a"), (tw.REGION_EXIT, "b"), (tw.REGION_ENTER, "open"),
    ]  # fmt: skip
    for role, name in steps:
        trace.mark(role, name)
        trace.put(tw.SEND, "MPI_Send", 0, 1, ticks=10)
    rows = {
        row.name: row
        for row in analyse_profile(load_profile(tw.write_run(tmp_path / "run.cw", [trace]))).regions
    }
    assert set(rows) == {"a", "b", "open"}
    # `a` inside `a` counts once: from its first entry to its last exit.
    assert (rows["a"].entered, rows["a"].wall_ns, rows["a"].sent_bytes) == (1, 40, 4)
    assert (rows["b"].wall_ns, rows["b"].sent_bytes) == (40, 4)
    assert (rows["open"].unclosed, rows["open"].wall_ns, rows["open"].sent_bytes) == (1, 10, 1)


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 2, version=2, kinds=tw.ALL_KINDS & ~(2 | 128)) for rank in range(2)]
    warnings = analyse_profile(load_profile(tw.write_run(tmp_path / "run.cw", ranks))).warnings
    assert "not recorded, as asked: point-to-point messages, call sites" in warnings


def test_version_1_has_no_phases_and_recorded_everything(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(tw.ring_run(tmp_path / "ring.cw", size=3)))
    assert analysis.phases == ()
    assert analysis.regions == ()
    assert not analysis.other.any
    assert [rank.kinds for rank in analysis.world.ranks] == [tw.ALL_KINDS] * 3
    assert list(analysis.world.phases) == [""]


def test_the_slowest_rank_is_named(tmp_path: Path) -> None:
    analysis = analyse_profile(load_profile(tw.ring_run(tmp_path / "ring.cw", size=4)))
    rows = {row.procedure: row for row in analysis.calls}
    assert (rows["MPI_Recv"].slowest, rows["MPI_Send"].slowest) == (3, None)
    # Rank 3 takes 4 where the mean is 2.5.
    assert rows["MPI_Recv"].lost == pytest.approx(1 - 2.5 / 4)
    assert rows["MPI_Send"].lost == 0


def test_the_report_shows_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _sections(tmp_path / "run.cw")
    assert execute(["report", str(folder)]) == 0
    out = capsys.readouterr().out
    for text in ("phases", "(before the first)", "regions, inner ones included", "one-sided and files"):
        assert text in out
    assert re.search(r"│ work +│ +2 │", out)
    assert re.search(r"│ written to files +│ +│ +8 KiB │", out)
    assert execute(["report", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in document["phases"]] == ["", "work", "output"]
    assert document["regions"][0]["entered"] == 4
    assert document["other"]["written_bytes"] == 8_192
    assert document["stopped"][1]["stops"] == 1
    file = folder.parent / "page.html"
    assert execute(["report", str(folder), "--html", str(file)]) == 0
    html = file.read_text(encoding="utf-8")
    for text in ("<h2>Phases</h2>", "<h2>Regions, inner ones included</h2>", "<h2>One-sided and files</h2>"):
        assert text in html
