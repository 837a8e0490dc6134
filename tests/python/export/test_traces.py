"""OTF2 and Perfetto hold the records, decoded here by other means: OTF2 with its library and with
otf2-print, Perfetto with its published classes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import otf2
import pyarrow
import pyarrow.parquet
import pytest
import trace_writer as tw
from exported_runs import MAPS, expected, made_up_rank, made_up_run
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from corewise._core import procedure_facts
from corewise.data.events import KINDS, Selection
from corewise.data.profile import load_profile
from corewise.export import FORMATS, export_profile, load_events
from corewise.export.procedures import collective_operation, region_role

INSIDE_ONE_MESSAGE_EACH = {"MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv", "MpiIrecvRequest"}


# ---- OTF2 ----


class _Archive:
    """What is in an archive, by the library: events per location, all in order of time."""

    def __init__(self, folder: Path) -> None:
        self.count: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.events: dict[str, list[tuple[str, int, Any]]] = defaultdict(list)
        with otf2.reader.open(str(folder / "traces.otf2")) as trace:
            self.resolution = trace.timer_resolution
            self.regions = {region.name: region for region in trace.definitions.regions}
            self.comms = {comm.name: comm for comm in trace.definitions.comms}
            self.groups = {
                group.name: group.system_tree_parent.name for group in trace.definitions.location_groups
            }
            self.realtime_ns = trace.definitions.clock_properties.realtime_timestamp
            for location, event in trace.events:
                kind = type(event).__name__
                self.count[kind] += 1
                self.events[location.group.name].append((kind, event.time, event))
                for field in ("msg_length", "bytes", "size_sent", "size_received"):
                    self.bytes[kind] += getattr(event, field, 0)


def test_otf2_holds_an_event_for_every_record(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path)
    done = export_profile(profile, "otf2", tmp_path / "flow.otf2")
    archive = _Archive(tmp_path / "flow.otf2")
    rows = expected(ranks)
    kinds = Counter(row[3] for row in rows)
    sizes: Counter[str] = Counter()
    for row in rows:
        if row[6] != -2:
            sizes[row[3]] += row[5]
    null = sum(row[6] == -2 for row in rows)
    wanted = {
        "MpiIsend": sum(row[4] == "MPI_Isend" for row in rows),
        "MpiSend": sum(row[4] == "MPI_Send" for row in rows) - null,
        "MpiRecv": kinds["receive"],
        "MpiIrecvRequest": kinds["post_receive"],
        "MpiIrecv": kinds["arrival"],
        "MpiRequestCancelled": kinds["cancel"],
        "MpiCollectiveBegin": kinds["collective"],
        "MpiCollectiveEnd": kinds["collective"],
        "RmaPut": kinds["put"],
        "RmaGet": kinds["get"],
        "ParameterString": kinds["phase"],
        "MeasurementOnOff": kinds["recording"],
    }
    assert {kind: archive.count[kind] for kind in wanted} == wanted
    spans = sum(row[3] not in ("arrival", "cancel", "phase", "recording") for row in rows)
    spans -= sum(kinds[kind] for kind in ("function_exit", "region_exit"))
    assert archive.count["Enter"] == archive.count["Leave"] == spans
    assert archive.bytes["MpiSend"] + archive.bytes["MpiIsend"] == sizes["send"]
    assert archive.bytes["MpiRecv"] + archive.bytes["MpiIrecv"] == sizes["receive"] + sizes["arrival"]
    assert archive.bytes["MpiCollectiveEnd"] == sizes["collective"]
    assert archive.bytes["RmaPut"] + archive.bytes["RmaGet"] == sizes["put"] + sizes["get"]
    assert (done.written, done.unsaid) == (sum(archive.count.values()), 0)
    assert archive.resolution == 1_000_000_000
    assert archive.groups == {f"rank {rank}": "testhost" for rank in range(3)}
    # The time of day of the first event, which comes 100 ns after the start.
    assert abs(archive.realtime_ns - ranks[0].started_realtime_ns - 100) < 1_000


def test_otf2_is_in_order_nested_and_says_what_things_are(tmp_path: Path) -> None:
    profile, _ = made_up_run(tmp_path)
    export_profile(profile, "otf2", tmp_path / "flow.otf2")
    archive = _Archive(tmp_path / "flow.otf2")
    for events in archive.events.values():
        times = [time for _, time, _ in events]
        assert times == sorted(times)
        open_regions: list[str] = []
        for kind, _, event in events:
            if kind == "Enter":
                open_regions.append(event.region.name)
            elif kind == "Leave":
                assert open_regions.pop() == event.region.name
            elif kind in INSIDE_ONE_MESSAGE_EACH:
                # An arrival stands inside the call that completed it.
                call = "MPI_Barrier" if kind == "MpiIrecv" else f"MPI_{kind.removeprefix('Mpi')}"
                assert open_regions[-1] == call.removesuffix("Request")
        assert open_regions == []
        requests = [event.request_id for kind, _, event in events if kind == "MpiIrecvRequest"]
        finished = ("MpiIrecv", "MpiRequestCancelled")
        assert [event.request_id for kind, _, event in events if kind in finished] == requests
        assert len(set(requests)) == len(requests) == 4
    regions = archive.regions
    assert regions["MPI_Send"].paradigm == otf2.Paradigm.MPI
    assert regions["MPI_Send"].region_role == otf2.RegionRole.POINT2POINT
    assert regions["MPI_Allreduce"].region_role == otf2.RegionRole.COLL_ALL2ALL
    assert regions["MPI_File_read"].region_role == otf2.RegionRole.FILE_IO
    assert regions["MPI_Put"].region_role == otf2.RegionRole.RMA
    assert regions["flow+0x1100"].paradigm == otf2.Paradigm.COMPILER
    assert regions["step"].paradigm == otf2.Paradigm.USER
    # Peers are ranks of the communicator: to the right is one less from back to front.
    put = next(event for kind, _, event in archive.events["rank 0"] if kind == "RmaPut")
    assert (put.win.comm.name, put.remote, put.bytes) == ("back to front", 1, 256)
    ends = [event for kind, _, event in archive.events["rank 2"] if kind == "MpiCollectiveEnd"]
    assert [(end.collective_op, end.communicator.name) for end in ends] == [
        (otf2.CollectiveOp.ALLREDUCE, "MPI_COMM_WORLD"),
        (otf2.CollectiveOp.BCAST, "evens"),
    ]
    assert (ends[1].root, ends[1].size_sent, ends[1].size_received) == (0, 0, 32)


def test_otf2_print_reads_the_archive(tmp_path: Path) -> None:
    if shutil.which("otf2-print") is None:
        pytest.skip("capability: otf2-print is not installed")
    profile, ranks = made_up_run(tmp_path)
    export_profile(profile, "otf2", tmp_path / "flow.otf2")
    command = ["otf2-print", str(tmp_path / "flow.otf2" / "traces.otf2")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = Counter(line.split()[0] for line in done.stdout.splitlines() if line[:1].isupper())
    kinds = Counter(row[3] for row in expected(ranks))
    assert shown["MPI_RECV"] == kinds["receive"]
    assert shown["MPI_IRECV"] == kinds["arrival"]
    assert shown["MPI_SEND"] + shown["MPI_ISEND"] == kinds["send"] - 3
    assert shown["ENTER"] == shown["LEAVE"] > 60


def test_otf2_of_more_ranks_than_files_can_be_open(tmp_path: Path) -> None:
    profile = tw.ring_run(tmp_path / "ring.cw", size=64, rounds=1)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(list(Path("/proc/self/fd").iterdir()))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 24, limits[1]))
        export_profile(profile, "otf2", tmp_path / "ring.otf2")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert _Archive(tmp_path / "ring.otf2").count["MpiSend"] == 64


@pytest.mark.parametrize("form", ["otf2", "perfetto"])
def test_functions_entered_before_mpi_init_keep_their_times(tmp_path: Path, form: str) -> None:
    """main, init_phase 300 ns later, MPI_Init 600 ns after that; the first rank's start is 0."""
    trace = tw.RankTrace(0, 1, maps=MAPS)
    trace.now = tw.START_TICKS - 900
    trace.function(tw.FUNCTION_ENTER, 0x400100)
    trace.now += 300
    trace.function(tw.FUNCTION_ENTER, 0x400200)
    trace.now += 600
    trace.put(tw.PLAIN, "MPI_Init", ticks=50)
    trace.function(tw.FUNCTION_EXIT, 0x400200)
    trace.function(tw.FUNCTION_EXIT, 0x400100)
    profile = tw.write_run(tmp_path / "early.cw", [trace])
    rows = [int(start) for batch in load_events(profile).batches() for start in batch.start_ns]
    assert rows == [-900, -600, 0, 50, 50]
    export_profile(profile, form, tmp_path / "early")
    if form == "otf2":
        (events,) = _Archive(tmp_path / "early").events.values()
        begins = [time for kind, time, _ in events if kind == "Enter"]
    else:
        begins = sorted(each["begin"] for each in _Decoded(tmp_path / "early").slices)
    assert begins == [0, 300, 900]


# ---- Perfetto ----


class _Decoded:
    """What a viewer sees: slices per track, well nested, and arrows."""

    def __init__(self, path: Path) -> None:
        trace = Trace.FromString(path.read_bytes())
        interned: dict[int, tuple[dict[int, str], dict[int, str], dict[int, str]]] = {}
        self.processes: dict[int, str] = {}
        self.tracks: dict[int, tuple[str, str]] = {}
        self.slices: list[dict[str, Any]] = []
        self.instants: list[dict[str, Any]] = []
        self.starts: dict[int, tuple[int, str]] = {}
        self.ends: dict[int, tuple[int, str]] = {}
        open_: dict[int, list[dict[str, Any]]] = defaultdict(list)
        last: dict[int, int] = defaultdict(int)
        for packet in trace.packet:
            if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
                assert packet.trusted_packet_sequence_id not in interned
                interned[packet.trusted_packet_sequence_id] = ({}, {}, {})
            names, labels, texts = interned[packet.trusted_packet_sequence_id]
            names.update({each.iid: each.name for each in packet.interned_data.event_names})
            labels.update({each.iid: each.name for each in packet.interned_data.debug_annotation_names})
            strings = packet.interned_data.debug_annotation_string_values
            texts.update({each.iid: each.str.decode() for each in strings})
            if packet.HasField("track_descriptor"):
                self._describe(packet.track_descriptor)
            if not packet.HasField("track_event"):
                continue
            event, time = packet.track_event, packet.timestamp
            assert time >= last[event.track_uuid]
            last[event.track_uuid] = time
            track = self.tracks[event.track_uuid]
            for flow in event.flow_ids:
                assert flow not in self.starts
                self.starts[flow] = (time, track[0])
            for flow in event.terminating_flow_ids:
                assert flow not in self.ends
                self.ends[flow] = (time, track[0])
            if event.type == TrackEvent.TYPE_SLICE_END:
                done = open_[event.track_uuid].pop()
                self.slices.append({**done, "end": time, "depth": len(open_[event.track_uuid])})
                continue
            found = {"name": names[event.name_iid], "begin": time, "rank": track[0], "track": track[1]}
            for each in event.debug_annotations:
                text = texts[each.string_value_iid] if each.string_value_iid else None
                found[labels[each.name_iid]] = text if text is not None else each.int_value
            if event.type == TrackEvent.TYPE_INSTANT:
                self.instants.append(found)
            else:
                assert event.type == TrackEvent.TYPE_SLICE_BEGIN
                open_[event.track_uuid].append(found)
        assert not any(open_.values())

    def _describe(self, descriptor: Any) -> None:
        if descriptor.HasField("process"):
            assert descriptor.process.pid not in self.processes
            self.processes[descriptor.process.pid] = descriptor.process.process_name
            self.tracks[descriptor.uuid] = (descriptor.process.process_name, "")
        else:
            parent = self.tracks[descriptor.parent_uuid][0]
            name = descriptor.thread.thread_name if descriptor.HasField("thread") else descriptor.name
            self.tracks[descriptor.uuid] = (parent, name)


def test_perfetto_shows_every_call_nested_in_what_made_it(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path)
    export_profile(profile, "perfetto", tmp_path / "flow.pftrace")
    decoded = _Decoded(tmp_path / "flow.pftrace")
    assert list(decoded.processes.values()) == ["rank 0", "rank 1", "rank 2"]
    rows = expected(ranks)
    calls = Counter((f"rank {row[0]}", row[1], row[1] + row[2], row[3], row[5]) for row in rows if row[2] > 0)
    shown = Counter(
        (each["rank"], each["begin"], each["end"], each["kind"], each.get("bytes", 0))
        for each in decoded.slices
        if each["kind"] in KINDS and each["kind"] not in ("function_enter", "region_enter", "phase")
    )
    for kind in ("arrival", "cancel"):
        calls = Counter({key: count for key, count in calls.items() if key[3] != kind})
    assert shown == calls
    first = [each for each in decoded.slices if each["rank"] == "rank 0" and each["track"] == "thread 0"]
    depth = {each["name"]: each["depth"] for each in first}
    assert (depth["flow+0x1100"], depth["step"], depth["MPI_Send"]) == (0, 1, 1 + 1)
    assert (depth["flow+0x1200"], depth["MPI_Iprobe (nothing found)"]) == (1, 2)
    send = next(each for each in first if each["name"] == "MPI_Isend")
    assert (send["peer"], send["tag"], send["communicator"]) == (1, 0, "MPI_COMM_WORLD")
    assert send["site"] == "flow+0x1020"
    phases = [each for each in decoded.slices if each["track"] == "phases of thread 0"]
    assert [each["name"] for each in phases if each["rank"] == "rank 1"] == ["set-up, first", "work"]
    instants = Counter(each.get("kind", each["name"]) for each in decoded.instants)
    assert instants == {"arrival": 9, "cancel": 3, "recording": 6}


def test_perfetto_draws_an_arrow_for_every_message(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path, size=5)
    export_profile(profile, "perfetto", tmp_path / "flow.pftrace")
    decoded = _Decoded(tmp_path / "flow.pftrace")
    messages = sum(row[3] == "send" and row[6] >= 0 for row in expected(ranks))
    assert set(decoded.starts) == set(decoded.ends)
    assert len(decoded.starts) == messages == 5 * 6
    for flow, (begin, sender) in decoded.starts.items():
        end, receiver = decoded.ends[flow]
        assert begin <= end
        assert (int(sender.split()[1]) + 1) % 5 == int(receiver.split()[1])


def test_arrows_of_a_window_join_the_same_messages(tmp_path: Path) -> None:
    profile, _ = made_up_run(tmp_path, size=2)
    export_profile(profile, "perfetto", tmp_path / "all.pftrace")
    whole = _Decoded(tmp_path / "all.pftrace")
    middle = sorted(time for time, _ in whole.ends.values())[6]
    export_profile(profile, "perfetto", tmp_path / "part.pftrace", Selection(from_ns=middle))
    part = _Decoded(tmp_path / "part.pftrace")
    both = set(part.starts) & set(part.ends)
    assert both
    moments = {(whole.starts[flow], whole.ends[flow]) for flow in whole.starts}
    assert {(part.starts[flow], part.ends[flow]) for flow in both} <= moments


def test_a_rank_that_lost_records_gets_no_arrows(tmp_path: Path) -> None:
    ranks = [made_up_rank(rank, 3) for rank in range(3)]
    ranks[1].lost_bytes = 4096
    profile = tw.write_run(tmp_path / "flow.cw", ranks)
    export_profile(profile, "perfetto", tmp_path / "flow.pftrace")
    decoded = _Decoded(tmp_path / "flow.pftrace")
    assert {sender for _, sender in decoded.starts.values()} == {"rank 2"}


# ---- both ----


@pytest.mark.parametrize("form", list(FORMATS))
def test_a_run_without_records_is_exported(tmp_path: Path, form: str) -> None:
    profile = tw.write_run(tmp_path / "empty.cw", [tw.RankTrace(rank, 2) for rank in range(2)])
    done = export_profile(profile, form, tmp_path / "out")
    assert (done.written, done.records) == (0, 0)
    if form in ("parquet", "arrow"):
        read = (
            pyarrow.parquet.read_table
            if form == "parquet"
            else lambda path: pyarrow.ipc.open_file(path).read_all()
        )
        assert read(tmp_path / "out").num_rows == 0
    elif form == "otf2":
        assert _Archive(tmp_path / "out").count == {}
    elif form == "perfetto":
        assert len(_Decoded(tmp_path / "out").processes) == 2
    else:
        assert (tmp_path / "out").read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("name", "row", "operation", "role", "blocking"),
    [
        ("MPI_Send", "send", None, "POINT2POINT", True),
        ("MPI_Ibsend", "ibsend", None, "POINT2POINT", False),
        ("mpi_sendrecv_", "sendrecv", None, "POINT2POINT", True),
        ("MPI_Isendrecv_c", "isendrecv", None, "POINT2POINT", False),
        ("MPI_Iallreduce", "allreduce", "ALLREDUCE", "COLL_ALL2ALL", False),
        ("MPI_Bcast_init_c", "bcast", "BCAST", "COLL_ONE2ALL", False),
        ("MPI_Neighbor_alltoallv_f08", "neighbor_alltoallv", "ALLTOALLV", "COLL_OTHER", False),
        ("MPI_Ireduce_scatter_block", "reduce_scatter_block", "REDUCE_SCATTER_BLOCK", "COLL_ALL2ALL", False),
        ("MPI_Barrier", "barrier", "BARRIER", "BARRIER", False),
        ("MPI_Win_fence", "", None, "RMA", False),
        ("MPI_Get_accumulate", "get_accumulate", None, "RMA", False),
        ("MPI_File_write_at", "", None, "FILE_IO", False),
        ("MPI_Init", "", None, "FUNCTION", False),
        ("MPI_Comm_split", "", None, "FUNCTION", False),
    ],
)
def test_procedures_by_name(name: str, row: str, operation: str | None, role: str, blocking: bool) -> None:
    facts = procedure_facts(name)
    assert facts.row == row
    assert collective_operation(facts) == operation
    assert region_role(facts) == role
    assert facts.sends_without_request is blocking


def _packed(ticks: int) -> int:
    """A duration as records keep it: 27 bits and an exponent."""
    exponent = max(ticks.bit_length() - 27, 0)
    return ticks >> exponent | exponent << 27


def test_an_arrival_ends_with_the_call_that_completed_it_however_long_ago_its_post(tmp_path: Path) -> None:
    trace = tw.RankTrace(0, 1)
    posted = trace.now
    trace.put(tw.POST_RECEIVE, "MPI_Irecv", 0, 8, ticks=5)
    trace.now += 3 * 2**31 + 12_345
    trace.put(tw.PLAIN, "MPI_Barrier", ticks=77)
    end = trace.now
    trace.now = posted
    trace.put(tw.ARRIVAL, "MPI_Irecv", 0, 8, ticks=_packed(end - posted))
    profile = tw.write_run(tmp_path / "long.cw", [trace])
    frame = load_events(profile).to_pandas()
    ends = frame["start_ns"] + frame["duration_ns"]
    assert list(ends)[1:] == [end - tw.START_TICKS] * 2
    export_profile(profile, "otf2", tmp_path / "long.otf2")
    shown = [(kind, time) for kind, time, _ in _Archive(tmp_path / "long.otf2").events["rank 0"]][3:]
    last = end - tw.START_TICKS
    assert shown == [("Enter", last - 77), ("MpiIrecv", last), ("Leave", last)]


def test_a_call_of_several_operations_is_one_call(tmp_path: Path) -> None:
    ranks = []
    for rank in range(3):
        trace = tw.RankTrace(rank, 3)
        start = trace.now
        for peer, ticks in (((rank + 1) % 3, 40), ((rank + 2) % 3, 0)):
            trace.now = start
            trace.put(tw.SEND, "MPI_Isend", peer, 50, ticks=ticks)
        trace.now = start + 40
        start = trace.now
        trace.put(tw.COLLECTIVE, "MPI_Bcast", size=30, ticks=60)
        for peer in range(3):
            trace.now = start
            trace.put(tw.PART, "MPI_Bcast", peer, 10, ticks=0)
        trace.now = start + 60
        for peer in ((rank + 1) % 3, (rank + 2) % 3):
            trace.put(tw.RECEIVE, "MPI_Recv", peer, 50, ticks=10)
        ranks.append(trace)
    profile = tw.write_run(tmp_path / "start.cw", ranks)
    frame = load_events(profile).to_pandas()
    assert list(frame[frame["rank"] == 0]["calls"]) == [1, 0, 1, 0, 0, 0, 1, 1]
    export_profile(profile, "otf2", tmp_path / "start.otf2")
    kinds = [kind for kind, *_ in _Archive(tmp_path / "start.otf2").events["rank 1"]]
    assert kinds[:4] == ["Enter", "MpiIsend", "MpiIsend", "Leave"]
    assert kinds[4:8] == ["Enter", "MpiCollectiveBegin", "MpiCollectiveEnd", "Leave"]
    export_profile(profile, "perfetto", tmp_path / "start.pftrace")
    decoded = _Decoded(tmp_path / "start.pftrace")
    assert len(decoded.starts) == len(decoded.ends) == 6
    assert set(decoded.starts) == set(decoded.ends)
    assert sum(each["kind"] == "collective_part" for each in decoded.instants) == 9


def test_every_world_of_a_run_has_its_ranks_and_its_time(tmp_path: Path) -> None:
    profile, _ = made_up_run(tmp_path)
    for rank in range(2):
        child = made_up_rank(rank, 2)
        child.started_realtime_ns += 5_000_000
        child.write(profile / f"spawn4711-rank-{rank:05d}.cwt")
    events = load_events(profile)
    worlds = load_profile(profile).worlds
    assert [(p.world, p.world_name, p.rank) for p in events.processes] == [
        (index, world.name, rank.rank) for index, world in enumerate(worlds) for rank in world.ranks
    ]
    assert [(c.world, c.name, c.size, list(c.ranks)) for c in events.communicators] == [
        (index, comm.name, comm.size, comm.ranks)
        for index, world in enumerate(worlds)
        for comm in world.communicators
    ]
    starts = events.to_pandas().groupby("world")["start_ns"].min()
    assert list(starts) == [100, 5_000_100]
    export_profile(profile, "perfetto", tmp_path / "w.pftrace")
    decoded = _Decoded(tmp_path / "w.pftrace")
    assert list(decoded.processes.values())[3:] == ["rank 0 of spawn4711", "rank 1 of spawn4711"]
    assert set(decoded.starts) == set(decoded.ends)
    export_profile(profile, "otf2", tmp_path / "w.otf2")
    archive = _Archive(tmp_path / "w.otf2")
    assert set(archive.events) == {
        *(f"rank {rank}" for rank in range(3)),
        *list(decoded.processes.values())[3:],
    }


def test_communicators_keep_absent_ranks_and_one_thread_follows_another(tmp_path: Path) -> None:
    profile, _ = made_up_run(tmp_path, size=4)
    (profile / "rank-00002.cwt").unlink()
    export_profile(profile, "otf2", tmp_path / "a.otf2", Selection(ranks=frozenset((1, 3))))
    archive = _Archive(tmp_path / "a.otf2")
    assert set(archive.events) == {"rank 1", "rank 3"}
    put = next(event for kind, _, event in archive.events["rank 3"] if kind == "RmaPut")
    assert put.remote == 3  # rank 0, from back to front
    group = archive.comms["back to front"].group
    assert [location.group.name for location in group.members] == [
        "rank 3",
        "rank 2 (world 0, absent)",
        "rank 1",
        "rank 0 (world 0, absent)",
    ]


def test_no_message_arrives_before_it_was_sent_from_another_node(tmp_path: Path) -> None:
    ranks = []
    for rank, ahead in ((0, 6_000), (1, 0)):
        trace = tw.RankTrace(rank, 2, host=f"node{rank}", node=f"node{rank}")
        trace.now += ahead
        for number in range(4):
            if rank == 0:
                trace.put(tw.SEND, "MPI_Send", 1, 8 + number, ticks=50)
            else:
                trace.put(tw.RECEIVE, "MPI_Recv", 0, 8 + number, ticks=90)
            trace.now += 100
        trace.mark(tw.PHASE, "end")  # makes it a version 2 file, which names its node
        ranks.append(trace)
    profile = tw.write_run(tmp_path / "nodes.cw", ranks)
    export_profile(profile, "perfetto", tmp_path / "n.pftrace")
    decoded = _Decoded(tmp_path / "n.pftrace")
    assert len(decoded.starts) == 4
    for flow, (begin, _) in decoded.starts.items():
        assert begin <= decoded.ends[flow][0]
    assert {each["name"] for each in decoded.slices if each["rank"] == "rank 1"} == {"MPI_Recv", "end"}
