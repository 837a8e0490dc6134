"""OTF2 archives, made by any executor, rank by rank.

A piece is some consecutive ranks. A worker writes an archive of its own with the same definitions as the
command's, in a folder that is gone afterwards, and sends its files of events. The command writes the
definitions, and the files of events in their places. Invariant: every file of the archive but its anchor,
into which the library puts a number of its own, is the one that `corewise.export.otf2.write_otf2` writes
alone, byte for byte, whoever made which rank. Memory of the command: the compressed files that are under way,
some 20 bytes a record at most.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import tempfile
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from corewise.base.executors import Workers
from corewise.base.jobs import in_order
from corewise.data.events import Events
from corewise.export.opened import opened, shared_text
from corewise.export.otf2 import Used, Writer, Written, event_file, open_archive, used_by
from corewise.export.ranks import WINDOW, cut_by_ranks

Progress = Callable[[float], None]

PIECE_RECORDS = 65_536
"""Of a piece at most, unless one rank has more; to open and close an archive takes some 0.1 s."""
_LEVEL = 1
"""Of compression."""
_ALONE = threading.Lock()
"""One archive at a time in a process: its writers hold Python's lock all the same."""


class Location(NamedTuple):
    """What a worker has written of a thread: its file, compressed, and when its events begin and end."""

    packed: bytes
    events: int
    unsaid: int
    first_ns: int
    last_ns: int


def write_otf2_by_ranks(
    events: Events, folder: Path, progress: Progress, workers: Workers, records: int = PIECE_RECORDS
) -> Written:
    """What `write_otf2` writes, made by `workers`.

    Raises
    ------
    InputError
        A worker sees another profile under this path.
    RunError
        The workers are gone.
    """
    used, origin_ns = used_by(events), events.origin_ns()
    shared = shared_text(events, "otf2", 0, {"used": used, "origin_ns": origin_ns})
    pieces = [[(place.world, place.rank) for place in piece] for piece in cut_by_ranks(events, records)]
    threads = iter(events.threads)
    with open_archive(folder) as archive:
        writer = Writer(archive, events, used, origin_ns, progress)
        for number, made in enumerate(in_order(workers, make_locations, shared, pieces, WINDOW)):
            for each in made:
                file = writer.count_thread(next(threads), each.events, each.unsaid)
                (folder / file).write_bytes(zlib.decompress(each.packed))
                if each.events:
                    archive._update_timestamps(each.first_ns)
                    archive._update_timestamps(each.last_ns)
            progress((number + 1) / len(pieces))
        return writer.finish()


def make_locations(shared: str, piece: list[tuple[int, int]]) -> list[Location]:
    """What one worker does: the events of every thread of these ranks."""
    profile = opened(shared)
    ranks = {(world, rank) for world, rank in piece}
    with _ALONE, tempfile.TemporaryDirectory(prefix="corewise-") as folder:
        made = []
        used, origin_ns = Used(*profile.more["used"]), profile.more["origin_ns"]
        with open_archive(Path(folder, "archive")) as archive:
            writer = Writer(archive, profile.events_of(), used, origin_ns, lambda share: None)
            for thread in profile.events_of(ranks).threads:
                archive._first_timestamp = archive._last_timestamp = None
                counted = writer.finish()
                writer.write_thread(thread)
                now = writer.finish()
                file = Path(folder, "archive", event_file(writer.location_of(thread)))
                made.append(
                    Location(
                        zlib.compress(file.read_bytes(), _LEVEL),
                        now.events - counted.events,
                        now.unsaid - counted.unsaid,
                        archive._first_timestamp or 0,
                        archive._last_timestamp or 0,
                    )
                )
    return made
