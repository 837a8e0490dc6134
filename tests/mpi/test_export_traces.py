"""A real run under each MPI, exported in every form: the forms agree with the profile and with each other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import otf2
import preload_runs
import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from corewise.cli.main import execute
from corewise.data.profile import load_profile
from corewise.export import load_events

RANKS, STEPS = 3, 20

# A ring of non-blocking messages of growing size in a communicator that counts backwards, then blocking ones
# and a reduction.
RING_C = r"""
#include <mpi.h>

int main(int argc, char** argv) {
  static char in[4096], out[4096];
  int rank, size, sum = 0;
  MPI_Comm back;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &back);
  MPI_Comm_rank(back, &rank);
  for (int i = 0; i < STEPS; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof in, MPI_BYTE, (rank + size - 1) % size, i, back, &requests[0]);
    MPI_Isend(out, 64 * (i + 1), MPI_BYTE, (rank + 1) % size, i, back, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(out, 8, MPI_BYTE, (rank + 1) % size, 99, in, 8, MPI_BYTE, (rank + size - 1) % size, 99,
                 back, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, back);
  }
  MPI_Finalize();
  return 0;
}
"""


@cache
def _exported(name: str, folder: Path) -> Mapping[str, Path]:
    """The run's profile, and its exports by form."""
    mpi = preload_runs.library(name)
    (folder / "ring.c").write_text(RING_C)
    program = mpi.build(folder / "ring", folder / "ring.c", flags=[f"-DSTEPS={STEPS}", "-Wno-pedantic"])
    profile = folder / "ring.cw"
    profile.mkdir()
    preload_runs.record(name, RANKS, program, profile).succeeded()
    found = {"profile": profile}
    for form in ("otf2", "perfetto", "parquet"):
        found[form] = folder / f"ring.{form}"
        assert execute(["export", str(profile), "--to", form, "-o", str(found[form])]) == 0
    return found


@pytest.mark.parametrize("name", preload_runs.MPI_NAMES)
def test_a_real_run_says_the_same_in_every_form(
    name: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _exported(name, tmp_path_factory.mktemp(f"export-{name}"))
    frame = pyarrow.parquet.read_table(found["parquet"]).to_pandas()
    _agrees_with_the_profile(frame, found["profile"])
    _agrees_with_otf2(frame, found["otf2"])
    _agrees_with_perfetto(frame, found["perfetto"])
    capsys.readouterr()
    assert execute(["export", str(found["profile"]), "--to", "xml", "-o", str(found["otf2"] / "x")]) == 2


def _agrees_with_the_profile(frame: Any, profile: Path) -> None:
    world = load_profile(profile).world
    assert len(frame) == sum(rank.records for rank in world.ranks)
    assert frame["calls"].sum() == sum(rank.calls for rank in world.ranks)
    assert frame[frame["kind"] == "send"]["bytes"].sum() == world.matrix("sent").sum()
    arrived = frame[frame["kind"].isin(["receive", "arrival"])]
    assert arrived["bytes"].sum() == world.matrix("received").sum()
    assert arrived["bytes"].sum() == RANKS * sum(64 * (step + 1) + 8 for step in range(STEPS))
    calls = frame[(frame["calls"] > 0) & (frame["kind"] != "miss")]
    in_mpi = calls.groupby("rank")["duration_ns"].sum()
    for rank in world.ranks:
        # Begin and end of a call are rounded down to whole ns.
        assert abs(in_mpi[rank.rank] - rank.mpi_ns) <= rank.calls + 1e-4 * rank.mpi_ns
    names = [each.name for each in load_events(profile).communicators]
    assert names == [each.name for each in world.communicators]
    # Nobody waits for a message that was sent before time began, and all lie on one line.
    assert frame["start_ns"].min() >= 0
    barrier = frame[frame["name"] == "MPI_Allreduce"].groupby("rank")["start_ns"].max()
    assert barrier.max() - barrier.min() < 10e9


def _agrees_with_otf2(frame: Any, folder: Path) -> None:
    kinds = Counter(frame["kind"])
    sendrecv = int((frame["name"] == "MPI_Sendrecv").sum()) // 2
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    last: dict[Any, int] = defaultdict(int)
    senders: list[tuple[int, int]] = []
    with otf2.reader.open(str(folder / "traces.otf2")) as trace:
        for location, event in trace.events:
            kind = type(event).__name__
            assert event.time >= last[location]
            last[location] = event.time
            count[kind] += 1
            size[kind] += getattr(event, "msg_length", 0)
            if kind == "MpiIsend":
                group = event.communicator.group
                senders.append((group.rank(location), event.receiver))
    assert count["MpiIsend"] + count["MpiSend"] == kinds["send"]
    assert count["MpiSend"] == count["MpiRecv"] == sendrecv == RANKS * STEPS
    assert count["MpiIrecv"] == count["MpiIrecvRequest"] == kinds["post_receive"] == RANKS * STEPS
    assert count["MpiCollectiveEnd"] == kinds["collective"]
    assert count["Enter"] == count["Leave"]
    assert size["MpiIsend"] + size["MpiSend"] == frame[frame["kind"] == "send"]["bytes"].sum()
    assert size["MpiIrecv"] + size["MpiRecv"] == size["MpiIsend"] + size["MpiSend"]
    assert {(sender + 1) % RANKS == receiver for sender, receiver in senders} == {True}


def _agrees_with_perfetto(frame: Any, file: Path) -> None:
    begun, ended = set(), set()
    depth: Counter[int] = Counter()
    slices = 0
    for packet in Trace.FromString(file.read_bytes()).packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        begun.update(event.flow_ids)
        ended.update(event.terminating_flow_ids)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            depth[event.track_uuid] += 1
            slices += 1
        elif event.type == TrackEvent.TYPE_SLICE_END:
            depth[event.track_uuid] -= 1
        assert depth[event.track_uuid] in (0, 1)
    assert slices == int((frame["calls"] > 0).sum())
    assert begun == ended
    assert len(begun) == int((frame["kind"] == "send").sum())
