"""Perfetto traces, made by any executor, rank by rank, and joined in order.

A piece is some consecutive ranks, since the slices of a thread nest and the messages of a rank are counted
through: their packets, compressed on their way to the command. Invariant: the file is the one, byte for byte,
that `corewise.export.perfetto.write_perfetto` writes alone, whoever made which rank. Call sites are named by
the command, which reads the profile through for them, so that workers need not have the program. Memory of
the command: the compressed pieces that are under way, some 8 bytes a record.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from corewise.base.executors import Workers
from corewise.base.jobs import in_order, in_pieces
from corewise.data.events import Events
from corewise.export.opened import Opened, opened, shared_text
from corewise.export.perfetto import WITHOUT_SITE, Line, RankPlace, RankWriter, line_of, places_of
from corewise.export.places import Sites

Progress = Callable[[float], None]

PIECE_RECORDS = 16_384
"""Of a piece at most, unless one rank has more: some 2 MB of packets."""
WINDOW = 64
"""Pieces that are with the executor, or wait for an earlier one, at one time."""
_LEVEL = 1
"""Of compression: packets shrink to a tenth, and the others gain little."""
_READ_BYTES = 1 << 20


def write_perfetto_by_ranks(
    events: Events, path: Path, progress: Progress, workers: Workers, records: int = PIECE_RECORDS
) -> int:
    """What `write_perfetto` writes, made by `workers`; returns the number of rows that it shows.

    Raises
    ------
    InputError
        A worker sees another profile under this path.
    RunError
        The workers are gone.
    """
    line = line_of(events)
    more = {"line": [line.origin_ns, line.incomplete], "sites": site_names(events)}
    shared = shared_text(events, "perfetto", 0, more)
    pieces = list(cut_by_ranks(events, records))
    rows = 0
    with path.open("wb") as stream:
        for number, (packets, shown) in enumerate(in_order(workers, make_ranks, shared, pieces, WINDOW)):
            for content in _unpacked(packets):
                stream.write(content)
            rows += shown
            progress((number + 1) / len(pieces))
    return rows


def cut_by_ranks(events: Events, records: int) -> Iterator[list[RankPlace]]:
    """All ranks in order; small ones share a piece."""
    ranks = ((place, sum(thread.records for thread in threads)) for place, _, threads in places_of(events))
    return in_pieces(ranks, records)


def site_names(events: Events) -> list[tuple[int, int, str]]:
    """Every call site in a file, by the file's number and the offset in it, with its name."""
    found: set[tuple[int, int]] = set()
    for batch in events.batches():
        said = (batch.object >= 0) & ~np.isin(batch.kind, WITHOUT_SITE)
        both = np.unique(np.stack([batch.object[said].astype(np.int64), batch.offset[said]]), axis=1)
        found.update(zip(*both.tolist(), strict=True))
    sites = Sites(events.objects)
    return [(object_, offset, sites.name(object_, offset)) for object_, offset in sorted(found)]


# ---- what a worker does ----------------------------------------------------------------------------------


def make_ranks(shared: str, piece: list[tuple[int, ...]]) -> tuple[bytes, int]:
    """The compressed packets of these ranks, and how many rows they show."""
    profile = opened(shared)
    places = [RankPlace(*each) for each in piece]
    events = profile.events_of({(place.world, place.rank) for place in places})
    origin_ns, incomplete = profile.more["line"]
    line = Line(origin_ns, [(world, rank) for world, rank in incomplete])
    sites = _told_sites(profile)
    stream = _Packed()
    rows = 0
    for place, (_, process, threads) in zip(places, places_of(events), strict=True):
        rows += RankWriter(events, stream, line, sites, lambda records: None).write(place, process, threads)
    return stream.finish(), rows


def _told_sites(profile: Opened) -> Callable[[int, int], str]:
    told = {(object_, offset): name for object_, offset, name in profile.more["sites"]}
    outside = Sites(())  # an address in no file

    def name(object_: int, offset: int) -> str:
        return told[object_, offset] if object_ >= 0 else outside.name(object_, offset)

    return name


class _Packed:
    """Keeps what is written, compressed."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_LEVEL)
        self._parts: list[bytes] = []

    def write(self, content: bytes) -> int:
        """The next bytes."""
        if packed := self._packer.compress(content):
            self._parts.append(packed)
        return len(content)

    def finish(self) -> bytes:
        """All of it."""
        return b"".join([*self._parts, self._packer.flush()])


def _unpacked(packed: bytes) -> Iterator[bytes]:
    """What was compressed, in parts."""
    unpacker = zlib.decompressobj()
    while packed and not unpacker.eof:
        yield unpacker.decompress(packed, _READ_BYTES)
        packed = unpacker.unconsumed_tail
    yield unpacker.flush()
