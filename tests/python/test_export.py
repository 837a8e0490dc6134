"""Profiles for other tools: every form holds the records that were written, decoded here by other means.

The runs are made up byte by byte (trace_writer) and decoded again with struct; OTF2 is read back with the
OTF2 library and with otf2-print, Perfetto with Perfetto's published classes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import importlib
import itertools
import json
import resource
import shutil
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import otf2
import polars
import pyarrow
import pyarrow.parquet
import pytest
import trace_writer as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import corewise.data.events as events_module
from corewise import InputError, RunError
from corewise._core import pack_profile, procedure_facts
from corewise.cli.main import execute
from corewise.data.events import COLUMNS, GROUPS, KINDS, Batch, Selection, parse_selection
from corewise.data.profile import load_profile
from corewise.export import FORMATS, export_profile, load_events
from corewise.export.nesting import BEGIN, END, ENTERS, EXITS, POINT, Mark, nested
from corewise.export.procedures import collective_operation, region_role

DOCS = Path(__file__).resolve().parents[2] / "docs" / "recording" / "export.md"
PROGRAM = "/opt/none/flow"
MAPS = f"400000-500000 r-xp 00001000 08:01 42 {PROGRAM}\n"
INSIDE_ONE_MESSAGE_EACH = {"MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv", "MpiIrecvRequest"}


def _arrive(trace: tw.RankTrace, posted: int, peer: int, size: int, tag: int, comm: int = 0) -> None:
    """An arrival for the receive posted then, completed by the call that has just ended."""
    now, trace.now = trace.now, posted
    trace.put(tw.ARRIVAL, "MPI_Irecv", peer, size, ticks=now - posted, tag=tag, comm=comm)
    trace.now = now


def _rank(rank: int, size: int, state: int = tw.FINALIZED) -> tw.RankTrace:
    """Functions around regions around calls of every kind; messages go round the ring."""
    right, left = (rank + 1) % size, (rank - 1) % size
    trace = tw.RankTrace(rank, size, state=state, maps=MAPS, sites={1: 0x400010, 2: 0x400020})
    if size > 1:
        trace.comms = [("evens", tuple(range(0, size, 2))), ("back to front", tuple(range(size))[::-1])]
    trace.put(tw.PLAIN, "MPI_Init", ticks=500)
    trace.mark(tw.PHASE, "set-up, first")
    trace.function(tw.FUNCTION_ENTER, 0x400100)
    trace.now += 3
    for step in range(3):
        trace.mark(tw.REGION_ENTER, "step")
        posted = trace.now
        trace.put(tw.POST_RECEIVE, "MPI_Irecv", left, 4096, ticks=7, site=1, tag=step)
        trace.put(tw.SEND, "MPI_Isend", right, 100 + step, ticks=9, site=2, tag=step)
        trace.put(tw.PLAIN, "MPI_Barrier", ticks=40, site=1)
        _arrive(trace, posted, left, 100 + step, step)
        trace.put(tw.SEND, "MPI_Send", right, 10, ticks=11, tag=7)
        trace.put(tw.RECEIVE, "MPI_Recv", left, 10, ticks=90, tag=7)
        trace.mark(tw.REGION_EXIT, "step")
        trace.now += 2
    trace.function(tw.FUNCTION_ENTER, 0x400200)
    trace.put(tw.MISS, "MPI_Iprobe", size=17, ticks=300)
    trace.put(tw.PROBE, "MPI_Iprobe", left, 5, ticks=4, tag=1)
    trace.put(tw.SEND, "MPI_Send", -2, 1_000_000, ticks=3)
    cancelled = trace.now
    trace.put(tw.POST_RECEIVE, "MPI_Irecv", -3, 64, ticks=5, tag=-1)
    trace.put(tw.PLAIN, "MPI_Barrier", ticks=6)
    now, trace.now = trace.now, cancelled
    trace.put(tw.CANCEL, "MPI_Irecv", -3, 64, ticks=now - cancelled, tag=-1)
    trace.now = now
    trace.function(tw.FUNCTION_EXIT, 0x400200)
    trace.mark(tw.PHASE, "work")
    trace.put(tw.COLLECTIVE, "MPI_Allreduce", size=64, ticks=50)
    trace.put(tw.COLLECTIVE, "MPI_Bcast", 0, 32, ticks=20, comm=1 if size > 1 and rank % 2 == 0 else 0)
    if size > 1:
        trace.put(tw.PUT, "MPI_Put", right, 256, ticks=8, comm=2)
        trace.put(tw.GET, "MPI_Get", left, 128, ticks=8, comm=2)
    trace.put(tw.FILE_READ, "MPI_File_read", size=1024, ticks=80)
    trace.put(tw.FILE_WRITE, "MPI_File_write", size=2048, ticks=80)
    trace.recording(0)
    trace.recording(1)
    trace.function(tw.FUNCTION_EXIT, 0x400300)  # was entered before recording began
    if state == tw.FINALIZED:
        trace.function(tw.FUNCTION_EXIT, 0x400100)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=30)
    return trace


def _run(folder: Path, size: int = 3) -> tuple[Path, list[tw.RankTrace]]:
    """A run whose last rank was killed."""
    ranks = [_rank(rank, size, tw.RUNNING if rank == size - 1 > 0 else tw.FINALIZED) for rank in range(size)]
    return tw.write_run(folder / "flow.cw", ranks), ranks


def _expected(ranks: Sequence[tw.RankTrace]) -> list[tuple[Any, ...]]:
    """Every record as (rank, start, duration, kind, name, bytes, peer, tag, comm), decoded with struct."""
    rows = []
    for trace in ranks:
        for record in trace.records:
            start, low, call, _ = struct.unpack("<QIHH", record[:16])
            role, procedure = call >> 10 & 31, call & 1023
            name: str | None = tw.PROCEDURES[procedure]
            ticks, volume, peer, tag = low, 0xFFFF << 48, -1, 0
            if role in (tw.FUNCTION_ENTER, tw.FUNCTION_EXIT):
                name, ticks = f"flow+{low - 0x400000 + 0x1000:#x}", 0
            elif role in (tw.REGION_ENTER, tw.REGION_EXIT, tw.PHASE):
                name, ticks = trace.names[low], 0
            elif role == tw.RECORDING:
                name, ticks, tag = None, 0, low
            if role not in tw.SHORT:
                volume, peer, tag = struct.unpack("<Qii", record[16:])
            size = 0 if role == tw.MISS else volume & (1 << 48) - 1
            comm = -1 if volume >> 48 == 0xFFFF else volume >> 48
            at = (trace.rank, start - tw.START_TICKS, ticks, KINDS[role], name)
            rows.append((*at, size if role not in tw.SHORT else 0, peer, tag, comm))
    return rows


PICKED = ("rank", "start_ns", "duration_ns", "kind", "name", "bytes", "peer", "tag", "comm")


def _of_batches(profile: Path, rows: int, **chosen: Any) -> list[tuple[Any, ...]]:
    events = load_events(profile, **chosen)
    out = []
    for batch in events.batches(rows):
        assert 0 < len(batch) <= rows
        for index in range(len(batch)):
            name = int(batch.name[index])
            values = {key: getattr(batch, key) for key in PICKED}
            row = {key: int(value if np.isscalar(value) else value[index]) for key, value in values.items()}
            out.append(
                (
                    *(row[key] for key in PICKED[:3]),
                    KINDS[row["kind"]],
                    events.names[name] if name >= 0 else None,
                    *(row[key] for key in PICKED[5:]),
                )
            )
    return out


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 11, 16, 1000])
def test_batches_hold_every_record_in_order(tmp_path: Path, rows: int) -> None:
    profile, ranks = _run(tmp_path)
    assert _of_batches(profile, rows) == _expected(ranks)


def test_calls_are_counted_once_and_places_are_found(tmp_path: Path) -> None:
    profile, ranks = _run(tmp_path)
    frame = load_events(profile).to_pandas()
    calls = Counter(KINDS[struct.unpack("<H", record[12:14])[0] >> 10 & 31] for record in ranks[0].records)
    mine = frame[frame["rank"] == 0]
    counted = mine.groupby("kind", observed=True)["calls"].sum()
    assert counted["miss"] == 17
    for kind in ("send", "receive", "post_receive", "call", "collective", "put", "file_read", "probe"):
        assert counted[kind] == calls[kind]
    for kind in ("arrival", "cancel", "function_enter", "region_exit", "phase", "recording"):
        assert counted[kind] == 0
    sends = mine[mine["name"] == "MPI_Isend"]
    assert set(sends["object"]) == {PROGRAM}
    assert set(sends["offset"]) == {0x20 + 0x1000}
    entered = mine[mine["kind"] == "function_enter"]
    assert list(entered["offset"]) == [0x1100, 0x1200]


def test_every_table_and_frame_says_the_same(tmp_path: Path) -> None:
    profile, ranks = _run(tmp_path)
    wanted = _expected(ranks)
    for form in ("csv", "parquet", "arrow"):
        done = export_profile(profile, form, tmp_path / f"t.{form}")
        assert (done.written, done.records, done.unsaid) == (len(wanted), len(wanted), 0)
        assert done.bytes == (tmp_path / f"t.{form}").stat().st_size
    with (tmp_path / "t.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert list(lines[0]) == [column.name for column in COLUMNS]
    texts = ("kind", "name")
    from_csv = [
        tuple((line[key] or None) if key in texts else int(line[key]) for key in PICKED) for line in lines
    ]
    events = load_events(profile)
    tables = {
        "parquet": pyarrow.parquet.read_table(tmp_path / "t.parquet"),
        "arrow": pyarrow.ipc.open_file(tmp_path / "t.arrow").read_all(),
        "to_arrow": events.to_arrow(),
    }
    found = {
        name: [tuple(row[key] for key in PICKED) for row in table.to_pylist()]
        for name, table in tables.items()
    }
    found["csv"] = from_csv
    found["polars"] = list(events.to_polars().select(PICKED).iter_rows())
    pandas = events.to_pandas()[list(PICKED)].astype(object)
    found["pandas"] = [tuple(None if value != value else value for value in row) for row in pandas.to_numpy()]
    for name, rows in found.items():
        assert rows == wanted, name
    about = json.loads(tables["parquet"].schema.metadata[b"corewise"])
    assert [each["ending"] for each in about["processes"]] == ["finalized", "finalized", "running"]
    assert [each["name"] for each in about["communicators"]] == ["MPI_COMM_WORLD", "evens", "back to front"]
    assert about["communicators"][2]["ranks"] == [2, 1, 0]


def test_texts_are_categories_and_columns_have_their_types(tmp_path: Path) -> None:
    events = load_events(_run(tmp_path)[0])
    frame, table = events.to_pandas(), events.to_polars()
    for column in COLUMNS:
        if column.type == "text":
            assert frame[column.name].dtype.name == "category"
            assert table[column.name].dtype == polars.Categorical
        else:
            assert str(frame[column.name].dtype) == column.type
            assert str(table[column.name].dtype).lower() == column.type
    assert list(frame["kind"].cat.categories) == list(KINDS)  # so that codes are the stable numbers


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
    profile, ranks = _run(tmp_path)
    done = export_profile(profile, "otf2", tmp_path / "flow.otf2")
    archive = _Archive(tmp_path / "flow.otf2")
    rows = _expected(ranks)
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
    profile, _ = _run(tmp_path)
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
    profile, ranks = _run(tmp_path)
    export_profile(profile, "otf2", tmp_path / "flow.otf2")
    command = ["otf2-print", str(tmp_path / "flow.otf2" / "traces.otf2")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = Counter(line.split()[0] for line in done.stdout.splitlines() if line[:1].isupper())
    kinds = Counter(row[3] for row in _expected(ranks))
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
    profile, ranks = _run(tmp_path)
    export_profile(profile, "perfetto", tmp_path / "flow.pftrace")
    decoded = _Decoded(tmp_path / "flow.pftrace")
    assert list(decoded.processes.values()) == ["rank 0", "rank 1", "rank 2"]
    rows = _expected(ranks)
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
    profile, ranks = _run(tmp_path, size=5)
    export_profile(profile, "perfetto", tmp_path / "flow.pftrace")
    decoded = _Decoded(tmp_path / "flow.pftrace")
    messages = sum(row[3] == "send" and row[6] >= 0 for row in _expected(ranks))
    assert set(decoded.starts) == set(decoded.ends)
    assert len(decoded.starts) == messages == 5 * 6
    for flow, (begin, sender) in decoded.starts.items():
        end, receiver = decoded.ends[flow]
        assert begin <= end
        assert (int(sender.split()[1]) + 1) % 5 == int(receiver.split()[1])


def test_arrows_of_a_window_join_the_same_messages(tmp_path: Path) -> None:
    profile, _ = _run(tmp_path, size=2)
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
    ranks = [_rank(rank, 3) for rank in range(3)]
    ranks[1].lost_bytes = 4096
    profile = tw.write_run(tmp_path / "flow.cw", ranks)
    export_profile(profile, "perfetto", tmp_path / "flow.pftrace")
    decoded = _Decoded(tmp_path / "flow.pftrace")
    assert {sender for _, sender in decoded.starts.values()} == {"rank 2"}


def test_the_same_profile_gives_the_same_bytes(tmp_path: Path) -> None:
    profile, _ = _run(tmp_path)
    for form in ("perfetto", "csv", "parquet", "arrow"):
        for name in "ab":
            export_profile(profile, form, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes(), form


# ---- nesting ----


def _batches(rows: list[tuple[int, int, int, int]], cuts: list[int]) -> list[Batch]:
    """(kind, start, duration, name) in order of their ends, cut into batches."""
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    out = []
    for begin, end in itertools.pairwise(edges):
        kind, start, duration, name = (np.array(column) for column in zip(*rows[begin:end], strict=True))
        calls = np.where(np.isin(kind, [*ENTERS, *EXITS, KINDS.index("arrival")]), 0, 1)
        numbers = [np.zeros(end - begin, np.int64) for _ in range(8)]
        out.append(Batch(0, 0, 0, kind, start, duration, name, calls, *numbers))
    return out


@st.composite
def _threads(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int]], list[int]]:
    """Calls, entries, exits and arrivals, with exits and entries missing, and callbacks inside of calls."""
    kinds = [
        "call",
        "send",
        "miss",
        "function_enter",
        "function_exit",
        "region_enter",
        "region_exit",
        "arrival",
    ]
    events = draw(
        st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 30), st.integers(0, 60), st.integers(0, 3)))
    )
    now, rows = 0, []
    for kind, gap, duration, name in events:
        now += gap
        moment = kind.startswith(("function", "region"))
        # A record is written when its call ends; it may have begun before anything that lies inside.
        rows.append((KINDS.index(kind), now if moment else max(now - duration, 0), 0, name))
        rows[-1] = (*rows[-1][:2], now - rows[-1][1], name)
    return rows, draw(st.lists(st.integers(0, 40), max_size=6))


def _check(marks: list[Mark]) -> None:
    times = [mark.time_ns for mark in marks]
    assert times == sorted(times)
    open_: list[Any] = []
    for mark in marks:
        if mark.what == BEGIN:
            open_.append(mark.row)
        elif mark.what == END:
            assert open_.pop() is mark.row
    assert open_ == []


@settings(max_examples=200, deadline=None)
@given(_threads())
def test_slices_are_always_well_nested(thread: tuple[list[tuple[int, int, int, int]], list[int]]) -> None:
    rows, cuts = thread
    marks = list(nested(lambda: _batches(rows, cuts)))
    _check(marks)
    assert sum(mark.what == BEGIN for mark in marks) == sum(
        kind not in EXITS and KINDS[kind] != "arrival" for kind, *_ in rows
    )
    assert sum(mark.what == POINT for mark in marks) == sum(KINDS[kind] == "arrival" for kind, *_ in rows)
    # However the rows were cut into batches, the same comes out.
    assert [(m.time_ns, m.what, m.row) for m in marks] == [
        (m.time_ns, m.what, m.row) for m in nested(lambda: _batches(rows, []))
    ]


def test_exits_that_are_missing_are_made_up_and_unknown_ones_left_out() -> None:
    enter, leave, call = (KINDS.index(kind) for kind in ("function_enter", "function_exit", "call"))
    rows = [
        (enter, 0, 0, 1),
        (enter, 5, 0, 2),
        (call, 6, 2, 9),
        (leave, 10, 0, 1),
        (leave, 12, 0, 7),
        (enter, 14, 0, 3),
    ]
    marks = [(m.time_ns, m.what, m.row.name) for m in nested(lambda: _batches(rows, []))]
    assert marks == [
        (0, BEGIN, 1), (5, BEGIN, 2), (6, BEGIN, 9), (8, END, 9),
        (10, END, 2), (10, END, 1), (14, BEGIN, 3), (14, END, 3),
    ]  # fmt: skip


# ---- choices ----


def test_ranks_kinds_and_times_choose_rows(tmp_path: Path) -> None:
    profile, ranks = _run(tmp_path)
    rows = _expected(ranks)
    messages = GROUPS["messages"]
    cases = {
        ("0,2", None, None, None): [row for row in rows if row[0] != 1],
        (None, ("messages",), None, None): [row for row in rows if row[3] in messages],
        (None, ("put,get", "phase"), None, None): [row for row in rows if row[3] in ("put", "get", "phase")],
        ("1-2", None, "700 ns", "1 us"): [
            row for row in rows if row[0] and row[1] < 1000 and row[1] + row[2] >= 700
        ],
    }
    for (chosen, kinds, begin, until), wanted in cases.items():
        selection = parse_selection(chosen, kinds, begin, until)
        assert wanted
        assert _of_batches(profile, 7, selection=selection) == wanted


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


def test_a_damaged_file_costs_its_rank_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, ranks = _run(tmp_path)
    (profile / "rank-00001.cwt").write_bytes(b"not a trace")
    assert execute(["export", str(profile), "--to", "csv", "-o", str(tmp_path / "t.csv")]) == 0
    assert "rank-00001.cwt" in capsys.readouterr().err
    assert (tmp_path / "t.csv").read_text().count("\n") == 1 + len(_expected([ranks[0], ranks[2]]))


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, ranks = _run(tmp_path)
    target = tmp_path / "t.csv"
    arguments = ["export", str(profile), "--to", "csv", "-o", str(target), "--ranks", "0", "--json"]
    assert execute(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    rows = len(_expected(ranks[:1]))
    assert document["name"] == "export"
    assert document["rows"] == [
        {
            "format": "csv",
            "target": str(target),
            "records": rows,
            "written": rows,
            "left_out": 0,
            "bytes": target.stat().st_size,
        }
    ]


WRONG = {
    "format": (["--to", "xml", "-o", "{tmp}/x"], ["--to", "'xml'", "otf2, perfetto, parquet, arrow, csv"]),
    "folder as file": (["--to", "csv", "-o", "{tmp}"], ["found a folder"]),
    "no folder": (["--to", "csv", "-o", "{tmp}/none/x"], ["there is no folder"]),
    "archive exists": (["--to", "otf2", "-o", "{tmp}/flow.cw"], ["a folder that is not empty"]),
    "archive is file": (["--to", "otf2", "-o", "{tmp}/flow.cw/meta.json"], ["found a file"]),
    "archive nowhere": (["--to", "otf2", "-o", "{tmp}/none/x"], ["there is no folder"]),
    "rank": (["--to", "csv", "-o", "{tmp}/x", "--ranks", "1-3"], ["--ranks", "found 3", "0..2"]),
    "ranks": (["--to", "csv", "-o", "{tmp}/x", "--ranks", "3-1"], ["--ranks", "'3-1'", "0-3,7"]),
    "kind": (["--to", "csv", "-o", "{tmp}/x", "--kinds", "sends"], ["--kinds", "'sends'", "messages"]),
    "time": (["--to", "csv", "-o", "{tmp}/x", "--from", "12"], ["--from", "12"]),
    "window": (["--to", "csv", "-o", "{tmp}/x", "--from", "2s", "--until", "1 s"], ["--until", "--from 2s"]),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    profile, _ = _run(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    arguments, words = WRONG[case]
    status = execute(["export", str(profile), *(each.format(tmp=tmp_path) for each in arguments)])
    error = capsys.readouterr().err
    assert status == 2
    assert error.count("\n") == 1
    for word in words:
        assert word in error
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("profile", ["nothing.cw", "file.cw", "empty.cw"])
def test_what_is_no_profile_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str
) -> None:
    (tmp_path / "file.cw").write_text("x")
    (tmp_path / "empty.cw").mkdir()
    status = execute(["export", str(tmp_path / profile), "--to", "csv", "-o", str(tmp_path / "x")])
    assert status == 2
    assert profile in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("form", list(FORMATS))
def test_a_failure_on_the_way_leaves_the_target_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    profile, _ = _run(tmp_path)
    target = tmp_path / "target"
    if form != "otf2":
        target.write_text("precious")
    before = sorted(tmp_path.iterdir())
    real = events_module.Events._rows

    def fail_later(self: Any, *arguments: Any) -> Any:
        for number, found in enumerate(real(self, *arguments)):
            yield found
            if found[0].rank == 1 and number == 0:
                raise OSError(28, "No space left on device")

    monkeypatch.setattr(events_module.Events, "_rows", fail_later)
    with pytest.raises(RunError, match="target: cannot be written: No space left on device"):
        export_profile(profile, form, target)
    assert sorted(tmp_path.iterdir()) == before
    if form != "otf2":
        assert target.read_text() == "precious"


def test_an_existing_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    profile, _ = _run(tmp_path)
    target = tmp_path / "t.csv"
    target.write_text("old")
    target.chmod(0o640)
    export_profile(profile, "csv", target)
    assert target.read_text().startswith("world,")
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("missing", "extra", "use"),
    [
        ("pandas", "frames", lambda path: load_events(path).to_pandas()),
        ("polars", "frames", lambda path: load_events(path).to_polars()),
        ("pyarrow", "frames", lambda path: load_events(path).to_arrow()),
        ("pyarrow", "frames", lambda path: export_profile(path, "parquet", path.parent / "x")),
        ("otf2", "otf2", lambda path: export_profile(path, "otf2", path.parent / "x")),
    ],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, extra: str, use: Any
) -> None:
    profile, _ = _run(tmp_path)

    def without(name: str) -> Any:
        if name.split(".")[0] == missing:
            raise ImportError(f"No module named '{name}'")
        return importlib.import_module(name)

    monkeypatch.setattr(events_module, "importlib", SimpleNamespace(import_module=without))
    with pytest.raises(InputError, match=rf"{missing}.*corewise\[{extra}\]"):
        use(profile)
    assert not (tmp_path / "x").exists()


def test_functions_are_called_by_their_names(tmp_path: Path) -> None:
    libc = next(
        line
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "libc.so" in line and "r-x" in line
    )
    first, offset = int(libc.split("-")[0], 16), int(libc.split()[2], 16)
    symbols = subprocess.run(
        ["readelf", "--dyn-syms", "-W", libc.split()[-1]], capture_output=True, text=True, check=True
    ).stdout
    entry = next(
        line.split() for line in symbols.splitlines() if line.split()[-1:] == ["getenv@@GLIBC_2.2.5"]
    )
    trace = tw.RankTrace(0, 1, maps=libc + "\n")
    address = first + int(entry[1], 16) - offset
    trace.function(tw.FUNCTION_ENTER, address)
    trace.function(tw.FUNCTION_EXIT, address)
    profile = tw.write_run(tmp_path / "libc.cw", [trace])
    assert load_events(profile).names == ("getenv",)


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


def test_the_page_lists_every_column_kind_and_form() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for column in COLUMNS:
        assert f"| `{column.name}` |" in text, column.name
    for kind in KINDS:
        assert f"`{kind}`" in text, kind
    for name in (*GROUPS, *FORMATS):
        assert f"`{name}`" in text, name


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
    profile, _ = _run(tmp_path)
    for rank in range(2):
        child = _rank(rank, 2)
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
    profile, _ = _run(tmp_path, size=4)
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


def test_packed_rank_files_are_read_where_they_are(tmp_path: Path) -> None:
    profile, ranks = _run(tmp_path)
    pack_profile(str(profile))
    assert not list(profile.glob("*.cwt"))
    assert _of_batches(profile, 1000) == _expected(ranks)
