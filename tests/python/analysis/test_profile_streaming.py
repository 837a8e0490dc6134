"""Analysis is streaming: memory does not grow with records, and the order of files does not matter.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw

from corewise.data.profile import load_profile

CHUNK_RECORDS = 2048
CHUNK_BYTES = 32 * CHUNK_RECORDS


@dataclass
class ManyChunks(tw.RankTrace):
    """A rank whose stream is one chunk of messages to itself, written `chunks` times."""

    chunks: int = 0

    def _halves(self) -> tuple[list[tuple[int, bytes]], bytes, int]:
        payload = b"".join(
            struct.pack("<QIHHQii", self.now + 20 * at, 10, 2 | tw.SEND << 10 | 0x8000, 1, 100, 0, at % 3)
            for at in range(CHUNK_RECORDS)
        )
        assert len(payload) == CHUNK_BYTES
        return [(at * CHUNK_BYTES, payload) for at in range(self.chunks)], b"", self.chunks * CHUNK_BYTES


# Reads a small profile, then forbids more than a few MiB of private memory beyond what the process has, and
# reads the large one. RLIMIT_DATA counts what is private and writable, so the mapped file itself is
# outside of it: its pages can be given back whenever memory is short.
_READ = """
import json, resource, sys
from corewise.data.profile import EVERY_RANK, load_profile

def private_bytes():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmData:")) * 1024

def totals(folder):
    world = load_profile(folder, calls=EVERY_RANK).world
    return {"calls": int(world.calls.sum()), "bytes": int(world.matrix("sent").sum()),
            "records": world.ranks[0].records}

totals(sys.argv[1])
limit = private_bytes() + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    bytearray(2 * int(sys.argv[3]))
except MemoryError:
    pass
else:
    sys.exit("the limit does not bind")
print(json.dumps(totals(sys.argv[2])))
"""


def test_memory_does_not_grow_with_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tw, "HALF_BYTES", CHUNK_BYTES)
    small = tw.write_run(tmp_path / "small.cw", [ManyChunks(0, 1, chunks=1)])
    large = tw.write_run(tmp_path / "large.cw", [ManyChunks(0, 1, chunks=800)])
    records = 800 * CHUNK_RECORDS
    allowance = 12 << 20
    assert (large / "rank-00000.cwt").stat().st_size > 4 * allowance
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(small), str(large), str(allowance)],
        check=False, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"calls": records, "bytes": 100 * records, "records": records}


def _tables(folder: Path) -> dict[str, object]:
    world = load_profile(folder).world
    return {
        "procedures": list(world.procedures),
        "calls": world.calls.tolist(),
        "time": world.time_ns.tolist(),
        "flows": [column.tolist() for kind in ("sent", "received") for column in world.traffic(kind)],
        "phases": list(world.phases),
        "sections": [(each.name, each.rank, each.entered, each.wall_ns) for each in world.phase_totals],
        "ranks": [(rank.rank, rank.records, rank.mpi_ns) for rank in world.ranks],
    }


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11])
def test_the_order_of_files_does_not_matter(tmp_path: Path, size: int) -> None:
    ranks = []
    for rank in range(size):
        trace = tw.RankTrace(rank, size)
        trace.mark(tw.PHASE, f"part {rank % 2}")
        trace.put(tw.SEND, "MPI_Send", (rank + 1) % size, 100 + rank, ticks=7)
        trace.put(tw.RECEIVE, "MPI_Recv", (rank - 1) % size, 100 + (rank - 1) % size, ticks=9)
        ranks.append(trace)
    expected = _tables(tw.write_run(tmp_path / "a.cw", ranks))
    order = np.random.default_rng(size).permutation(size)
    shuffled = tmp_path / "b.cw"
    shuffled.mkdir()
    for place, rank in enumerate(order.tolist()):
        ranks[rank].write(shuffled / f"rank-{place:05d}.cwt")
    found = _tables(shuffled)
    assert found == expected
