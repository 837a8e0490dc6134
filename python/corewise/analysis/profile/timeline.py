"""What every rank did when, small enough for a page: shares of time per cell, the longest calls, messages.

Reads the records of a profile once, thread by thread. Invariants: the shares in a cell are those of all
calls, also of calls that are not kept; memory grows with cells, kept calls and messages, not with records;
the same profile and selection give the same timeline. A thread's calls do not overlap, because only outermost
calls are recorded. Times are nanoseconds on the ranks' common line, from the first rank's start.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import procedure_facts
from corewise.analysis.profile.messages import MessageFinder, Messages
from corewise.analysis.profile.tables import call_site_name
from corewise.data.events import KINDS, Batch, Events

MOST_ROWS = 512
"""Of cells; more ranks are summed into blocks."""
MOST_BINS = 1024
MOST_CALLS = 60_000
"""That are kept one by one: the longest."""
CATEGORIES = ("messages", "collectives", "one-sided", "files", "start and stop", "other MPI")
"""What a call may be; time in none of them is the program's own."""
_CATEGORY = {"message": 0, "collective": 1, "one_sided": 2, "file": 3, "startup": 4, "other": 5}
_COMPLETES = ("MPI_Wait", "MPI_Test")
"""Complete messages: what they wait for is a message as a rule."""
_PHASE = KINDS.index("phase")
_MOST_PHASES = 200
_COLUMNS = ("rank", "start_ns", "duration_ns", "name", "bytes", "peer", "object", "offset")
_Calls = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Timeline:
    """The timeline of the main world.

    Attributes
    ----------
    ranks : int
        Of the world.
    shown : tuple of int
        Ranks that were read, rising.
    from_ns, until_ns : int
        What the cells span.
    block : int
        Ranks per row of cells.
    shares : ndarray of uint8, shape (categories, rows, bins)
        Time in calls of a category over the time of the cell, 255 is all of it.
    names, sites : tuple of str
        What `name` and `site` index.
    category : tuple of int
        Of each name, an index into `CATEGORIES`.
    rank, start_ns, duration_ns, name, bytes, peer, site : ndarray of int64, shape (kept,)
        The kept calls, by rank and start; -1 is no site, and a peer below 0 no rank.
    calls : int
        All calls in the selection.
    messages : Messages
        Both ends of messages.
    phases : tuple of (int, str)
        When the lowest rank shown entered which phase.
    """

    ranks: int
    shown: tuple[int, ...]
    from_ns: int
    until_ns: int
    block: int
    shares: NDArray[np.uint8]
    names: tuple[str, ...]
    sites: tuple[str, ...]
    category: tuple[int, ...]
    rank: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    name: NDArray[np.int64]
    bytes: NDArray[np.int64]
    peer: NDArray[np.int64]
    site: NDArray[np.int64]
    calls: int
    messages: Messages
    phases: tuple[tuple[int, str], ...]

    @property
    def complete(self) -> bool:
        """Whether every call is kept."""
        return self.calls == len(self.rank)


def category_of(procedure: str) -> int:
    """What a procedure is, an index into `CATEGORIES`."""
    sort = procedure_facts(procedure).sort
    if sort == "other" and procedure.startswith(_COMPLETES):
        return 0
    return _CATEGORY[sort]


BatchListener = Callable[[Batch], None]


def read_timeline(
    events: Events,
    listeners: Sequence[BatchListener] = (),
    progress: Callable[[float], None] = lambda share: None,
    started_realtime_ns: int = 0,
) -> Timeline:
    """Reads the timeline of the main world.

    Parameters
    ----------
    events : Events
        All kinds of rows; its selection says which ranks and times.
    listeners : sequence of callable
        Told every batch, so that the records are read once for several tables.
    progress : callable
        Told the share of the threads that are read.
    started_realtime_ns : int
        When the run began, in nanoseconds since 1970: a program that was changed since names no function.
    """
    world = [thread for thread in events.threads if thread.process.world == 0]
    size = max((thread.process.world_size for thread in world), default=1)
    first_ns = max(events.selection.from_ns, 0)
    cells = _Cells(
        size, first_ns, events.selection.until_ns, [category_of_name(*each) for each in named(events)]
    )
    longest = _Longest(MOST_CALLS)
    finder = MessageFinder(events)
    phases: list[tuple[int, str]] = []
    told = [*listeners, finder.add] if events.selection.everything else listeners
    for number, thread in enumerate(world):
        progress(number / len(world))
        calls = []
        for batch in events.thread_batches(thread):
            calls.append(_calls_of(batch))
            for listener in told:
                listener(batch)
            if thread.process.rank == world[0].process.rank:
                phases += _phases(batch, events.names)
        for batch in () if events.selection.everything else events.thread_batches(thread, whole=True):
            finder.add(batch)
        if calls:
            joined = {key: np.concatenate([each[key] for each in calls]) for key in _COLUMNS}
            cells.add(joined)
            longest.add(joined)
    return _timeline(events, cells, longest, finder.messages(), phases, started_realtime_ns)


def named(events: Events) -> Iterable[tuple[str, str]]:
    """Names with what they name."""
    return zip(events.names, events.sorts, strict=True)


def category_of_name(name: str, sort: str) -> int:
    """`category_of` a procedure; of other names the last one, which nobody asks for."""
    return category_of(name) if sort == "procedure" else len(CATEGORIES) - 1


def _calls_of(batch: Batch) -> _Calls:
    """The rows that are calls."""
    mine = (batch.calls > 0) & (batch.name >= 0)
    columns = {key: getattr(batch, key)[mine].astype(np.int64) for key in _COLUMNS if key != "rank"}
    return {"rank": np.full(int(mine.sum()), batch.rank, np.int64), **columns}


def _phases(batch: Batch, names: Sequence[str]) -> list[tuple[int, str]]:
    found = np.flatnonzero(batch.kind == _PHASE)
    return [(int(batch.start_ns[at]), names[batch.name[at]]) for at in found.tolist() if batch.name[at] >= 0]


class _Cells:
    """Adds up time per category in cells of ranks and time; cells double where calls go beyond the last."""

    def __init__(self, ranks: int, from_ns: int, until_ns: int, category: Sequence[int]) -> None:
        self.ranks = ranks
        self.block = -(-ranks // MOST_ROWS)
        self.category = np.array([*category, len(CATEGORIES) - 1], np.int64)
        self._from_ns = from_ns
        self._limit_ns = until_ns
        self._width_ns = 1
        self._last_ns = from_ns + 1
        self._busy_ns = np.zeros((len(CATEGORIES), -(-ranks // self.block), MOST_BINS))
        self._seen: set[int] = set()

    @property
    def _edges(self) -> NDArray[np.float64]:
        return self._from_ns + self._width_ns * np.arange(MOST_BINS + 1, dtype=float)

    def _reach(self, last_ns: int) -> None:
        """Makes cells wide enough for a time: pairs of them become one."""
        self._last_ns = max(self._last_ns, min(last_ns, self._limit_ns))
        while self._from_ns + self._width_ns * MOST_BINS < self._last_ns:
            if not self._seen:
                self._width_ns *= 2
                continue
            pairs = self._busy_ns.reshape(*self._busy_ns.shape[:2], -1, 2).sum(axis=3)
            self._busy_ns = np.concatenate([pairs, np.zeros_like(pairs)], axis=2)
            self._width_ns *= 2

    def add(self, calls: _Calls) -> None:
        """The calls of one thread, in order of time."""
        if not len(calls["rank"]):
            return
        self._reach(int((calls["start_ns"] + calls["duration_ns"]).max()))
        rank = int(calls["rank"][0])
        self._seen.add(rank)
        categories = self.category[calls["name"]]
        for category in np.unique(categories).tolist():
            mine = categories == category
            self._add(category, rank // self.block, calls["start_ns"][mine], calls["duration_ns"][mine])

    def _add(
        self, category: int, row: int, start_ns: NDArray[np.int64], duration_ns: NDArray[np.int64]
    ) -> None:
        """By the time spent up to each edge: it grows along every call and is level between them."""
        order = np.argsort(start_ns, kind="stable")
        start, duration = start_ns[order], duration_ns[order]
        spent = np.concatenate([[0.0], np.cumsum(duration)])
        knots = np.stack([start, start + duration], axis=1).reshape(-1).astype(float)
        values = np.stack([spent[:-1], spent[1:]], axis=1).reshape(-1)
        spent_at = np.interp(self._edges, np.maximum.accumulate(knots), values)
        self._busy_ns[category, row] += np.diff(spent_at)

    @property
    def bins(self) -> int:
        """Cells up to the last call."""
        return max(1, -(-(self._last_ns - self._from_ns) // self._width_ns))

    @property
    def span_ns(self) -> tuple[int, int]:
        """Where the first cell begins and the last one ends."""
        return self._from_ns, self._from_ns + self.bins * self._width_ns

    def shares(self) -> NDArray[np.uint8]:
        """Busy time over the time of the cell's ranks."""
        members = np.zeros(self._busy_ns.shape[1])
        for rank in self._seen:
            members[rank // self.block] += 1
        whole = self._width_ns * np.maximum(members, 1)[None, :, None]
        shares: NDArray[np.uint8] = np.rint(
            255 * np.clip(self._busy_ns[:, :, : self.bins] / whole, 0, 1)
        ).astype(np.uint8)
        return shares

    @property
    def seen(self) -> tuple[int, ...]:
        """Ranks that had a call."""
        return tuple(sorted(self._seen))


class _Longest:
    """Keeps the longest calls, of equal ones those of the lowest rank that began first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[_Calls] = []
        self._held = 0
        self.seen = 0

    def add(self, calls: _Calls) -> None:
        """The calls of one thread."""
        self._parts.append(calls)
        self._held += len(calls["rank"])
        self.seen += len(calls["rank"])
        if self._held > 4 * self._most:
            self._prune()

    def _prune(self) -> None:
        joined = _joined(self._parts)
        order = np.lexsort((joined["start_ns"], joined["rank"], -joined["duration_ns"]))[: self._most]
        self._parts = [{key: column[order] for key, column in joined.items()}]
        self._held = len(order)

    def result(self) -> _Calls:
        """By rank and start."""
        self._prune()
        joined = self._parts[0]
        order = np.lexsort((joined["duration_ns"], joined["start_ns"], joined["rank"]))
        return {key: column[order] for key, column in joined.items()}


def _joined(parts: Sequence[_Calls]) -> _Calls:
    empty = np.zeros(0, np.int64)
    return {key: np.concatenate([empty, *(part[key] for part in parts)]) for key in _COLUMNS}


def _timeline(
    events: Events,
    cells: _Cells,
    longest: _Longest,
    messages: Messages,
    phases: Sequence[tuple[int, str]],
    started_ns: int,
) -> Timeline:
    kept = longest.result()
    used, name = np.unique(kept["name"], return_inverse=True)
    sites, site = _sites(events, kept["object"], kept["offset"], started_ns)
    return Timeline(
        ranks=cells.ranks,
        shown=cells.seen,
        from_ns=cells.span_ns[0],
        until_ns=cells.span_ns[1],
        block=cells.block,
        shares=cells.shares(),
        names=tuple(events.names[index] for index in used.tolist()),
        sites=sites,
        category=tuple(int(cells.category[index]) for index in used.tolist()),
        rank=kept["rank"],
        start_ns=kept["start_ns"],
        duration_ns=kept["duration_ns"],
        name=name.reshape(-1).astype(np.int64),
        bytes=kept["bytes"],
        peer=kept["peer"],
        site=site,
        calls=longest.seen,
        messages=messages,
        phases=tuple(sorted(phases)[:_MOST_PHASES]),
    )


def _sites(
    events: Events, objects: NDArray[np.int64], offsets: NDArray[np.int64], started_ns: int
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of call sites, and the index of each call's; -1 where it is unknown."""
    pairs, inverse = np.unique(np.stack([objects, offsets]), axis=1, return_inverse=True)
    names: dict[str, int] = {}
    index = np.full(pairs.shape[1], -1, np.int64)
    for at, (object_, offset) in enumerate(pairs.T.tolist()):
        if object_ >= 0:
            where, _ = call_site_name(events.objects[object_], offset, started_ns)
            index[at] = names.setdefault(where, len(names))
    return tuple(names), index[inverse.reshape(-1)]
