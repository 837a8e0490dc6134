"""A CSV file that several workers make in pieces has the bytes of the one that a single process writes.

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
from typing import Any

import pytest
import trace_writer as tw
from dask_cluster import Cluster
from in_parts import Gone, Here, random_profile

from corewise import InputError, RunError, _core
from corewise.base.executors import Workers, workers_of
from corewise.base.jobs import in_order
from corewise.cli import main
from corewise.data.events import Selection, parse_selection
from corewise.export import FORMATS, export_profile, load_events, pieces
from corewise.export.pieces import write_csv_in_pieces
from corewise.export.tabular import write_csv

ROWS = 50
"""Of a piece; the threads of a random profile have some 300."""


def whole(folder: Path, target: Path, selection: Selection | None = None) -> tuple[bytes, int]:
    rows = write_csv(load_events(folder, selection), target, lambda share: None)
    return target.read_bytes(), rows


def in_pieces(
    folder: Path, target: Path, workers: Workers, selection: Selection | None = None, rows: int = ROWS
) -> tuple[bytes, int]:
    events = load_events(folder, selection)
    written = write_csv_in_pieces(events, target, lambda share: None, workers, rows)
    return target.read_bytes(), written


@pytest.mark.parametrize("who", ["local:1", "local:2", "local:3", "local:40", "processes:2"])
def test_any_number_of_workers_writes_the_same_bytes(who: str, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 21)
    expected = whole(folder, tmp_path / "whole.csv")
    assert expected[1] > 10 * ROWS
    with workers_of(who) as workers:
        assert in_pieces(folder, tmp_path / "pieces.csv", workers) == expected


@pytest.mark.parametrize("rows", [1, 7, 299, 100_000])
def test_the_cut_does_not_show(rows: int, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 22, ranks=4, records=40)
    expected = whole(folder, tmp_path / "whole.csv")
    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Here()), rows=rows) == expected


def test_names_do_not_depend_on_what_a_worker_read_before(tmp_path: Path) -> None:
    """A worker that begins with the last thread meets names, files and functions in another order."""
    folder = random_profile(tmp_path / "random.cw", 23)
    expected, _ = whole(folder, tmp_path / "whole.csv")
    asked: list[tuple[Any, ...]] = []

    class Noting(Here):
        def submit(self, job: Any, /, *arguments: Any, **more: Any) -> Any:
            asked.append((job, *arguments))
            return super().submit(job, *arguments, **more)

    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Noting()))[0] == expected
    assert len(asked) > 20
    with ThreadPoolExecutor(1) as fresh:  # its thread has no profile open
        backwards = [fresh.submit(*each).result()[0] for each in reversed(asked)]
    header, _, rows = expected.partition(b"\n")
    assert header.startswith(b"world,rank") and b"".join(reversed(backwards)) == rows


@pytest.mark.parametrize(
    "words", [{"ranks": "1,4-5"}, {"kinds": ["calls"]}, {"begin": "1 us", "until": "400 us"}]
)
def test_chosen_rows_are_the_same_ones(words: dict[str, Any], tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 24)
    selection = parse_selection(**words)
    expected = whole(folder, tmp_path / "whole.csv", selection)
    assert 0 < expected[1] < load_events(folder).records
    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Here()), selection) == expected


def test_bundles_are_exported_in_pieces_too(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 6)
    expected = whole(folder, tmp_path / "whole.csv")
    _core.pack_profile(str(folder))
    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Here()), rows=3) == expected


def test_the_command_writes_and_says_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 5)
    target = tmp_path / "ring.csv"
    found = []
    for more in ([], ["--executor", "local:2"], ["--executor", "local:9"]):
        assert main.execute(["export", str(folder), "--to", "csv", "-o", str(target), "--json", *more]) == 0
        found.append((json.loads(capfd.readouterr().out)["rows"], target.read_bytes()))
        target.unlink()
    assert found[0] == found[1] == found[2] and found[0][0][0]["written"] > 0


def test_a_run_without_records_has_its_header(tmp_path: Path) -> None:
    folder = tw.write_run(tmp_path / "none.cw", [tw.RankTrace(0, 1)])
    expected = whole(folder, tmp_path / "whole.csv")
    assert expected[1] == 0
    assert in_pieces(folder, tmp_path / "pieces.csv", Workers(Here())) == expected


@pytest.mark.parametrize(
    ("form", "who", "words"),
    [
        ("csv", "local:0", "found 'local:0', allowed: 1 to 1024 workers"),
        ("csv", "nobody", "found 'nobody', allowed: local[:N]"),
        *(
            (form, "local:2", f"found with --to {form}, allowed: with --to csv")
            for form in FORMATS
            if form != "csv"
        ),
    ],
)
def test_what_nobody_can_make_is_refused(
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


def test_a_dask_worker_that_is_killed_loses_no_row(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = random_profile(tmp_path / "random.cw", 25)
    expected = whole(folder, tmp_path / "whole.csv")
    monkeypatch.setattr(pieces, "WINDOW", 4)
    cluster.add_worker()
    cluster.add_worker()
    shares: list[float] = []

    def kill_at_the_third(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    target = tmp_path / "pieces.csv"
    with workers_of(cluster.address) as workers:
        events = load_events(folder)
        rows = write_csv_in_pieces(events, target, kill_at_the_third, workers, ROWS)
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert (target.read_bytes(), rows) == expected
    assert len(shares) > 20 and shares == sorted(shares) and shares[-1] == 1
