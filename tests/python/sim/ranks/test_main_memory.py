"""Programs on simulated ranks whose data lie in main memory behind a software cache.

What is counted is what a plain cache written here counts, and what comes out is what comes out without it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path

import documents
import numpy as np
import pytest

from corewise.cli.main import execute
from corewise.errors import InputError
from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program

HERE = Path(__file__).resolve().parent
SHAPES = ((128, 64, 4), (128, 32, 1), (1024, 1, 8), (256, 8, 2))


class PlainCache:
    """A cache by the book: an ordered set of lines per set, the one used last at the end."""

    def __init__(self, line_bytes: int, sets: int, ways: int) -> None:
        self.line_bytes = line_bytes
        self.ways = ways
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]
        self.hits = self.misses = self.write_backs = 0

    def touch(self, at: int, size: int, *, write: bool) -> None:
        """All lines of a range."""
        for line in range(at // self.line_bytes, (at + size - 1) // self.line_bytes + 1):
            chosen = self.sets[line % len(self.sets)]
            written = write
            if line in chosen:
                self.hits += 1
                written = chosen.pop(line) or write
            else:
                self.misses += 1
                if len(chosen) == self.ways:
                    self.write_backs += chosen.popitem(last=False)[1]
            chosen[line] = written

    def rounded(self, size: int) -> int:
        """Up to whole lines: data begin at the start of one."""
        return -(-size // self.line_bytes) * self.line_bytes

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.hits, self.misses, self.write_backs


def options(shape: Sequence[float]) -> RunOptions:
    names = ("cache_line_bytes", "cache_sets", "cache_ways")
    return RunOptions(settings=dict(zip(names, map(float, shape), strict=True)))


def counted(run: RankRun) -> list[tuple[int, int, int]]:
    assert run.exit_status == 0, run.message
    assert run.caches is not None
    return [tuple(row)[:3] for row in run.caches.tolist()]


# ---- drawn places ----------------------------------------------------------------------------------------


def touches(rank: int) -> Iterator[tuple[int, int, int, bool]]:
    """(array, place, bytes, whether it writes), as in touches.c."""
    state = 17 + rank

    def draw(below: int) -> int:
        nonlocal state
        state = (state * 1664525 + 1013904223) % (1 << 32)
        return (state >> 8) % below

    for i in range(3000):
        array = draw(2)
        at = draw(20000 - 400 if i % 2 == 0 else 2000)
        size = 1 + draw(400)
        yield array, at, size, draw(3) == 0


@pytest.fixture(scope="module")
def touching(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("touches") / "touches.sim"
    assert compile_program(["-O1", str(HERE / "touches.c"), "-o", str(program)]) == 0
    return program


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hits_misses_and_write_backs_are_those_of_a_plain_cache(
    shape: tuple[int, ...], touching: Path
) -> None:
    run = run_program(touching, [], 2, "flat:2", options=options(shape))
    expected = []
    for rank in range(2):
        cache = PlainCache(*shape)
        for array, at, size, write in touches(rank):
            cache.touch(array * cache.rounded(20000) + at, size, write=write)
        cache.touch(rank * cache.rounded(20000), 20000, write=rank == 1)  # the message
        expected.append(cache.counts)
    assert counted(run) == expected
    assert all(min(row) > 0 for row in expected)


def test_the_same_run_gives_the_same_times_and_none_without_a_cache(touching: Path) -> None:
    runs = [run_program(touching, [], 2, "flat:2", options=options(SHAPES[0])) for _ in range(2)]
    assert runs[0].time_ns == runs[1].time_ns
    without = run_program(touching, [], 2, "flat:2")
    assert without.caches is None
    assert runs[0].caches is not None
    spent = runs[0].caches["time_ns"]
    # The receiver waits for the sender's last look-ups; then it has its own of the message before it.
    assert without.time_ns < runs[0].time_ns < without.time_ns + spent.sum()
    assert runs[0].time_ns > spent.max()


# ---- Sweep3D ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweep3d(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("sweep3d") / "sweep3d.sim"
    sources = [str(each) for each in sorted((HERE.parents[3] / "apps/sweep3d").glob("*.cpp"))]
    assert compile_program(["-O1", "-std=c++20", *sources, "-o", str(program)]) == 0
    return program


def swept(cache: PlainCache, x: int, y: int, z: int, planes: int) -> None:
    """What one iteration of a single rank touches, column by column."""
    flux, emission = 0, cache.rounded(8 * x * y * z)
    before = 2 * emission
    everything = 8 * x * y * z
    for start, write in ((flux, False), (before, True), (flux, True), (emission, True)):
        cache.touch(start, everything, write=write)
    for way_x, way_y, way_z in octants():
        for _ in range(2):  # blocks of directions
            blocks = range(0, z, planes)
            for first in blocks if way_z > 0 else reversed(blocks):
                for _ in range(3):  # directions
                    for i in range(x) if way_x > 0 else reversed(range(x)):
                        for j in range(y) if way_y > 0 else reversed(range(y)):
                            column = 8 * ((i * y + j) * z + first)
                            cache.touch(emission + column, 8 * planes, write=False)
                            cache.touch(flux + column, 8 * planes, write=True)
    cache.touch(flux, everything, write=False)
    cache.touch(before, everything, write=False)


def octants() -> list[tuple[int, ...]]:
    """In the program's order, from its source."""
    text = (HERE.parents[3] / "apps/sweep3d/problem.hpp").read_text()
    listed = re.findall(r"kOctants.*?\{\{(.*?)\}\}", text, re.S)[0]
    found = [tuple(map(int, each)) for each in re.findall(r"(-?1), (-?1), (-?1)", listed)]
    assert len(set(found)) == 8
    return found


def test_a_sweep_counts_what_its_columns_touch(sweep3d: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shape = (128, 16, 2)  # 4 KiB
    words = ["--size", "6x5x20", "--iterations", "1", "--planes", "10"]
    run = run_program(sweep3d, words, 1, "flat:1", options=options(shape))
    cache = PlainCache(*shape)
    swept(cache, 6, 5, 20, 10)
    assert counted(run) == [cache.counts]
    assert min(cache.counts) > 0


def test_a_sweep_beyond_the_local_store_gives_the_same_flux_and_says_what_it_cost(
    sweep3d: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cells = 30 * 32 * 40
    assert 3 * 8 * cells / 2 > 256 * 1024  # of each of two ranks
    words = [str(sweep3d), "--size", "30x32x40", "--iterations", "1", "--check"]
    said = []
    for cache in ([], ["--set", "cache_line_bytes=128"]):
        capfd.readouterr()
        assert execute(["simrun", "-n", "2", "-m", "flat:2", *cache, *words]) == 0
        said.append(capfd.readouterr().out)
    flux = [re.findall(r"flux_sum=(\S+)", text)[0] for text in said]
    assert flux[0] == flux[1]
    assert "check different_cells=0" in said[1]
    assert "software caches" not in said[0]
    assert re.search(
        r"software caches of 32 KiB in each local store: [\d ]+ hits, [\d ]+ misses, [\d ]+ write-backs; "
        r"\S+ .s of a rank's time",
        said[1],
    )
    times = [float(re.findall(r"time_s=(\S+)", text)[0]) for text in said]
    assert times[1] > times[0]


# ---- what is printed, what is refused --------------------------------------------------------------------


def test_the_json_has_every_ranks_cache(touching: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["simrun", "-n", "2", "-m", "flat:2", "--json", "--set", "cache_line_bytes=256", str(touching)]
    assert execute(words) == 0
    document = documents.read(capfd.readouterr().out)
    assert not list(documents.validator("simrun").iter_errors(document))
    run = run_program(touching, [], 2, "flat:2", options=options((256, 64, 4)))
    assert run.caches is not None
    rows = [row["software_cache"] for row in document["rows"]]
    assert [list(row.values()) for row in rows] == [list(each) for each in run.caches.tolist()]
    assert json.dumps(document["settings"]["cache_sets"]) == "64.0"


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((100, 64, 4), "'line_bytes': found 100"),
        ((128, 3, 4), "'sets': found 3"),
        ((128, 64, 25), "'cache_ways': found 25"),
        ((128.5, 64, 4), "'cache_line_bytes': found 128.5"),
        ((32768, 64, 4), "'cache_line_bytes': found 32768"),
    ],
)
def test_a_cache_that_cannot_be_is_refused(shape: tuple[float, ...], said: str, touching: Path) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        run_program(touching, [], 2, "flat:2", options=options(shape))


def test_without_a_rank_that_has_main_memory_times_are_as_they_were(touching: Path) -> None:
    """Sizes of a cache that is not there change nothing."""
    settings = {"cache_sets": 8.0, "cache_ways": 1.0}
    runs = [
        run_program(touching, [], 2, "flat:2", options=RunOptions(settings=each)) for each in ({}, settings)
    ]
    assert runs[0].time_ns == runs[1].time_ns
    assert np.array_equal(runs[0].ranks, runs[1].ranks)
