"""A timeline as a file for Perfetto's viewer (ui.perfetto.dev), by Perfetto's published protobuf classes.

Owns the layout of that file: a root track per group (programs, MFCs, rings), under it a track per row, and
as many lanes of one name as slices overlap, which the viewer shows as one. Perfetto counts whole nanoseconds
and a tick may be shorter, so every event also carries its exact ticks. Invariant: the same timeline gives the
same bytes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from corewise.base.files import write_bytes
from corewise.sim.timeline import INSTANT, Timeline

_SEQUENCE = 1


def write_perfetto(timeline: Timeline, path: str | Path) -> None:
    """Writes the file; https://ui.perfetto.dev and Perfetto's trace processor open it."""
    write_bytes(Path(path), perfetto_bytes(timeline))


def perfetto_bytes(timeline: Timeline) -> bytes:
    """The trace as serialized by Perfetto's own protobuf classes."""
    writer = _Writer(timeline)
    writer.intern_texts()
    for mark in sorted(writer.marks()):
        writer.add_mark(mark)
    return writer.serialize()


def lanes(begins: Sequence[int], ends: Sequence[int]) -> list[int]:
    """A lane for every slice of a track, so that no two in one lane overlap; the lowest free one each time.

    Parameters
    ----------
    begins, ends : sequence of int
        Of the slices, by rising begin.
    """
    free_at: list[int] = []
    chosen = []
    for begin, end in zip(begins, ends, strict=True):
        lane = next((index for index, free in enumerate(free_at) if free <= begin), len(free_at))
        if lane == len(free_at):
            free_at.append(0)
        free_at[lane] = end
        chosen.append(lane)
    return chosen


class _Mark(NamedTuple):
    """A begin, an end or an instant; sorted by time, lane and order on its track."""

    time_ns: int
    uuid: int
    order: int
    type: int
    event: int


class _Writer:
    """Turns a timeline into packets of one sequence."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._builder = TraceProtoBuilder()
        self._next_uuid = 1
        # Names of kinds and places are interned under the kind's index + 1, labels under these.
        labels = {label for kind in timeline.kinds for label in (kind.label_a, kind.label_b)}
        known = sorted({"begin_tick", "ticks", "where", *labels} - {""})
        self._label_ids = {label: index + 1 for index, label in enumerate(known)}
        # Python numbers: a row of a structured array costs more than a packet.
        self._rows: list[tuple[int, ...]] = timeline.events.tolist()

    def serialize(self) -> bytes:
        """All packets so far."""
        serialized: bytes = self._builder.serialize()
        return serialized

    def intern_texts(self) -> None:
        """Writes the texts that events share, once."""
        packet = self._packet(TracePacket.SEQ_INCREMENTAL_STATE_CLEARED)
        packet.timestamp = 0
        texts = packet.interned_data
        for index, kind in enumerate(self._timeline.kinds):
            texts.event_names.add(iid=index + 1, name=kind.name)
            texts.debug_annotation_string_values.add(iid=index + 1, str=kind.where.encode())
        for label, iid in self._label_ids.items():
            texts.debug_annotation_names.add(iid=iid, name=label)

    def marks(self) -> Iterator[_Mark]:
        """Describes every track and yields what happens on it."""
        groups: dict[str, int] = {}
        for index, track in enumerate(self._timeline.tracks):
            if track.group not in groups:
                groups[track.group] = self._describe(track.group, 0, len(groups))
            yield from self._marks_of_track(index, groups[track.group])

    def _marks_of_track(self, index: int, group: int) -> Iterator[_Mark]:
        events = self._timeline.events
        mine = np.flatnonzero(events["track"] == index)
        mine = mine[np.argsort(events["begin"][mine], kind="stable")]
        instants = mine[events["end"][mine] == INSTANT].tolist()
        slices = mine[events["end"][mine] != INSTANT]
        begins, ends = events["begin"][slices].tolist(), events["end"][slices].tolist()
        chosen = lanes(begins, ends)
        name = self._timeline.tracks[index].name
        uuids = [self._describe(name, group, index) for _ in range(max(chosen, default=0) + 1)]
        in_ns = self._timeline.nanoseconds
        for event in instants:
            yield _Mark(in_ns(self._rows[event][2]), uuids[0], 0, TrackEvent.TYPE_INSTANT, event)
        for order, (event, begin, end, lane) in enumerate(
            zip(slices.tolist(), begins, ends, chosen, strict=True)
        ):
            yield _Mark(in_ns(begin), uuids[lane], 2 * order, TrackEvent.TYPE_SLICE_BEGIN, event)
            yield _Mark(in_ns(end), uuids[lane], 2 * order + 1, TrackEvent.TYPE_SLICE_END, event)

    def add_mark(self, mark: _Mark) -> None:
        """Adds one packet; an end needs neither name nor numbers."""
        packet = self._packet(TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
        packet.timestamp = mark.time_ns
        event = packet.track_event
        event.type = mark.type
        event.track_uuid = mark.uuid
        if mark.type == TrackEvent.TYPE_SLICE_END:
            return
        _, kind_index, begin, end, a, b = self._rows[mark.event]
        kind = self._timeline.kinds[kind_index]
        event.name_iid = kind_index + 1
        self._annotate(event, kind.label_a, a)
        self._annotate(event, kind.label_b, b)
        self._annotate(event, "begin_tick", begin)
        if mark.type == TrackEvent.TYPE_SLICE_BEGIN:
            self._annotate(event, "ticks", end - begin)
        if kind.where:
            event.debug_annotations.add(name_iid=self._label_ids["where"], string_value_iid=kind_index + 1)

    def _annotate(self, event: TrackEvent, label: str, value: int) -> None:
        if label:
            event.debug_annotations.add(name_iid=self._label_ids[label], int_value=value)

    def _describe(self, name: str, parent: int, rank: int) -> int:
        descriptor = self._packet(TracePacket.SEQ_NEEDS_INCREMENTAL_STATE).track_descriptor
        descriptor.uuid, descriptor.name = self._next_uuid, name
        descriptor.sibling_order_rank = rank
        descriptor.child_ordering = TrackDescriptor.EXPLICIT
        if parent:
            descriptor.parent_uuid = parent
        self._next_uuid += 1
        return self._next_uuid - 1

    def _packet(self, flags: int) -> TracePacket:
        packet = self._builder.add_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = flags
        return packet
