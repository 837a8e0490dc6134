"""Paper 003's profiler on simulated SPEs: it records what the program did, and its files are profiles.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from installed_tool import assert_one_line_error, corewise

from corewise import _lab
from corewise.analysis.result import Row
from corewise.data.profile import load_profile
from corewise.errors import InputError
from corewise.papers.overhead.data import BOUNDARY, HALF, MESSAGE, PS3, QS22, STEPS, Effort, Study, run_of
from corewise.papers.overhead.rows import rows_of
from corewise.papers.overhead.study import PAPER, run_study
from corewise.papers.overhead.traces import write_traces
from corewise.plots.figures import write_figures

SMALL = Effort((300, 6000), (800, 6400), (256, MESSAGE, 12_800), (HALF, 2 * HALF), 6000, 40)


@pytest.fixture(scope="module")
def study() -> Study:
    """A small one."""
    return run_study(SMALL)


def by_id(study: Study) -> dict[str, Row]:
    return {row.id: row for row in rows_of(study)}


def test_the_profiler_fits_into_twelve_kibibytes() -> None:
    """Its two buffers, its state and its declared code."""
    assert 2 * HALF < _lab.profiler_local_store_bytes(HALF) <= 12 * 1024


def test_event_types_of_table_1_and_shorter_records() -> None:
    """Fifteen types of table 1; an event-specific record is 16 or 32 bytes long, not 80."""
    types = _lab.profiler_event_types()
    assert sum(bool(table1) for _, table1, _ in types) == 15
    assert {size for _, _, size in types} == {16, 32}
    assert {name for name, _, _ in types} >= {"MFC_PUT64", "MFC_GET64", "MFC_PUT32", "MFC_GET32", "MFC_PUTL"}


def test_double_buffering_costs_a_page_at_a_time(study: Study) -> None:
    """Figure 1: without a dump the profiler is cheap; with dumps into new pages a call costs what they do."""
    few, many = study.figure2
    assert few.per_call_us < 1 < many.per_call_us
    assert many.slowdown > 2
    assert study.no_faults.per_call_us < 0.1 * many.per_call_us
    assert all(
        each.per_call_us < whole.per_call_us
        for each, whole in zip(study.ours, (many, study.figure5[-1]), strict=True)
    )


def test_pages_are_allotted_by_a_remote_call_up_to_the_memory() -> None:
    """10,000 pages of 5,120 bytes for each of 8 SPEs, 400 MiB; a PS3's SPEs share less than 200 MB."""
    for host, allotted in ((QS22, 8 * 10_000 * HALF), (PS3, PS3.memory_limit)):
        run = run_of(host, host.machine(), MESSAGE)
        run.rounds = 1
        found = run.run()
        assert allotted - host.spes * HALF < found.pages_bytes <= allotted
        assert found.lost_bytes == 0
    run.pages = 1
    run.rounds = 20
    assert run.run().lost_bytes > 0


def test_published_numbers_are_near(study: Study) -> None:
    """Rows have what the paper says; the application's overhead holds at any size of the study."""
    rows = by_id(study)
    assert [rows[key].published for key in ("fig2/call", "fig3/call", "fig5/call")] == [6.3, 5.6, 3.2]
    assert [rows[f"fig{n}/slowdown"].published for n in (2, 3, 4, 5)] == [6.8, 4.0, 3.7, 4.2]
    for key in ("fig4/share", "fig4/call", "fig5/plain", "size/local-store", "size/types", "size/lost"):
        assert rows[key].holds, rows[key]


def test_the_statements_can_fail(study: Study) -> None:
    """A study in which the profiler is dear says so."""
    dear = replace(
        study,
        dynamics4=tuple(replace(each, per_call_us=0.4, slowdown=1.01) for each in study.dynamics4),
        local_store=12 * 1024 + 1,
    )
    rows = by_id(dear)
    assert not any(rows[key].holds for key in ("fig4/share", "fig4/call", "size/local-store"))


def test_a_run_is_the_same_every_time() -> None:
    """Simulated time depends on nothing else."""
    run = run_of(PS3, PS3.machine(), MESSAGE)
    run.rounds = 12
    assert run.run().time_us == run.run().time_us


def test_one_file_per_spe_is_a_profile(tmp_path: Path) -> None:
    """Messages between neighbours of the grid, function events, the profiler's own marks; report reads it."""
    folder = tmp_path / "spes.cw"
    write_traces(folder)
    assert sorted(each.name for each in folder.glob("*.cwt")) == [f"rank-{n:05d}.cwt" for n in range(6)]
    profile = load_profile(folder, calls=0)
    assert not profile.problems
    assert profile.world.size == len(profile.world.ranks) == 6
    row, column = np.divmod(np.arange(6), 3)
    expected = np.where(row[:, None] == row, 1, 2 * (column[:, None] == column)) - np.eye(6, dtype=int)
    for kind in ("sent", "received"):
        sender, receiver, volume, messages = profile.world.coordinates(kind)
        matrix = np.zeros((6, 6), int)
        matrix[sender, receiver] = messages
        # To both others of a row, and twice to the one other of a column.
        assert np.array_equal(matrix, STEPS * expected)
        assert int(volume.sum()) == int(messages.sum()) * BOUNDARY
    assert profile.calls is not None
    report = corewise("report", folder)
    assert (report.returncode, report.stderr) == (0, "")
    assert "MPI_Send" in report.stdout
    refused = corewise("paper", "overhead", "--traces", folder)
    assert_one_line_error(refused, "spes.cw", "a folder that does not exist yet")


def test_figures_and_tables(study: Study, tmp_path: Path) -> None:
    """Figures 2 to 5 are drawn, and tables show every point."""
    result = PAPER.result("simulated", study)
    names = [each.name for each in result.figures]
    assert names == [f"003-cell-figure-{n}" for n in (2, 3, 4, 5)]
    assert len(write_figures(result.figures[:1], tmp_path)) == 2
    by_title = {each.title.split(":")[0]: each for each in result.tables}
    assert len(by_title["figure 2"].rows) == len(SMALL.events)
    assert len(by_title["figure 4 (b)"].rows) == len(SMALL.halves)
    assert len(by_title["table 1"].rows) == len(study.event_types)


def test_wrong_fields_are_named() -> None:
    """As the core says them."""
    run = run_of(PS3, PS3.machine(), 100)
    with pytest.raises(InputError, match="field 'message_bytes': found 100"):
        run.run()
    with pytest.raises(InputError, match="'layout': found 'wide', allowed: paper, specific"):
        run.layout = "wide"
