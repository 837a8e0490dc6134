"""Profiles read in parts: the answer is that of one pass, bit for bit, whoever reads what; in little memory.

Profiles are random and hold all kinds of records, several worlds, hosts whose clocks were measured badly, and
files that cannot be read. Answers are compared down to every number of every object that they hold.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_writer as tw
from dask_cluster import Cluster
from in_parts import Gone, Here, busy_profile, random_profile

import corewise as cw
from corewise import InputError, _core
from corewise.base.executors import Workers, workers_of
from corewise.cli import main
from corewise.data.profile import EVERY_RANK, load_profile
from corewise.data.shards import read_in_parts, read_part
from corewise.errors import RunError

RANK_AT = 16
"""Where a rank file says whose it is (docs/formats/trace.md)."""
KINDS = ("sent", "received", "collective", "put", "get")


def everything(value: Any) -> Any:
    """All that an object of the core holds, floats to the last bit."""
    if isinstance(value, float):
        return value.hex()
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    if isinstance(value, np.ndarray):
        return (value.shape, str(value.dtype), value.tobytes())
    if isinstance(value, (list, tuple)):
        return [everything(each) for each in value]
    assert type(value).__module__ == "corewise._core", type(value)
    fields = {
        name: everything(getattr(value, name))
        for name in dir(value)
        if not name.startswith("_") and not callable(getattr(value, name))
    }
    if isinstance(value, _core.World):
        for kind in KINDS:
            fields[f"traffic {kind}"] = everything(value.traffic(kind))
            for comm in range(len(value.communicators)):
                fields[f"traffic {kind} {comm}"] = everything(value.traffic(kind, comm))
            for phase in range(len(value.phases)):
                fields[f"traffic {kind}, phase {phase}"] = everything(value.traffic(kind, -1, phase))
        for kind in KINDS[:3]:
            fields[f"sizes {kind}"] = everything(value.histogram(kind))
    return fields or repr(value)


QUESTIONS: list[dict[str, Any]] = [
    {},
    {"waits": True},
    {"calls": EVERY_RANK},
    {"calls": 3, "waits": True, "ended_ns": 1_700_000_009_000_000_000},
    {"totals": False, "waits": True},
]


@pytest.mark.parametrize("seed", range(4))
def test_parts_say_what_one_pass_says(seed: int, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", seed)
    for question in QUESTIONS:
        expected = everything(_core.read_run(str(folder), **question))
        assert expected["problems"] and (expected["worlds"] or expected["waits"])
        for shard_bytes in (1, 150_000, 1 << 24):
            found = read_in_parts(folder, Workers(Here()), shard_bytes=shard_bytes, **question)
            assert everything(found) == expected, (question, shard_bytes)


@pytest.mark.parametrize("shares", [1, 2, 3, 7, 16])
def test_shares_of_the_waits_say_together_what_one_pass_says(shares: int, tmp_path: Path) -> None:
    """Messages go by receivers, collectives by their numbers: some shares have no rank of 7, or of 20."""
    for seed, ranks in ((12, 7), (13, 20)):
        folder = busy_profile(tmp_path / f"{seed}.cw", seed, ranks)
        run = _core.read_run(str(folder), totals=False, waits=True)
        assert run.waits[0].matched > 200 and run.waits[0].collectives > 100 and run.waits[0].corrections > 0
        kinds = {wait.kind for wait in run.waits[0].waits}
        assert kinds == {"late sender", "late receiver", "barrier", "all to all", "late broadcast"}
        jobs = Workers(Here(held_back=shares))
        found = read_in_parts(folder, jobs, totals=False, waits=True, shares=shares)
        assert everything(found) == everything(run)


def test_the_order_of_parts_does_not_show(tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 11)
    expected = everything(_core.read_run(str(folder), waits=True, calls=EVERY_RANK))
    jobs = len(list(folder.glob("*.cwt"))) + 3
    found = read_in_parts(folder, Workers(Here(jobs)), shard_bytes=1, waits=True, calls=EVERY_RANK, shares=3)
    assert everything(found) == expected


@pytest.mark.parametrize("who", ["local:1", "local:2", "local:3", "processes:2"])
def test_any_number_of_workers_gives_the_same_answer(who: str, tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 5, ranks=9)
    expected = everything(_core.read_run(str(folder), waits=True, calls=EVERY_RANK))
    with workers_of(who) as workers:
        found = read_in_parts(folder, workers, shard_bytes=1, waits=True, calls=EVERY_RANK)
    assert everything(found) == expected


def test_a_part_that_comes_twice_counts_once(tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 6)
    shards = _core.cut_into_shards(str(folder), 100_000)
    assert sorted(file for files in shards for file in files) == sorted(
        path.name for path in folder.glob("*.cwt")
    )
    merge = _core.ShardMerge()
    for number, files in [*enumerate(shards), *enumerate(shards)]:
        merge.add(number, _core.read_shard(str(folder), str(folder), files))
    for share in (0, 1, 0, 1):
        merge.add_waits(share, _core.read_waits(str(folder), str(folder), share, 2))
    assert everything(merge.finish()) == everything(_core.read_run(str(folder), waits=True))


@pytest.mark.parametrize("share", [(0, 0), (0, 17), (-1, 2), (2, 2)])
def test_a_share_that_cannot_be_is_refused(share: tuple[int, int], tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 3)
    with pytest.raises(InputError, match=r"field 'shares?': found '-?[0-9]+', allowed: [01] to [0-9]+"):
        _core.read_waits(str(folder), str(folder), *share)


def test_a_part_that_was_changed_on_its_way_is_refused(tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 7, ranks=3, records=20)
    part = _core.read_shard(str(folder), str(folder), ["rank-00000.cwt", "rank-00001.cwt"], EVERY_RANK)
    waits = _core.read_waits(str(folder), str(folder))
    for good in (part, waits):
        changed = good[:20] + bytes([good[20] ^ 1]) + good[21:]
        for bad in (b"", good[:7], good[:8], good[:-1], good + b"\0", changed):
            merge = _core.ShardMerge()
            with pytest.raises(InputError, match="field 'part': found bytes that no worker"):
                if good is part:
                    merge.add(0, bad)
                else:
                    merge.add_waits(0, bad)


def test_bundles_are_cut_too(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 6)
    expected = everything(_core.read_run(str(folder), waits=True))
    _core.pack_profile(str(folder))
    assert not list(folder.glob("*.cwt"))
    assert [len(shard) for shard in _core.cut_into_shards(str(folder), 1)] == [1] * 6
    assert everything(read_in_parts(folder, Workers(Here()), shard_bytes=1, waits=True)) == expected


def test_commands_print_the_same_bytes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 5)
    for words in (["report", "--json"], ["matrix"], ["waits", "--json"], ["call-graph", "--json"]):
        printed = []
        for more in ([], ["--executor", "local:2"]):
            assert main.execute([words[0], str(folder), *words[1:], *more]) == 0
            printed.append(capfd.readouterr())
        assert printed[0] == printed[1] and printed[0].out, words


def test_a_program_reads_with_its_own_executor(tmp_path: Path) -> None:
    folder = random_profile(tmp_path / "random.cw", 8)
    expected = everything(cw.load(folder).recorded.worlds)
    with ThreadPoolExecutor(2) as own:
        assert everything(cw.load(folder, executor=own).recorded.worlds) == expected
        assert own.submit(int).result() == 0  # it is still the program's
    assert everything(cw.load(folder, executor="local:2").recorded.worlds) == expected
    with pytest.raises(InputError, match="option '--executor': found 'nobody'"):
        cw.load(folder, executor="nobody")


def test_what_cannot_be_read_is_told_as_by_one_pass(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("empty.cw", "broken.cw"):
        Path(name).mkdir()
    Path("broken.cw/rank-00000.cwt").write_bytes(b"not a trace")
    Path("broken.cw/rank-00001.cwt").write_bytes(b"")
    for name in ("empty.cw", "broken.cw", "none.cw"):
        for command in ("report", "matrix", "waits", "call-graph"):
            told = []
            for more in ([], ["--executor", "local:1"]):
                assert main.execute([command, name, *more]) == 2
                told.append(capfd.readouterr())
            assert told[0] == told[1] and told[0].err.count("\n") == 1, (command, name)


def test_an_executor_that_does_not_exist_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 2)
    for command in ("report", "matrix", "waits", "call-graph"):
        assert main.execute([command, str(folder), "--executor", "local:0"]) == 2
        out, err = capfd.readouterr()
        assert out == "" and "found 'local:0', allowed: 1 to 1024 workers" in err


def test_workers_that_are_gone_are_an_error_and_no_answer(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the workers are gone"):
        load_profile(tw.ring_run(tmp_path / "ring.cw", 3), workers=Workers(Gone()))


# ---- memory ----------------------------------------------------------------------------------------------

READ_IN_LITTLE_ROOM = """
import resource, sys
from concurrent.futures import Executor, Future
from pathlib import Path
from corewise import _core
from corewise.base.executors import Workers
from corewise.data.shards import read_in_parts

class Here(Executor):
    def submit(self, job, /, *arguments):
        future = Future()
        future.set_result(job(*arguments))
        return future

def in_use():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

folder, parts, room = Path(sys.argv[1]), sys.argv[2] == "parts", int(sys.argv[3])
read_in_parts(Path(sys.argv[4]), Workers(Here())).worlds[0].calls.sum()  # loads what it takes
resource.setrlimit(resource.RLIMIT_AS, (in_use() + room, resource.RLIM_INFINITY))
found = read_in_parts(folder, Workers(Here())) if parts else _core.read_run(str(folder))
print(len(found.worlds[0].ranks), len(found.problems), int(found.worlds[0].calls.sum()))
"""
"""Reads a profile with so many bytes of address space beyond those that it had."""


def read_in(room: int, folder: Path, small: Path, parts: bool) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", READ_IN_LITTLE_ROOM, folder, "parts" if parts else "whole", room, small]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def many_ranks(folder: Path, ranks: int, rounds: int) -> Path:
    """All ranks exchange with rank 1; their files differ in the rank's number alone."""
    folder.mkdir()
    trace = tw.RankTrace(0, ranks)
    trace.put(tw.PLAIN, "MPI_Init", ticks=1000)
    for _ in range(rounds):
        trace.put(tw.SEND, "MPI_Send", 1, 1000)
        trace.put(tw.RECEIVE, "MPI_Recv", 1, 1000)
    trace.put(tw.PLAIN, "MPI_Finalize", ticks=1000)
    trace.write(folder / "rank-00000.cwt")
    first = (folder / "rank-00000.cwt").read_bytes()
    for rank in range(1, ranks):
        file = folder / f"rank-{rank:05d}.cwt"
        file.write_bytes(first[:RANK_AT] + struct.pack("<i", rank) + first[RANK_AT + 4 :])
    return folder


def test_memory_does_not_grow_with_the_size_of_the_profile(tmp_path: Path) -> None:
    """64 MB of traces in 32 MB of room, which hold the tallies of 48 ranks, one open file and a part."""
    small = tw.ring_run(tmp_path / "small.cw", 2)
    ranks, rounds = 48, 20_000
    folder = many_ranks(tmp_path / "many.cw", ranks, rounds)
    size = sum(file.stat().st_size for file in folder.glob("*.cwt"))
    room = 32 << 20
    assert size > 1.8 * room
    done = read_in(room, folder, small, parts=True)
    assert done.stdout.split() == [str(ranks), "0", str(ranks * (2 * rounds + 2))], done.stderr
    # The room is as small as it looks: all files do not fit into it.
    assert read_in(room, folder, small, parts=False).stdout.split()[:2] != [str(ranks), "0"]


@pytest.mark.long_test
def test_4096_ranks_are_read_in_bounded_memory(tmp_path: Path) -> None:
    """32 KB a rank, for tallies, answer and parts, and 64 MB."""
    small = tw.ring_run(tmp_path / "small.cw", 2)
    folder = many_ranks(tmp_path / "many.cw", 4096, 100)
    done = read_in((64 << 20) + 4096 * (32 << 10), folder, small, parts=True)
    assert done.stdout.split() == ["4096", "0", str(4096 * 202)], done.stderr


# ---- a real scheduler ------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "dask").mkdir()
    found = Cluster(tmp_path / "dask")
    yield found
    found.end()


def test_a_dask_worker_that_is_killed_loses_nothing_and_nothing_counts_twice(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = random_profile(tmp_path / "random.cw", 9, ranks=24, records=60)
    expected = everything(_core.read_run(str(folder), waits=True))
    cluster.add_workers(2)
    merged: list[int] = []

    class Watched:
        """Kills a worker when it has the third part."""

        def __init__(self, *arguments: Any) -> None:
            self.merge = _core.ShardMerge(*arguments)

        def add(self, number: int, part: bytes) -> None:
            merged.append(number)
            if len(merged) == 3:
                os.kill(cluster.workers[0].pid, signal.SIGKILL)
            self.merge.add(number, part)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.merge, name)

    from corewise.data import shards

    monkeypatch.setattr(shards, "ShardMerge", Watched)
    with workers_of(cluster.address) as workers:
        found = read_in_parts(folder, workers, shard_bytes=1, waits=True)
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert sorted(merged) == list(range(len(list(folder.glob("*.cwt")))))
    assert everything(found) == expected


def test_a_worker_needs_only_the_text_and_the_files(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", 3)
    shared = json.dumps({"directory": str(folder), "shown": "x", "calls": None, "ended_ns": 0})
    files = ["rank-00000.cwt", "rank-00001.cwt"]
    assert read_part(shared, files) == _core.read_shard(str(folder), "x", files)
    assert read_part(shared, (1, 2)) == _core.read_waits(str(folder), "x", 1, 2)
