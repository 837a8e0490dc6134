"""A profile's records as a trace for Perfetto's viewer (ui.perfetto.dev), by Perfetto's published classes.

Owns the layout: a process per rank, a thread track per thread slot with a slice per call and per function
or region that was entered, an instant for what is a moment, a track of phases beside each thread that has
some, and an arrow from every send to where it arrived. Times are whole nanoseconds on the ranks' common
line, from the first rank's start, or from the first function that was entered before it. Packets are written
as they come: memory does not grow with their number. Process and thread numbers count up from 1, because
those of different hosts may be equal; the real ones stand in the process's labels. A rank's packets are a
sequence of their own, so that they can be made without those of other ranks (`corewise.export.pieces`).
Invariant: the same profile gives the same bytes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

from corewise._core import EventProcess
from corewise.data.events import KINDS, Events, Thread
from corewise.export.flows import SEND, Flows
from corewise.export.nesting import BEGIN, END, Mark, Row, nested
from corewise.export.places import Sites

Progress = Callable[[float], None]
SiteName = Callable[[int, int], str]
"""From a file's number and an offset to what the call site is called; see `corewise.export.places.Sites`."""

_TRACKS = 2
"""Of a thread: its own, and that of its phases."""

_MISS, _RECEIVE, _ARRIVAL = (KINDS.index(kind) for kind in ("miss", "receive", "arrival"))
_PHASE, _RECORDING, _PART = (KINDS.index(kind) for kind in ("phase", "recording", "collective_part"))
WITHOUT_SITE = tuple(
    KINDS.index(kind)
    for kind in ("function_enter", "function_exit", "region_enter", "region_exit", "recording")
)
"""Kinds of rows whose call site is not told."""
_MESSAGES = frozenset((SEND, _RECEIVE, _ARRIVAL))
_MOST_KEPT = 65_536
_LABELS = ("bytes", "peer", "tag", "communicator", "calls", "site", "kind", "level")
_LABEL_IDS = {label: index + 1 for index, label in enumerate(_LABELS)}


class Stream(Protocol):
    """Where packets go."""

    def write(self, content: bytes, /) -> int:
        """Takes all of them."""


class Line(NamedTuple):
    """What all ranks share: where the time line begins, and the (world, rank) that lost records."""

    origin_ns: int
    incomplete: list[tuple[int, int]]


class RankPlace(NamedTuple):
    """A rank, with the first of the numbers that are its own."""

    world: int
    rank: int
    sequence: int
    uuid: int
    number: int


def write_perfetto(events: Events, path: Path, progress: Progress) -> int:
    """Writes the trace; returns the number of rows that it shows."""
    line = line_of(events)
    sites = Sites(events.objects).name
    total = max(events.records, 1)
    done = rows = 0

    def tell(records: float) -> None:
        progress((done + records) / total)

    with path.open("wb") as stream:
        for place, process, threads in places_of(events):
            rows += RankWriter(events, stream, line, sites, tell).write(place, process, threads)
            done += sum(thread.records for thread in threads)
            tell(0)
    return rows


def line_of(events: Events) -> Line:
    """What the ranks of a trace share."""
    lost = [each for each in events.processes if each.overwritten_bytes > 0 or each.lost_bytes > 0]
    return Line(events.origin_ns(), [(each.world, each.rank) for each in lost])


def places_of(events: Events) -> Iterator[tuple[RankPlace, EventProcess, list[Thread]]]:
    """Every rank with its threads."""
    of_rank: dict[tuple[int, int], list[Thread]] = defaultdict(list)
    for thread in events.threads:
        of_rank[thread.process.world, thread.process.rank].append(thread)
    uuid = number = 1
    for index, process in enumerate(events.processes):
        threads = of_rank[process.world, process.rank]
        yield RankPlace(process.world, process.rank, index + 1, uuid, number), process, threads
        uuid += 1 + _TRACKS * len(threads)
        number += max(len(threads), 1)


class RankWriter:
    """Writes the packets of one rank, track by track."""

    def __init__(
        self, events: Events, stream: Stream, line: Line, sites: SiteName, progress: Progress
    ) -> None:
        self._events = events
        self._stream = stream
        self._progress = progress
        self._origin_ns = line.origin_ns
        self._flows = Flows(line.incomplete)
        self._site = sites
        self._names: dict[str, int] = {}
        self._texts: dict[str, int] = {}
        self._static: dict[tuple[int, ...], bytes] = {}
        self._sequence = 0
        self._done = 0
        self._rows = 0

    def write(self, place: RankPlace, process: EventProcess, threads: Sequence[Thread]) -> int:
        """Everything; returns the number of rows that it shows."""
        self._sequence = place.sequence
        self._begin_sequence()
        self._describe_process(process, place)
        for index, thread in enumerate(threads):
            self._write_thread(thread, place, index)
        return self._rows

    # ---- packets ----

    def _packet(self, flags: int = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE) -> TracePacket:
        packet = TracePacket()
        packet.trusted_packet_sequence_id = self._sequence
        packet.sequence_flags = flags
        return packet

    def _put(self, packet: TracePacket) -> None:
        self._put_bytes(packet.SerializeToString())

    def _put_bytes(self, content: bytes) -> None:
        """A trace is its packets one behind the other, each as field 1 with its length."""
        size, length = len(content), bytearray()
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        length.append(size)
        self._stream.write(b"\x0a" + length + content)

    def _begin_sequence(self) -> None:
        packet = self._packet(TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
        packet.timestamp = 0
        for label, iid in _LABEL_IDS.items():
            packet.interned_data.debug_annotation_names.add(iid=iid, name=label)
        self._put(packet)

    def _describe_process(self, process: EventProcess, place: RankPlace) -> None:
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = place.uuid
        descriptor.process.pid = place.number
        world = f" of {process.world_name}" if process.world else ""
        descriptor.process.process_name = f"rank {process.rank}{world}"
        descriptor.process.process_labels.extend([process.host, f"pid {process.pid}", process.ending])
        descriptor.child_ordering = TrackDescriptor.EXPLICIT
        self._put(packet)

    def _describe_thread(self, thread: Thread, place: RankPlace, index: int) -> int:
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = place.uuid + 1 + _TRACKS * index
        descriptor.parent_uuid = place.uuid
        descriptor.thread.pid = place.number
        descriptor.thread.tid = place.number + index
        descriptor.thread.thread_name = f"thread {thread.slot}"
        descriptor.sibling_order_rank = 2 * thread.slot
        self._put(packet)
        return int(descriptor.uuid)

    def describe_phases(self, thread: Thread, uuid: int, process_uuid: int) -> None:
        """The track beside a thread's that holds its phases."""
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = uuid
        descriptor.parent_uuid = process_uuid
        descriptor.name = f"phases of thread {thread.slot}"
        descriptor.sibling_order_rank = 2 * thread.slot - 1
        self._put(packet)

    # ---- one thread ----

    def _write_thread(self, thread: Thread, place: RankPlace, index: int) -> None:
        window = self._events.selection
        uuid = self._describe_thread(thread, place, index)
        if window.from_ns > thread.process.start_ns:
            for batch in self._events.thread_batches(thread, whole=True):
                self._flows.skip(batch, window.from_ns)
        phases = _Phases(self, thread, uuid + 1, place.uuid)
        for marks, mark in enumerate(nested(lambda: self._events.thread_batches(thread)), 1):
            if mark.what != END:
                self._rows += 1
            if mark.row.kind == _PHASE:
                phases.begin(mark)
            else:
                self.put_event(mark, uuid, thread.process)
            phases.now_ns = mark.time_ns
            if marks % 8192 == 0:
                self._progress(self._done + min(marks / 2, thread.records))
        phases.end()
        self._done += thread.records

    def put_event(self, mark: Mark, uuid: int, process: EventProcess) -> None:
        """One mark on a track.

        What is alike in many events is serialized once: messages of protobuf that stand one behind the other
        are one message.
        """
        row = mark.row
        key = (uuid, mark.what, *row[:1], *row[3:])
        static = self._static.get(key)
        if static is None:
            if len(self._static) >= _MOST_KEPT:
                self._static.clear()
            static = self._static[key] = self._event(mark.what, row, uuid).SerializeToString()
        moment = TracePacket(timestamp=max(mark.time_ns - self._origin_ns, 0))
        if row.kind in _MESSAGES:
            self._add_flow(moment, mark, process)
        self._put_bytes(static + moment.SerializeToString())

    def _event(self, what: int, row: Row, uuid: int) -> TracePacket:
        """An event without its time and its arrow."""
        packet = self._packet()
        event = packet.track_event
        event.track_uuid = uuid
        if what == END:
            event.type = TrackEvent.TYPE_SLICE_END
            return packet
        event.type = TrackEvent.TYPE_SLICE_BEGIN if what == BEGIN else TrackEvent.TYPE_INSTANT
        event.name_iid = self._name_id(self._name(row))
        self._annotate(packet, row)
        return packet

    def _add_flow(self, packet: TracePacket, mark: Mark, process: EventProcess) -> None:
        """A send's arrow begins with it; a receive's ends with it, lest it ended before it began."""
        received = mark.row.kind != SEND
        if (mark.what == END) == (mark.row.kind == _RECEIVE) and (flow := self._flow(mark.row, process)):
            event = packet.track_event
            (event.terminating_flow_ids if received else event.flow_ids).append(flow)

    def _flow(self, row: Row, process: EventProcess) -> int:
        return self._flows.number(process.world, process.rank, row.kind, row.peer, row.comm, row.tag)

    def _name(self, row: Row) -> str:
        """A name is drawn twice: as it is, and for what found nothing."""
        if row.name < 0:
            return "recording"  # the only one without a name
        return self._events.names[row.name] + (" (nothing found)" if row.kind == _MISS else "")

    def _name_id(self, name: str) -> int:
        """A name is written out before its first use."""
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            told = self._packet()
            told.interned_data.event_names.add(iid=self._names[name], name=name)
            self._put(told)
        return self._names[name]

    # ---- what an event says about itself ----

    def _annotate(self, packet: TracePacket, row: Row) -> None:
        event = packet.track_event
        add = event.debug_annotations.add
        if row.kind == _RECORDING:
            add(name_iid=_LABEL_IDS["level"], int_value=row.tag)
            return
        if row.bytes or row.peer != -1 or row.comm >= 0:
            add(name_iid=_LABEL_IDS["bytes"], int_value=row.bytes)
        if row.peer != -1:
            add(name_iid=_LABEL_IDS["peer"], int_value=row.peer)
        if row.comm >= 0:
            communicator = self._events.communicators[row.comm]
            self._add_text(packet, "communicator", communicator.name or f"communicator {row.comm}")
            add(name_iid=_LABEL_IDS["tag"], int_value=row.tag)
        if row.kind == _MISS:
            add(name_iid=_LABEL_IDS["calls"], int_value=row.calls)
        self._add_text(packet, "kind", KINDS[row.kind])
        if row.kind not in WITHOUT_SITE and (site := self._site(row.object, row.offset)):
            self._add_text(packet, "site", site)

    def _add_text(self, packet: TracePacket, label: str, text: str) -> None:
        """A text is written out before its first use and then named by its number."""
        if text not in self._texts:
            self._texts[text] = len(self._texts) + 1
            told = self._packet()
            told.interned_data.debug_annotation_string_values.add(iid=self._texts[text], str=text.encode())
            self._put(told)
        packet.track_event.debug_annotations.add(
            name_iid=_LABEL_IDS[label], string_value_iid=self._texts[text]
        )


class _Phases:
    """The track of a thread's phases: each lasts until the next one begins."""

    def __init__(self, writer: RankWriter, thread: Thread, uuid: int, process_uuid: int) -> None:
        self._writer = writer
        self._thread = thread
        self._uuid = uuid
        self._process_uuid = process_uuid
        self._row: Row | None = None
        self.now_ns = 0

    def begin(self, mark: Mark) -> None:
        """A phase begins, and the one before it ends."""
        if self._row is None:
            self._writer.describe_phases(self._thread, self._uuid, self._process_uuid)
        self.now_ns = mark.time_ns
        self.end()
        self._row = mark.row
        self._writer.put_event(Mark(mark.time_ns, BEGIN, mark.row), self._uuid, self._thread.process)

    def end(self) -> None:
        """The last phase ends with the thread's last event."""
        if self._row is not None:
            end = Mark(self.now_ns, END, self._row)
            self._writer.put_event(end, self._uuid, self._thread.process)
