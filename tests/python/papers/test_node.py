"""Paper 004 on this host: how measurements become rows, tables and figures. The measurements are made up.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from corewise.analysis.noise.sources import Events, NodeNoise
from corewise.analysis.result import Figure, Panel, Row, series
from corewise.cli.main import execute
from corewise.cli.papers import node as command
from corewise.data.noise import Interruptions, NoiseRecord, save_noise
from corewise.errors import InputError
from corewise.papers.node.data import NODES, Found, Measured, Statement, Underused
from corewise.papers.node.rows import rows_of
from corewise.papers.node.study import run_paper, underused
from corewise.papers.node.views import figures_of, tables_of
from corewise.plots.figures import write_figures

DAEMONS = NodeNoise(Events(200.0, np.array([1e6])), Events(0.0, np.zeros(0)), "daemons")
QUIET = NodeNoise(Events(0.0, np.zeros(0)), Events(0.0, np.zeros(0)), "quiet")
PAPERS_COPIES = {"memcpy": 184.0, "naive": 184.0, "read_allocate": 283.0, "four_stream": 203.0}
PACKING = Figure("openmpi", "packing", (Panel("1.A", "x", "y", "line", (series("a", [1, 2], [1, 2]),)),))


@functools.cache
def modelled(name: str) -> tuple[Underused, ...]:
    """Section 7 under a noise."""
    return tuple(underused({"daemons": DAEMONS, "quiet": QUIET}[name], quick=True))


def contention(ratio: float) -> dict[str, Measured]:
    """Two orders of four threads, in which all together get `ratio` of four times one alone."""
    found = {}
    for order in ("incremental", "alternating"):
        for kernel in ("blocked", "read-allocate", "streamed", "memcpy", "copy-streamed"):
            for count in (1, 2, 4):
                share = 1.0 if count == 1 else ratio
                row = Measured(10.0 * count * share, 10.0 * count, share)
                found[f"node-contention-{order}-{kernel}-{count}"] = row
    found["node-contention-prefetch-incremental-1"] = Measured(8.0, 10.0, 0.8)
    found |= {f"node-contention-banks-blocked-{count}": Measured(1.0, 1.0, 1.01) for count in (1, 2, 4)}
    return found


def shares(quiet: float, loaded: float) -> dict[str, Measured]:
    """Shares by a mutex that take so many times as long as static ones."""
    times = {
        "uniform-4-32": quiet,
        "uniform-4-16": quiet,
        "uniform-4-64": quiet + 0.005,
        "uniform-2-32": quiet,
    }
    times |= {"loaded-4-32": loaded, "uniform-1-32": 0.9, "uneven-4-32": 0.9, "disturbed-4-32": 0.5}
    times |= {"repeated-4-32": 1.0, "empty-4-32": 2.0}
    return {f"node-shares-mutex-{key}": Measured(3.0, 3.0 / each, 1 / each) for key, each in times.items()}


def made_up() -> Found:
    """A host like the paper's."""
    rows = {**contention(0.5), **shares(1.08, 1.35), "fft-form-dataflow-512": Measured(12.0, 10.0, 0.83)}
    said = (Statement("Some MPI 1", "below 2 KB by hand", True, "at 11 of 11 sizes"),)
    return Found("host", 4, PAPERS_COPIES, said, (PACKING,), rows, "daemons", modelled("daemons"))


def by_id(found: Found) -> dict[str, Row]:
    """Rows."""
    return {row.id: row for row in rows_of(found)}


def test_a_host_like_the_papers_holds_what_is_not_modelled() -> None:
    rows = by_id(made_up())
    broken = {key for key, row in rows.items() if row.holds is False and not key.startswith(("fig5", "s7"))}
    assert broken == set()
    published = {key: row.published for key, row in rows.items() if row.published is not None}
    assert published == {
        "s3/memcpy": 184, "s3/read_allocate": 283, "s3/four_stream": 203, "s3/gain": 54, "s8/prefetch": -20,
        "fig4/uniform": 8, "fig4/loaded": 35, "fig5/bruck/few": 10, "fig5/pairwise/few": 10,
        "fig5/by-nodes/few": 10,
    }  # fmt: skip
    for key, ours in (("s3/gain", 53.8), ("fig4/uniform", 8), ("fig4/loaded", 35), ("s8/prefetch", -20)):
        assert rows[key].ours == pytest.approx(ours, abs=0.1)


def test_a_host_of_today_disagrees() -> None:
    copies = {"memcpy": 9000.0, "naive": 6000.0, "read_allocate": 5000.0, "four_stream": 5500.0}
    rows = {**contention(1.0), **shares(0.95, 0.95), "fft-form-dataflow-512": Measured(9.0, 10.0, 1.1)}
    found = by_id(Found("host", 4, copies, (), (), rows))
    broken = {key for key, row in found.items() if row.holds is False}
    assert broken == {
        "s3/untuned", "s3/touched", "s3/streams", "fig3A/less", "fig3B/less", "fig4/static",
        "fig8/threaded-512",
    }  # fmt: skip


def test_what_was_not_measured_has_no_row() -> None:
    assert by_id(Found("host", 2)) == {}
    result = run_paper(Found("host", 2, rows=contention(1.0)))
    assert {row.id.split("/")[0] for row in result.rows} == {"fig3A", "fig3B", "fig3", "s8"}


def test_eight_processes_are_quicker_where_nothing_is_taken_and_seven_where_much_is() -> None:
    quiet = {(each.collective, each.nodes): each for each in modelled("quiet")}
    assert len(quiet) == 3 * len(NODES)
    assert all(each.seven_ns > each.eight_ns for key, each in quiet.items() if key[1] <= 8)
    loud = {(each.collective, each.nodes): each for each in modelled("daemons")}
    assert all(
        loud[name, 16].seven_ns < loud[name, 16].eight_ns for name in ("bruck", "pairwise", "by-nodes")
    )
    assert [each.assumed_ns is None for each in quiet.values()].count(False) == len(NODES)
    assert len(quiet["bruck", 32].seven_ranks_ns) == 224


def test_tables_and_figures_have_every_point(tmp_path: Path) -> None:
    found = made_up()
    tables = list(tables_of(found, list(rows_of(found))))
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    titles = " ".join(table.title for table in tables)
    assert "figure 3.A" in titles and "figure 4" in titles and "figure 5 of the text" in titles
    figures = list(figures_of(found))
    assert [figure.name for figure in figures] == [
        "004-figures-1-2-openmpi", "004-figure-3", "004-figure-4", "004-figure-5",
    ]  # fmt: skip
    assert all(
        len(s.x) == len(s.y) > 0 for figure in figures for panel in figure.panels for s in panel.series
    )
    assert all(path.stat().st_size > 1000 for path in write_figures(figures, tmp_path))


def test_the_command_models_section_7(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["paper", "node", "--section", "7", "--quick", "--noise", "rate=200,length=1ms"]
    assert execute([*words, "--out", str(tmp_path / "figures"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "paper node"
    rows = {row["id"]: row for row in document["rows"]}
    assert rows["fig5/bruck/16"]["holds"] is True and rows["fig5/bruck/few"]["published"] == 10
    assert [Path(file).name for file in document["files"]] == ["004-figure-5.svg", "004-figure-5.png"]


def test_rows_of_benchmarks_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from corewise.bench.rows import Outcome
    from corewise.bench.rows import Row as BenchRow

    row = BenchRow(
        "node-contention-prefetch-incremental-1", "x", "GB/s", 8.0, "y", 10.0, ratio=0.8, spread=0.1
    )
    monkeypatch.setattr(command.node, "run_bench", lambda listener, request: Outcome("node", (row,)))
    noise = NoiseRecord("described", 0, Interruptions(1.0, (1,)), Interruptions(0.0, ()))
    found = command.study((5, 6), noise, True, lambda share: None)
    assert [(each.id, each.published) for each in found.rows] == [("s8/prefetch", -20.0)]
    assert found.rows[0].ours == pytest.approx(-20)


def test_what_the_host_lacks_is_left_out_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lack = "neither FFTW nor the sources of DUCC"
    monkeypatch.setattr(command, "lacks_engine", lambda listener: lack)
    monkeypatch.setattr(command, "find_all", lambda: ["an MPI"])
    assert command.check([], None)[0] == (3, 4, 5, 6, 7)
    assert f"section 8 left out: {lack} here" in capsys.readouterr().err
    assert command.check([7, 3, 7], None)[0] == (3, 7)
    with pytest.raises(InputError, match=f"found 8, but {lack} is here"):
        command.check([8], None)
    monkeypatch.setattr(command, "find_all", list)
    assert command.check([], None)[0] == (3, 5, 6, 7)
    with pytest.raises(InputError, match="found 4, but no MPI is here"):
        command.check([4], None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--section", "2"], "option '--section': found 2, allowed: 3, 4, 5, 6, 7, 8"),
        (["--noise", "rate=x,length=1us"], "--noise"),
        (["--noise", "none.json"], "none.json"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["paper", "node", *words]) == 2
    assert said in capsys.readouterr().err


def test_noise_of_few_processors_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = Interruptions(20.0, (1000000,))
    save_noise(NoiseRecord("P 1", 2, kind, kind), tmp_path / "two.json")
    assert execute(["paper", "node", "--section", "7", "--noise", str(tmp_path / "two.json")]) == 2
    assert "found noise of 2 processors" in capsys.readouterr().err
