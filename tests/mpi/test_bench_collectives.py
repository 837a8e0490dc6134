"""`corewise bench collectives` on real MPIs: every byte is right, and the preload is at work.

No test looks at a time: ranks may outnumber cores, and other tests run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
from pathlib import Path

import accelerating_runs as runs
import documents
import pytest
from installed_tool import corewise
from preload_runs import described, library

from corewise.bench.collectives import preload
from corewise.bench.collectives.study import Request, run_bench
from corewise.bench.rows import Listener
from corewise.data.tuned_hosts import collectives_knob, host_collectives, load_host_tuning
from corewise.errors import InputError

TINY = ("2", "0", "0")
"""Two rounds from the first on, no more samples than are needed."""


def program(name: str) -> Path:
    """The measuring program, built for an MPI."""
    return preload.program_for(described(name), Listener())


@pytest.mark.parametrize("name", runs.NAMES)
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_collective_is_right_and_taken_over(name: str, ranks: int, tmp_path: Path) -> None:
    """The program itself looks at what arrives: elements of every width, back to back and one by one."""
    sizes = {each: (0,) if each == "barrier" else (1, 8, 12, 1030, 8192) for each in preload.COLLECTIVES}
    cases = [(each, size) for each, some in sizes.items() for size in some]
    words = [program(name), *TINY, *(f"{each}:{size}" for each, size in cases)]
    ran = runs.run(name, ranks, words, tmp_path / "counts").succeeded()
    rounds = [tuple(line.split()[1:4]) for line in ran.done.stdout.splitlines() if line.startswith("round ")]
    assert rounds == [(each, str(size), number) for each, size in cases for number in "01"]
    assert ran.taken() == {f"MPI_{each.capitalize()}" for each in preload.COLLECTIVES}
    assert {preload.passed_in(tmp_path / "counts", each) for each in preload.COLLECTIVES} == {""}


@pytest.mark.parametrize("name", runs.NAMES)
def test_without_the_library_nothing_is_measured(name: str) -> None:
    done = library(name).run(2, program(name), [*TINY, "bcast:8"], timeout=60)
    assert done.returncode != 0 and "round" not in done.stdout
    assert "no library stands before the MPI's collectives" in done.stderr


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_command_gives_rows_of_both(name: str) -> None:
    """Also through another table: what it does not name is left to the MPI, and said to be."""
    table = "barrier=-:dissemination;allreduce=1024:recursive_doubling;broadcast=-:root_stage"
    words = ["--quick", "--rounds", 6, "--sizes", "64,64KiB", "--table", table, "--json"]
    done = corewise("bench", "collectives", *words, "--mpi", described(name).prefix)
    assert done.returncode == 0, done.stderr
    rows = {row["id"]: row for row in documents.read(done.stdout)["rows"]}
    cells = [("barrier", 0), *itertools.product(("bcast", "allreduce"), (64, 65536))]
    version = described(name).version
    assert list(rows) == [f"collectives-preload-{each}-{size}-2-{name}-{version}" for each, size in cells]
    for row in rows.values():
        assert row["mpi"] == row["rival"] == f"{name} {version}"
        assert row["ours"] > 0 and row["theirs"] > 0 and row["table"] == table
        assert 0 < row["low"] <= row["ratio"] <= row["high"]
        assert row["n"] == (18 if row["again"] else 6)
    left = [(row["id"].split("-")[2:4], row["passed"]) for row in rows.values() if not row["taken"]]
    assert left == [(["allreduce", "65536"], "the table leaves it to the MPI")]


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_hosts_table_is_what_a_run_gets(name: str) -> None:
    words = ["--quick", "--rounds", 2, "--collectives", "barrier", "--table", "host", "--json"]
    done = corewise("bench", "collectives", *words, "--mpi", described(name).prefix)
    assert done.returncode == 0, done.stderr
    (row,) = documents.read(done.stdout)["rows"]
    assert row["table"] == host_collectives(name, described(name).version).knob and row["taken"]


def test_buffers_in_mapped_memory_have_rows_of_their_own() -> None:
    """And a row says so where they are not done there. Two ranks have a floor."""
    table = (
        "broadcast=-:root_stage;allreduce=65535:peer_stages,-:ring;reduce=-:peer_stages;"
        "reduce_scatter_block=-:pairwise;scan=-:chain"
    )
    words = ["--mapped", "--rounds", 6, "--sizes", "16KiB,64KiB", "--table", table, "--json"]
    done = corewise("bench", "collectives", *words, "--mpi", described("mpich").prefix)
    assert done.returncode == 0, done.stderr
    rows = documents.read(done.stdout)["rows"]
    cells = itertools.product(preload.IN_MAPPED_MEMORY, (16384, 65536))
    assert [row["id"].split("-")[1:4] for row in rows] == [
        ["mapped", each, str(size)] for each, size in cells
    ]
    assert [row["mapped"] for row in rows] == [True, True, True, False, *[True] * 6]
    assert all(row["floor"] > 0 and row["over_floor"] > 0 for row in rows)
    assert all(row["taken"] for row in rows)


def test_data_with_gaps_arrive() -> None:
    """The measuring program checks what arrives."""
    moving = [each for each in preload.PLAIN if each not in preload.COMBINING]
    words = ["--gaps", "24 B", "--rounds", 2, "--sizes", "48,48KiB", "--table", "always", "--json"]
    done = corewise("bench", "collectives", *words, "--mpi", described("mpich").prefix)
    assert done.returncode == 0, done.stderr
    rows = documents.read(done.stdout)["rows"]
    assert [row["id"].split("-")[1:5] for row in rows] == [
        ["preload", "gaps24", each, str(size)] for each in moving for size in (48, 49152)
    ]
    assert all(row["taken"] for row in rows)


def test_a_table_that_takes_nothing_over_is_refused() -> None:
    mpi = str(described("mpich").prefix)
    request = Request(mpi=mpi, table="scan=nonsense", sizes=(8,), rounds=2, quick=True)
    with pytest.raises(InputError, match="--table: found 'scan=nonsense', allowed: a table that takes"):
        run_bench(Listener(), request)


def test_a_tuning_keeps_its_rows_of_other_collectives(tmp_path: Path) -> None:
    mpi = described("mpich")
    for collective in ("barrier", "scatterv"):
        words = ["--tune", tmp_path, "--quick", "--collectives", collective, "--mpi", mpi.prefix]
        done = corewise("bench", "collectives", *words)
        assert done.returncode == 0, done.stderr
    (path,) = tmp_path.iterdir()
    found = load_host_tuning(path)
    tuning = found.tuning
    assert [(row.collective, row.ranks) for row in tuning.rows] == [("barrier", 2), ("scatterv", 2)]
    assert found.on.mpi == f"mpich {mpi.version}"
    assert len(tuning.command.split(" && ")) == 2
    for row in tuning.rows:
        assert "mpi" in {each.algorithm for each in (row.won, *row.lost)}
    assert collectives_knob([found]) in done.stdout


def test_the_ratio_is_theirs_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round by round, as the launches' programs say them."""
    said: list[str] = []
    launched = preload.launched

    def recorded(*words: object) -> str:
        said.append(launched(*words))  # type: ignore[arg-type]
        return said[-1]

    monkeypatch.setattr(preload, "launched", recorded)
    request = Request(mpi=str(described("openmpi").prefix), collectives=("scan",), sizes=(64,), rounds=3)
    (row,) = run_bench(Listener(), request).rows
    rounds = [line.split() for line in "".join(said).splitlines() if line.startswith("round ")]
    assert [words[1:4] for words in rounds] == [["scan", "64", number] for number in "012"]
    ratios = sorted(float(theirs) / float(ours) for *_, ours, theirs, _ in rounds)
    assert len(said) == preload.FULL.launches
    assert row.ratio == pytest.approx(ratios[1], rel=1e-3)
