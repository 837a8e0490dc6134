"""A profile as CSV, made in pieces by any executor and joined in order.

A piece is some consecutive rows of some consecutive threads, as the bytes that they are in the file. A worker
opens the profile itself, under its absolute path, and keeps it open until it gets a piece of another export.
Invariants: the file is that of `corewise.export.tabular.write_csv`, byte for byte, whoever made which piece.
Texts come from the command, which has looked up the functions' names; a worker that finds other rank files
than the command is refused. Memory of the command: the pieces that are under way, `WINDOW` at most.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from corewise._core import EventLog, open_events
from corewise.base.executors import Workers
from corewise.base.jobs import in_order
from corewise.data.events import KINDS, Batch, Events, name_keys
from corewise.errors import InputError
from corewise.export.tabular import csv_header, csv_lines, csv_words

Progress = Callable[[float], None]
Piece = list[tuple[int, int]]
"""Numbers of threads, each with the number of a batch of `PIECE_ROWS` of its rows."""

PIECE_ROWS = 16_384
"""Rows of a piece at most: some 1.5 MB of text."""
WINDOW = 128
"""Pieces that are with the executor, or wait for an earlier one, at one time."""


def write_csv_in_pieces(
    events: Events, path: Path, progress: Progress, workers: Workers, rows: int = PIECE_ROWS
) -> int:
    """What `write_csv` writes, made by `workers`; returns the number of rows.

    Raises
    ------
    InputError
        A worker sees another profile under this path.
    RunError
        The workers are gone.
    """
    selection = events.selection
    keys = name_keys(events._log)
    shared = json.dumps(
        {
            "export": uuid.uuid4().hex,
            "directory": str(events.path.resolve()),
            "files": _fingerprint(events._log, events.path),
            "rows": rows,
            "filter": [selection.roles, selection.from_ns, selection.until_ns],
            "names": [[*key, name] for key, name in zip(keys, events.names, strict=True)],
            "datatypes": events.datatypes,
        }
    )
    pieces = list(_cut(events, rows))
    written = 0
    with path.open("wb") as stream:
        stream.write(csv_header().encode())
        for number, (text, count) in enumerate(in_order(workers, make_piece, shared, pieces, WINDOW)):
            stream.write(text)
            written += count
            progress((number + 1) / len(pieces))
    return written


def _cut(events: Events, rows: int) -> Iterator[Piece]:
    """All batches in order; small threads share a piece. Kinds and times may leave a batch without rows."""
    piece: Piece = []
    room = rows
    for thread in events.threads:
        for batch in range(-(-thread.records // rows)):
            records = min(rows, thread.records - batch * rows)
            if records > room:
                yield piece
                piece, room = [], rows
            piece.append((thread.number, batch))
            room -= records
    if piece:
        yield piece


def make_piece(shared: str, piece: Piece) -> tuple[bytes, int]:
    """What one worker does: the text of these batches, and how many rows it has."""
    maker = getattr(_here, "maker", None)
    if maker is None or maker.shared != shared:
        maker = _here.maker = None  # the profile of another export is closed
        maker = _here.maker = _Maker(shared)
    texts: list[str] = []
    rows = 0
    for thread, number in piece:
        batch = maker.batch(thread, number)
        if batch is not None:
            texts += maker.lines(batch)
            rows += len(batch)
    return "".join(texts).encode(), rows


_here = threading.local()
"""What a worker's thread keeps from one piece to the next."""


class _Place(NamedTuple):
    """How far a thread has been read."""

    thread: int
    next_batch: int
    cursor: Any


class _Maker:
    """An open profile, and the place in it behind the newest batch."""

    def __init__(self, shared: str) -> None:
        self.shared = shared
        asked = json.loads(shared)
        self._directory = asked["directory"]
        self._log = open_events(self._directory)
        if _fingerprint(self._log, Path(self._directory)) != asked["files"]:
            raise self._changed()
        self._rows, self._filter = asked["rows"], asked["filter"]
        self._name_of = {tuple(each[:-1]): each[-1] for each in asked["names"]}
        self._datatypes = asked["datatypes"]
        self._words = self._known_words()
        self._processes, self._threads = self._log.processes, self._log.threads
        self._place = _Place(-1, 0, None)

    def batch(self, thread: int, number: int) -> Batch | None:
        """A batch of a thread; None where the thread has fewer."""
        place = self._place
        if place.thread != thread or place.next_batch > number:
            place = _Place(thread, 0, self._log.cursor(thread, *self._filter))
        columns = place.cursor.next(self._rows)
        for _ in range(number - place.next_batch):
            columns = place.cursor.next(self._rows)
        self._place = _Place(thread, number + 1, place.cursor)
        if not len(columns[0]):
            return None
        process = self._processes[self._threads[thread].process]
        return Batch(process.world, process.rank, self._threads[thread].slot, *columns)

    def lines(self, batch: Batch) -> list[str]:
        """The batch's rows; a worker meets names in another order than the command."""
        words = self._words
        if int(batch.name.max()) + 1 >= len(words["name"]) or int(batch.object.max()) + 1 >= len(
            words["object"]
        ):
            words = self._words = self._known_words()
        return csv_lines(batch, words)

    def _known_words(self) -> dict[str, list[str]]:
        try:
            names = [self._name_of[key] for key in name_keys(self._log)]
        except KeyError:
            raise self._changed() from None
        objects = self._log.objects
        return csv_words({"kind": KINDS, "name": names, "object": objects, "datatype": self._datatypes})

    def _changed(self) -> InputError:
        return InputError(
            f"{self._directory}: found other rank files than when the export began, allowed: a complete "
            "profile that every worker sees under this path"
        )


def _fingerprint(log: EventLog, folder: Path) -> str:
    """Tells profiles apart that are not the same for every worker."""
    said = (
        [(each.world, each.rank, each.file, each.ending, each.start_ns) for each in log.processes],
        [(each.process, each.slot) for each in log.threads],
        sorted((each.name, each.stat().st_size) for each in folder.iterdir() if each.is_file()),
    )
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
