"""A file that several workers make in pieces has the bytes of the one that a single process writes.

Profiles are the random ones of in_parts: all kinds of records, two worlds, several hosts, files that
cannot be read. Pieces are cut so small that threads fall into several.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import otf2
import polars
import pyarrow.parquet
import pytest
import trace_writer as tw
from dask_cluster import Cluster
from in_parts import Gone, Here, random_profile

from corewise import InputError, RunError, _core
from corewise.base.executors import Workers, workers_of
from corewise.base.jobs import in_order
from corewise.cli import main
from corewise.data.events import Selection, parse_selection
from corewise.export import FORMATS, export_profile, load_events, places, tabular
from corewise.export.archives import write_otf2_by_ranks
from corewise.export.perfetto import write_perfetto
from corewise.export.pieces import Cut, write_in_pieces
from corewise.export.ranks import write_perfetto_by_ranks

ROWS = 50
"""Of a batch; the threads of a random profile have some 300 rows."""
WHOLE = {"csv": tabular.write_csv, "parquet": tabular.write_parquet, "arrow": tabular.write_arrow}
TABLES = [*WHOLE]
SMALL = Cut(ROWS, 2 * ROWS, 16)


@pytest.fixture(autouse=True)
def _small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "ROWS_PER_GROUP", ROWS)


def whole(
    folder: Path, target: Path, selection: Selection | None = None, form: str = "csv"
) -> tuple[bytes, int]:
    rows = WHOLE[form](load_events(folder, selection), target, lambda share: None)
    return target.read_bytes(), rows


def in_pieces(
    folder: Path,
    target: Path,
    workers: Workers,
    selection: Selection | None = None,
    cut: Cut = SMALL,
    form: str = "csv",
) -> tuple[bytes, int]:
    events = load_events(folder, selection)
    written = write_in_pieces(form, events, target, lambda share: None, workers, cut)
    return target.read_bytes(), written


@pytest.mark.parametrize("who", ["local:1", "local:2", "local:3", "local:40", "processes:2"])
def test_any_number_of_workers_writes_the_same_bytes(who: str, tmp_path: Path) -> None:
    """Row groups, and record batches of Arrow, are those of one process, too: they show in the bytes."""
    folder = random_profile(tmp_path / "random.cw", 21)
    with workers_of(who) as workers:
        for form in TABLES:
            expected = whole(folder, tmp_path / "whole", form=form)
            assert expected[1] > 10 * ROWS
            assert in_pieces(folder, tmp_path / "pieces", workers, form=form) == expected, form


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("piece_rows", [1, 70, 299, 100_000])
def test_the_cut_does_not_show(form: str, piece_rows: int, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 22, ranks=4, records=40)
    expected = whole(folder, tmp_path / "whole", form=form)
    cut = Cut(ROWS, piece_rows, 16)
    assert in_pieces(folder, tmp_path / "pieces", Workers(Here()), cut=cut, form=form) == expected


@pytest.mark.parametrize("rows", [1, 7, 299, 100_000])
def test_the_lines_of_a_batch_do_not_show(rows: int, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 22, ranks=4, records=40)
    expected = whole(folder, tmp_path / "whole.csv")
    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Here()), cut=Cut(rows, rows, 16)) == expected


def perfetto(folder: Path, target: Path, selection: Selection | None = None) -> tuple[bytes, int]:
    rows = write_perfetto(load_events(folder, selection), target, lambda share: None)
    return target.read_bytes(), rows


@pytest.mark.parametrize("who", ["local:1", "local:2", "local:3", "processes:2"])
def test_any_number_of_workers_writes_the_same_perfetto_trace(who: str, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 31, records=100)
    expected = perfetto(folder, tmp_path / "whole")
    assert expected[1] > 500
    shares: list[float] = []
    with workers_of(who) as workers:
        events = load_events(folder)
        rows = write_perfetto_by_ranks(events, tmp_path / "pieces", shares.append, workers, 150)
    assert ((tmp_path / "pieces").read_bytes(), rows) == expected
    assert len(shares) > 3 and shares == sorted(shares) and shares[-1] == 1


@pytest.mark.parametrize("records", [1, 150, 100_000])
@pytest.mark.parametrize(
    "words", [{}, {"ranks": "1,4-5"}, {"kinds": ["messages"]}, {"begin": "30 us", "until": "200 us"}]
)
def test_ranks_of_a_perfetto_trace_may_share_a_piece(
    records: int, words: dict[str, Any], tmp_path: Path
) -> None:
    folder = random_profile(tmp_path / "random.cw", 32, records=60)
    selection = parse_selection(**words)
    expected = perfetto(folder, tmp_path / "whole", selection)
    events = load_events(folder, selection)
    rows = write_perfetto_by_ranks(events, tmp_path / "pieces", lambda share: None, Workers(Here()), records)
    assert ((tmp_path / "pieces").read_bytes(), rows) == expected and rows > 0


def archive(folder: Path) -> dict[str, bytes]:
    """Files by name, but the anchor: into it the library writes a number of its own."""
    found = {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    assert found.pop("traces.otf2")
    return found


@pytest.mark.parametrize("who", ["local:1", "local:2", "local:3", "processes:2"])
def test_any_number_of_workers_writes_the_same_archive(who: str, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 34, records=80)
    whole = export_profile(folder, "otf2", tmp_path / "whole")
    with workers_of(who) as workers:
        pieces = export_profile(folder, "otf2", tmp_path / "pieces", workers=workers)
    assert (pieces.written, pieces.unsaid) == (whole.written, whole.unsaid)
    assert archive(tmp_path / "pieces") == archive(tmp_path / "whole")
    assert whole.written > 1000 and whole.unsaid > 0
    for each in (tmp_path / "pieces", tmp_path / "whole"):
        with otf2.reader.open(str(each / "traces.otf2")) as trace:
            assert sum(1 for _ in trace.events) == whole.written


@pytest.mark.parametrize("records", [1, 150, 100_000])
@pytest.mark.parametrize("words", [{"ranks": "1,4-5"}, {"kinds": ["messages"]}, {"begin": "90 us"}])
def test_ranks_of_an_archive_may_share_a_piece(records: int, words: dict[str, Any], tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 35, records=60)
    selection = parse_selection(**words)
    whole = export_profile(folder, "otf2", tmp_path / "whole", selection)
    (tmp_path / "pieces").mkdir()
    events = load_events(folder, selection)
    found = write_otf2_by_ranks(events, tmp_path / "pieces", lambda share: None, Workers(Here()), records)
    assert found == (whole.written, whole.unsaid) and whole.written > 50
    assert archive(tmp_path / "pieces") == archive(tmp_path / "whole")


def test_call_sites_are_named_by_the_command_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = random_profile(tmp_path / "random.cw", 33, records=60)

    def symbol(path: str, offset: int) -> Any:
        return SimpleNamespace(function=f"function of {Path(path).name}", offset=offset)

    def nothing(path: str, offset: int) -> Any:
        raise AssertionError(path)

    class Elsewhere(Here):
        """Its workers have no program."""

        def submit(self, job: Any, /, *arguments: Any, **more: Any) -> Any:
            with monkeypatch.context() as there:
                there.setattr(places, "find_symbol", nothing)
                return super().submit(job, *arguments, **more)

    monkeypatch.setattr(places, "find_symbol", symbol)
    expected = perfetto(folder, tmp_path / "whole")
    assert b"function of flow+0x" in expected[0] and b"function of part.so+0x" in expected[0]
    events = load_events(folder)
    rows = write_perfetto_by_ranks(events, tmp_path / "pieces", lambda share: None, Workers(Elsewhere()))
    assert ((tmp_path / "pieces").read_bytes(), rows) == expected


def test_parquet_in_pieces_is_read_as_a_whole(tmp_path: Path) -> None:
    """By another reader than the one whose writer made the pieces."""
    folder = random_profile(tmp_path / "random.cw", 26)
    in_pieces(folder, tmp_path / "pieces.parquet", Workers(Here()), form="parquet")
    assert pyarrow.parquet.read_metadata(tmp_path / "pieces.parquet").num_row_groups > 15
    found = polars.read_parquet(tmp_path / "pieces.parquet")
    expected = load_events(folder).to_polars()
    assert found.height > 10 * ROWS
    for name in found.columns:
        assert found[name].cast(polars.String).equals(expected[name].cast(polars.String)), name


@pytest.mark.parametrize("form", TABLES)
def test_names_do_not_depend_on_what_a_worker_read_before(form: str, tmp_path: Path) -> None:
    """A worker that begins with the last thread meets names, files and functions in another order."""
    folder = random_profile(tmp_path / "random.cw", 23)
    forwards: list[Any] = []
    asked: list[tuple[Any, ...]] = []

    class Noting(Here):
        def submit(self, job: Any, /, *arguments: Any, **more: Any) -> Any:
            asked.append((job, *arguments))
            done = super().submit(job, *arguments, **more)
            forwards.append(done.result())
            return done

    in_pieces(folder, tmp_path / "pieces", Workers(Noting()), form=form)
    assert len(asked) > 15
    with ThreadPoolExecutor(1) as fresh:  # its thread has no profile open
        backwards = [fresh.submit(*each).result() for each in reversed(asked)]
    assert backwards[::-1] == forwards


@pytest.mark.parametrize(
    "words", [{"ranks": "1,4-5"}, {"kinds": ["calls"]}, {"begin": "1 us", "until": "400 us"}]
)
def test_chosen_rows_are_the_same_ones(words: dict[str, Any], tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 24)
    selection = parse_selection(**words)
    for form in TABLES:
        expected = whole(folder, tmp_path / "whole", selection, form)
        assert 0 < expected[1] < load_events(folder).records
        assert in_pieces(folder, tmp_path / "pieces", Workers(Here()), selection, form=form) == expected


def test_bundles_are_exported_in_pieces_too(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 6)
    expected = whole(folder, tmp_path / "whole.csv")
    _core.pack_profile(str(folder))
    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Here()), cut=Cut(3, 3, 16)) == expected


def test_the_command_writes_and_says_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 5)
    target = tmp_path / "ring.csv"
    found = []
    for more in ([], ["--executor", "local:2"], ["--executor", "local:9"]):
        assert main.execute(["export", str(folder), "--to", "csv", "-o", str(target), "--json", *more]) == 0
        found.append((json.loads(capfd.readouterr().out)["rows"], target.read_bytes()))
        target.unlink()
    assert found[0] == found[1] == found[2] and found[0][0][0]["written"] > 0


@pytest.mark.parametrize("form", TABLES)
def test_a_run_without_records_has_its_header(form: str, tmp_path: Path) -> None:
    folder = tw.write_run(tmp_path / "none.cw", [tw.RankTrace(0, 1)])
    expected = whole(folder, tmp_path / "whole", form=form)
    assert expected[1] == 0
    assert in_pieces(folder, tmp_path / "pieces", Workers(Here()), form=form) == expected


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("who", "words"),
    [("local:0", "found 'local:0', allowed: 1 to 1024 workers"), ("nobody", "allowed: local[:N]")],
)
def test_workers_that_cannot_be_are_refused(
    form: str, who: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 2)
    target = tmp_path / "target"
    assert main.execute(["export", str(folder), "--to", form, "-o", str(target), "--executor", who]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1 and "option '--executor': " in err and words in err
    assert not target.exists()


def test_a_worker_that_sees_another_profile_is_refused(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 3)
    target = tmp_path / "ring.csv"
    target.write_text("precious")

    class Late(Here):
        """Its first worker comes when a rank is gone."""

        def submit(self, job: Any, /, *arguments: Any, **more: Any) -> Any:
            (folder / "rank-00002.cwt").unlink(missing_ok=True)
            return super().submit(job, *arguments, **more)

    with pytest.raises(InputError, match=r"ring\.cw: found other rank files than when the export began"):
        export_profile(folder, "csv", target, workers=Workers(Late()))
    assert target.read_text() == "precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ring.csv", "ring.cw"]


def test_workers_that_are_gone_leave_the_target_as_it_was(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 3)
    target = tmp_path / "ring.csv"
    target.write_text("precious")
    with pytest.raises(RunError, match="the workers are gone"):
        export_profile(folder, "csv", target, workers=Workers(Gone()))
    assert target.read_text() == "precious"


def twice(shared: str, item: int) -> str:
    return shared * item


def test_results_in_order_wait_for_the_earliest_and_no_more_are_begun() -> None:
    class Counting(Here):
        begun = 0

        def submit(self, job: Any, /, *arguments: Any, **more: Any) -> Any:
            self.begun += 1
            return super().submit(job, *arguments, **more)

    own = Counting(held_back=4)  # the last of four is done first
    taken = in_order(Workers(own), twice, "a", range(12), window=4)
    assert next(taken) == "" and own.begun == 4
    assert list(taken) == ["a" * each for each in range(1, 12)]


# ---- a real scheduler ------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "dask").mkdir()
    found = Cluster(tmp_path / "dask")
    yield found
    found.end()


def test_a_dask_worker_that_is_killed_loses_no_row(cluster: Cluster, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 25)
    expected = whole(folder, tmp_path / "whole.csv")
    cluster.add_workers(2)
    shares: list[float] = []

    def kill_at_the_third(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    target = tmp_path / "pieces.csv"
    with workers_of(cluster.address) as workers:
        events = load_events(folder)
        rows = write_in_pieces("csv", events, target, kill_at_the_third, workers, Cut(ROWS, ROWS, 4))
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert (target.read_bytes(), rows) == expected
    assert len(shares) > 20 and shares == sorted(shares) and shares[-1] == 1
