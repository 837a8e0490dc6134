"""The profile that a worker has open while it makes pieces of an export.

A worker opens the profile itself, under its absolute path, and keeps it open until it gets a piece of another
export. Texts come from the command, which has looked up the functions' names. A worker meets names and
files in an order of its own, so that its numbers for them are others than the command's: `Opened.told`
turns them into the command's. Invariant: a worker that finds other rank files than the command is refused.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corewise._core import EventLog, open_events
from corewise.data.events import (
    KINDS,
    Batch,
    CommunicatorRow,
    Events,
    Selection,
    Thread,
    communicator_rows,
    name_keys,
)
from corewise.errors import InputError


def shared_text(events: Events, form: str, rows: int, more: Mapping[str, Any] | None = None) -> str:
    """What all pieces of an export share; batches have `rows` rows. `more` is the form's own."""
    selection = events.selection
    keys = name_keys(events._log)
    return json.dumps(
        {
            "export": uuid.uuid4().hex,
            "form": form,
            "directory": str(events.path.resolve()),
            "files": _fingerprint(events._log, events.path),
            "rows": rows,
            "selection": [selection.kinds, selection.from_ns, selection.until_ns],
            "names": [[*key, name] for key, name in zip(keys, events.names, strict=True)],
            "objects": events.objects,
            "datatypes": events.datatypes,
            "more": more or {},
        }
    )


def opened(shared: str) -> Opened:
    """The profile of this export, opened by this thread now or for a piece before."""
    found = getattr(_here, "opened", None)
    if found is None or found.shared != shared:
        found = _here.opened = None  # the profile of another export is closed
        found = _here.opened = Opened(shared)
    return found


_here = threading.local()
"""What a worker's thread keeps from one piece to the next."""


class _Place(NamedTuple):
    """How far a thread has been read."""

    thread: int
    next_batch: int
    cursor: Any


class Opened:
    """An open profile, and the place in it behind the newest batch.

    Attributes
    ----------
    form : str
        What is made of it.
    words : dict of list of str
        The command's tables, as `corewise.data.events.Events.words`.
    quoted : dict of list of str or None
        The same as CSV has them, once they were needed.
    more : dict
        What the form sends with every piece.
    """

    def __init__(self, shared: str) -> None:
        self.shared = shared
        asked = json.loads(shared)
        self.form: str = asked["form"]
        self._directory = asked["directory"]
        self._log = open_events(self._directory)
        if _fingerprint(self._log, Path(self._directory)) != asked["files"]:
            raise self._changed()
        self._rows = asked["rows"]
        kinds, from_ns, until_ns = asked["selection"]
        self._selection = Selection(None, tuple(kinds), from_ns, until_ns)
        self.more: dict[str, Any] = asked["more"]
        self.words: dict[str, list[str]] = {
            "kind": list(KINDS),
            "name": [each[-1] for each in asked["names"]],
            "object": asked["objects"],
            "datatype": asked["datatypes"],
        }
        self.quoted: dict[str, list[str]] | None = None
        self._name_numbers = {tuple(each[:-1]): number for number, each in enumerate(asked["names"])}
        self._object_numbers = {name: number for number, name in enumerate(asked["objects"])}
        self._told = self._known_numbers()
        self._processes, self._threads = self._log.processes, self._log.threads
        self._place = _Place(-1, 0, None)

    def batch(self, thread: int, number: int) -> Batch | None:
        """A batch of a thread, in the command's numbers; None where the thread has fewer."""
        place = self._place
        if place.thread != thread or place.next_batch > number:
            chosen = self._selection
            cursor = self._log.cursor(thread, chosen.roles, chosen.from_ns, chosen.until_ns)
            place = _Place(thread, 0, cursor)
        columns = place.cursor.next(self._rows)
        for _ in range(number - place.next_batch):
            columns = place.cursor.next(self._rows)
        self._place = _Place(thread, number + 1, place.cursor)
        if not len(columns[0]):
            return None
        process = self._processes[self._threads[thread].process]
        return self._in_told_numbers(Batch(process.world, process.rank, self._threads[thread].slot, *columns))

    def events_of(self, ranks: Set[tuple[int, int]]) -> Events:
        """The records of these (world, rank), in numbers of the worker's own."""
        wanted = [
            (number, each) for number, each in enumerate(self._processes) if (each.world, each.rank) in ranks
        ]
        threads = tuple(
            Thread(index, process, self._threads[index].slot, self._log.scan(index))
            for number, process in wanted
            for index in self._threads_of[number]
        )
        names, _ = self._known_numbers()
        return Events(
            path=Path(self._directory),
            selection=self._selection,
            processes=tuple(process for _, process in wanted),
            threads=threads,
            names=tuple(self.words["name"][number] for number in names[:-1].tolist()),
            sorts=tuple(name.sort for name in self._log.names),
            objects=tuple(self._log.objects),
            datatypes=tuple(self.words["datatype"]),
            communicators=self._communicators,
            problems=(),
            _log=self._log,
        )

    @cached_property
    def _threads_of(self) -> dict[int, list[int]]:
        """By process, the numbers of its threads."""
        found: dict[int, list[int]] = defaultdict(list)
        for index, thread in enumerate(self._threads):
            found[thread.process].append(index)
        return found

    @cached_property
    def _communicators(self) -> tuple[CommunicatorRow, ...]:
        return communicator_rows(self._log)

    def _in_told_numbers(self, batch: Batch) -> Batch:
        names, objects = self._told
        if int(batch.name.max()) + 1 >= len(names) or int(batch.object.max()) + 1 >= len(objects):
            names, objects = self._told = self._known_numbers()
        return replace(batch, name=names[batch.name], object=objects[batch.object])

    def _known_numbers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """By own number the command's, of names and of files; the last one is that of none, -1."""
        try:
            names = [self._name_numbers[key] for key in name_keys(self._log)]
            objects = [self._object_numbers[name] for name in self._log.objects]
        except KeyError:
            raise self._changed() from None
        return np.array([*names, -1], np.int32), np.array([*objects, -1], np.int32)

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
