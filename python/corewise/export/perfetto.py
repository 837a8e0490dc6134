"""A profile's records as a trace for Perfetto's viewer (ui.perfetto.dev), by Perfetto's published classes.

Owns the layout: a process per rank, a thread track per thread slot with a slice per call and per function
or region that was entered, an instant for what is a moment, a track of phases beside each thread that has
some, and an arrow from every send to where it arrived. Times are whole nanoseconds on the ranks' common
line, from the first rank's start, or from the first function that was entered before it. Packets are written
as they come: memory does not grow with their number. Process and thread numbers count up from 1, because
those of different hosts may be equal; the real ones stand in the process's labels.
Invariant: the same profile gives the same bytes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

from corewise._core import EventProcess
from corewise.data.events import KINDS, Events, Thread
from corewise.export.flows import SEND, Flows
from corewise.export.nesting import BEGIN, END, Mark, Row, nested
from corewise.export.places import Sites

Progress = Callable[[float], None]

_SEQUENCE = 1
_MISS, _RECEIVE, _ARRIVAL = (KINDS.index(kind) for kind in ("miss", "receive", "arrival"))
_PHASE, _RECORDING, _PART = (KINDS.index(kind) for kind in ("phase", "recording", "collective_part"))
_FUNCTIONS = frozenset(KINDS.index(kind) for kind in ("function_enter", "region_enter"))
_MESSAGES = frozenset((SEND, _RECEIVE, _ARRIVAL))
_MOST_KEPT = 65_536
_LABELS = ("bytes", "peer", "tag", "communicator", "calls", "site", "kind", "level")
_LABEL_IDS = {label: index + 1 for index, label in enumerate(_LABELS)}


def write_perfetto(events: Events, path: Path, progress: Progress) -> int:
    """Writes the trace; returns the number of rows that it shows."""
    with path.open("wb") as stream:
        return _Writer(events, stream, progress).write()


def incomplete_ranks(events: Events) -> list[tuple[int, int]]:
    """(world, rank) of those that lost records, so that their messages cannot be counted through."""
    return [
        (each.world, each.rank)
        for each in events.processes
        if each.overwritten_bytes > 0 or each.lost_bytes > 0
    ]


class _Writer:
    """Writes packets of one sequence, track by track."""

    def __init__(self, events: Events, stream: BinaryIO, progress: Progress) -> None:
        self._events = events
        self._stream = stream
        self._progress = progress
        self._origin_ns = events.origin_ns()
        self._flows = Flows(incomplete_ranks(events))
        self._sites = Sites(events.objects)
        self._texts: dict[str, int] = {}
        self._static: dict[tuple[int, ...], bytes] = {}
        self._next_uuid = 1
        self._next_number = 1
        self._done = 0
        self._rows = 0
        # A name is drawn twice: as it is, and for what found nothing.
        self._found_nothing = len(events.names) + 1

    def write(self) -> int:
        """Everything."""
        self._intern_names()
        for process in self._events.processes:
            number, uuid = self._describe_process(process)
            for index, thread in enumerate(t for t in self._events.threads if t.process is process):
                self._write_thread(thread, uuid, number, first=index == 0)
        return self._rows

    # ---- packets ----

    def _packet(self, flags: int = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE) -> TracePacket:
        packet = TracePacket()
        packet.trusted_packet_sequence_id = _SEQUENCE
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

    def _intern_names(self) -> None:
        packet = self._packet(TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
        packet.timestamp = 0
        texts = packet.interned_data
        for index, name in enumerate(self._events.names):
            texts.event_names.add(iid=index + 1, name=name)
            texts.event_names.add(iid=index + 1 + self._found_nothing, name=f"{name} (nothing found)")
        texts.event_names.add(iid=self._found_nothing, name="recording")
        for label, iid in _LABEL_IDS.items():
            texts.debug_annotation_names.add(iid=iid, name=label)
        self._put(packet)

    def _uuid(self) -> int:
        self._next_uuid += 1
        return self._next_uuid - 1

    def _describe_process(self, process: EventProcess) -> tuple[int, int]:
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = self._uuid()
        descriptor.process.pid = number = self._next_number
        world = f" of {process.world_name}" if process.world else ""
        descriptor.process.process_name = f"rank {process.rank}{world}"
        descriptor.process.process_labels.extend([process.host, f"pid {process.pid}", process.ending])
        descriptor.child_ordering = TrackDescriptor.EXPLICIT
        self._next_number += 1
        self._put(packet)
        return number, descriptor.uuid

    def _describe_thread(self, thread: Thread, process_uuid: int, process_number: int, first: bool) -> int:
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = self._uuid()
        descriptor.parent_uuid = process_uuid
        descriptor.thread.pid = process_number
        descriptor.thread.tid = process_number if first else self._next_number
        descriptor.thread.thread_name = f"thread {thread.slot}"
        descriptor.sibling_order_rank = 2 * thread.slot
        self._next_number += 0 if first else 1
        self._put(packet)
        return int(descriptor.uuid)

    def describe_phases(self, thread: Thread, process_uuid: int) -> int:
        """The track beside a thread's that holds its phases."""
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = self._uuid()
        descriptor.parent_uuid = process_uuid
        descriptor.name = f"phases of thread {thread.slot}"
        descriptor.sibling_order_rank = 2 * thread.slot - 1
        self._put(packet)
        return int(descriptor.uuid)

    # ---- one thread ----

    def _write_thread(self, thread: Thread, process_uuid: int, process_number: int, first: bool) -> None:
        window = self._events.selection
        uuid = self._describe_thread(thread, process_uuid, process_number, first)
        if window.from_ns > thread.process.start_ns:
            for batch in self._events.thread_batches(thread, whole=True):
                self._flows.skip(batch, window.from_ns)
        phases = _Phases(self, thread, process_uuid)
        for marks, mark in enumerate(nested(lambda: self._events.thread_batches(thread)), 1):
            if mark.what != END:
                self._rows += 1
            if mark.row.kind == _PHASE:
                phases.begin(mark)
            else:
                self.put_event(mark, uuid, thread.process)
            phases.now_ns = mark.time_ns
            if marks % 8192 == 0:
                self._tell(self._done + min(marks / 2, thread.records))
        phases.end()
        self._done += thread.records
        self._tell(self._done)

    def _tell(self, done: float) -> None:
        self._progress(done / max(self._events.records, 1))

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
        event.name_iid = self._name_id(row)
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

    def _name_id(self, row: Row) -> int:
        if row.name < 0:
            return self._found_nothing  # "recording", the only one without a name
        return row.name + 1 + (self._found_nothing if row.kind == _MISS else 0)

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
        if row.kind not in _FUNCTIONS and (site := self._sites.name(row.object, row.offset)):
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

    def __init__(self, writer: _Writer, thread: Thread, process_uuid: int) -> None:
        self._writer = writer
        self._thread = thread
        self._process_uuid = process_uuid
        self._uuid = 0
        self._row: Row | None = None
        self.now_ns = 0

    def begin(self, mark: Mark) -> None:
        """A phase begins, and the one before it ends."""
        if self._uuid == 0:
            self._uuid = self._writer.describe_phases(self._thread, self._process_uuid)
        self.now_ns = mark.time_ns
        self.end()
        self._row = mark.row
        self._writer.put_event(Mark(mark.time_ns, BEGIN, mark.row), self._uuid, self._thread.process)

    def end(self) -> None:
        """The last phase ends with the thread's last event."""
        if self._row is not None:
            end = Mark(self.now_ns, END, self._row)
            self._writer.put_event(end, self._uuid, self._thread.process)
