"""The timeline of a simulated run as a Perfetto trace, decoded by Perfetto's published classes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from corewise._core import generate
from corewise.cli.main import execute
from corewise.sim import EVENT, Kind, Timeline, Track, simulate
from corewise.sim.perfetto import lanes, perfetto_bytes

BUS = """
format = "corewise-machine"
version = 1
name = "bus"

[interconnect]
kind = "ring"
stops = ["A", "B", "C", "D", "E", "F", "G", "H"]
units = ["A", "B", "C", "D", "E", "F", "G", "H"]
rings_per_direction = 2
ring_bandwidth = "25.6 GB/s"
hop_latency = "0.625 ns"
ties = "split"
"""


class Decoded:
    """What a viewer sees of a trace, read without any of the writer's code."""

    def __init__(self, serialized: bytes) -> None:
        trace = Trace.FromString(serialized)
        names: dict[int, str] = {}
        labels: dict[int, str] = {}
        texts: dict[int, str] = {}
        self.parent: dict[int, int] = {}
        self.track: dict[int, str] = {}
        open_slices: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.slices: list[dict[str, Any]] = []
        self.instants: list[dict[str, Any]] = []
        self.sequences = {packet.trusted_packet_sequence_id for packet in trace.packet}
        assert trace.packet[0].sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        last = 0
        for packet in trace.packet:
            names.update({each.iid: each.name for each in packet.interned_data.event_names})
            labels.update({each.iid: each.name for each in packet.interned_data.debug_annotation_names})
            strings = packet.interned_data.debug_annotation_string_values
            texts.update({each.iid: each.str.decode() for each in strings})
            if packet.HasField("track_descriptor"):
                descriptor = packet.track_descriptor
                assert descriptor.uuid not in self.track
                self.track[descriptor.uuid] = descriptor.name
                self.parent[descriptor.uuid] = descriptor.parent_uuid
            if not packet.HasField("track_event"):
                continue
            assert packet.timestamp >= last
            last = packet.timestamp
            event = packet.track_event
            if event.type == TrackEvent.TYPE_SLICE_END:
                done = open_slices[event.track_uuid].pop()
                done["end"] = packet.timestamp
                self.slices.append(done)
                continue
            values = {
                labels[each.name_iid]: texts[each.string_value_iid]
                if each.string_value_iid
                else each.int_value
                for each in event.debug_annotations
            }
            found = {
                "name": names[event.name_iid],
                "begin": packet.timestamp,
                "uuid": event.track_uuid,
                "track": self.path(event.track_uuid),
                **values,
            }
            if event.type == TrackEvent.TYPE_INSTANT:
                self.instants.append(found)
                continue
            assert event.type == TrackEvent.TYPE_SLICE_BEGIN
            # A lane holds one slice at a time: nothing is drawn inside another.
            assert not open_slices[event.track_uuid]
            open_slices[event.track_uuid].append(found)
        assert not any(open_slices.values())

    def path(self, uuid: int) -> str:
        up = self.parent[uuid]
        return f"{self.path(up)}/{self.track[uuid]}" if up else self.track[uuid]


def timeline(events: list[tuple[int, ...]], tick_ns: float = 0.3125) -> Timeline:
    tracks = (Track("programs", "SPE0"), Track("rings", "ring 0"))
    kinds = (Kind("packet", "bytes", "", ""), Kind("waits for tag 3", "", "", "ring.cpp:12"))
    return Timeline(tick_ns, tracks, kinds, np.array(events, dtype=EVENT), 0)


def test_names_times_numbers_and_places_come_through() -> None:
    given = timeline(
        [(1, 0, 16, 48, 128, 0), (0, 1, 7, 100, 0, 0), (1, 0, 32, 64, 64, 0), (0, 0, 50, -1, 9, 0)]
    )
    decoded = Decoded(perfetto_bytes(given))
    assert decoded.sequences == {1}
    by_begin = sorted(decoded.slices, key=lambda each: each["begin_tick"])
    program, first, second = by_begin
    # 7 ticks of 0.3125 ns are 2.19 ns; Perfetto has whole ones.
    assert (program["name"], program["begin"], program["end"]) == ("waits for tag 3", 2, 31)
    assert (program["track"], program["where"], program["ticks"]) == ("programs/SPE0", "ring.cpp:12", 93)
    assert (first["name"], first["bytes"], first["begin"], first["end"]) == ("packet", 128, 5, 15)
    assert (second["bytes"], second["begin"], second["end"]) == (64, 10, 20)
    assert first["track"] == second["track"] == "rings/ring 0"
    assert first["uuid"] != second["uuid"]  # they overlap
    assert [(each["name"], each["begin"], each["begin_tick"]) for each in decoded.instants] == [
        ("packet", 15, 50)
    ]


def test_lanes_are_as_few_as_can_be_and_hold_no_two_at_once() -> None:
    random = np.random.default_rng(5)
    begins = np.sort(random.integers(0, 300, 200))
    ends = begins + random.integers(0, 40, 200)
    chosen = lanes(begins.tolist(), ends.tolist())
    for one, other in itertools.combinations(range(200), 2):
        if chosen[one] == chosen[other]:
            assert ends[one] <= begins[other]
    most = max(int(((begins <= at) & (ends > at)).sum()) for at in range(340))
    assert max(chosen) + 1 == most


@pytest.mark.parametrize("machine", ["mesh-6x4", "chiplet-2s"])
def test_every_packet_that_crossed_a_link_is_in_the_trace(machine: str) -> None:
    run = simulate(machine, generate("ring", {"ranks": "20", "bytes": "2 KiB"}), trace=True)
    assert run.timeline is not None
    decoded = Decoded(perfetto_bytes(run.timeline))
    on_links = [each for each in decoded.slices if each["track"].startswith("links/")]
    assert len(on_links) == int(run.links["packets"].sum()) > 0
    for link, row in zip(run.machine.links, run.links, strict=True):
        mine = [each for each in on_links if each["track"] == f"links/{link.name}"]
        assert sum(each["bytes"] for each in mine) == row["bytes"]
        # A tick is a picosecond here.
        assert sum(each["ticks"] for each in mine) == pytest.approx(1000 * row["busy_ns"])


@pytest.mark.parametrize("machine", ["cell-be", "bus"])
def test_every_packet_of_a_ring_is_in_the_trace_once(machine: str, tmp_path: Path) -> None:
    file = tmp_path / "bus.toml"
    file.write_text(BUS)
    run = simulate(
        str(file) if machine == "bus" else machine,
        generate("ring", {"ranks": "8", "bytes": "2 KiB"}),
        trace=True,
    )
    assert run.timeline is not None
    decoded = Decoded(perfetto_bytes(run.timeline))
    packets = [each for each in decoded.slices if each["track"].startswith("rings/")]
    stops = run.machine.stops
    hops = 0
    for packet in packets:
        start, end = (stops.index(name) for name in packet["name"].split(" to "))
        ahead = (end - start) % len(stops)
        hops += min(ahead, len(stops) - ahead)
    assert hops == int(run.links["packets"].sum())
    # Data, and on the Cell the flags of its programs.
    carried = sum(each["bytes"] for each in packets)
    assert carried == 16 * 2048 if machine == "bus" else carried >= 16 * 2048
    assert len({each["track"] for each in packets}) == 4


def test_a_cell_shows_its_programs_and_its_dma_commands() -> None:
    run = simulate("cell-be", generate("ring", {"ranks": "8", "bytes": "16 KiB"}), trace=True)
    assert run.timeline is not None
    decoded = Decoded(perfetto_bytes(run.timeline))
    gets = [each for each in decoded.slices if each["track"].startswith("MFCs/") and each["name"] == "get"]
    # Every one of the 16 messages is one command of 16 KB, on the receiver's MFC.
    assert [each["bytes"] for each in gets].count(16384) == 16
    assert {each["track"] for each in gets} == {f"MFCs/SPE{spe}" for spe in range(8)}
    programs = {each["track"] for each in decoded.slices if each["track"].startswith("programs/")}
    assert len(programs) == 8
    names = {each["name"] for each in decoded.slices if each["track"] in programs}
    assert "runs" in names
    assert any(name.startswith("waits for ") for name in names)
    assert max(each["end"] for each in gets) <= run.total_ns


def test_the_command_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    written = []
    for name in ("one.pftrace", "two.pftrace"):
        file = tmp_path / name
        command = [
            "sim",
            "ring",
            "ranks=8",
            "bytes=4096",
            "-m",
            "cell-be",
            "--trace",
            str(file),
            "--seed",
            "3",
        ]
        assert execute(command) == 0
        written.append(file.read_bytes())
    assert written[0] == written[1]
    assert Decoded(written[0]).slices
