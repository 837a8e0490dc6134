"""Both ends of messages: which send an arrival belongs to, for whole arrays of records.

MPI keeps messages between two ranks with one communicator and tag in order, so that the n-th send and the
n-th arrival of such a channel are one message. Every record before the selected times counts, too. Ranks that
lost records (a flight recorder, a full disk) have no messages here, because theirs cannot be counted through.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise.data.events import KINDS, Batch, Events

MOST_MESSAGES = 40_000
"""That are kept: those that were longest on their way."""
MOST_ENDS = 2_000_000
"""Sends, and arrivals, that are matched; of runs with more in the selected times none is."""
_SEND = KINDS.index("send")
_ARRIVALS = (KINDS.index("receive"), KINDS.index("arrival"))
_KEY = 5
_Ends = NDArray[np.int64]
"""Rows sender, receiver, communicator, tag, number in the channel, time, bytes."""


@dataclass(frozen=True)
class Messages:
    """Messages by the time of their send.

    Attributes
    ----------
    sender, receiver, sent_ns, arrived_ns, bytes : ndarray of int64, shape (kept,)
        From the begin of the call that sent to the end of the call that completed the receive.
    found : int
        Messages with both ends in the selection.
    too_many : bool
        More than can be matched: none is here.
    """

    sender: NDArray[np.int64]
    receiver: NDArray[np.int64]
    sent_ns: NDArray[np.int64]
    arrived_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    found: int
    too_many: bool = False


class MessageFinder:
    """Collects the ends of messages, thread by thread."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._lost = frozenset(
            each.rank for each in events.processes if each.overwritten_bytes > 0 or each.lost_bytes > 0
        )
        self._ends: dict[bool, list[_Ends]] = {True: [], False: []}
        self._counts: Counter[bool] = Counter()
        self._rank = -1
        self._numbers: dict[bool, _Numbers] = {}

    def add(self, batch: Batch) -> None:
        """Rows of any time; ranks come one after the other, and a rank's threads too."""
        if batch.rank in self._lost or self.too_many:
            return
        if batch.rank != self._rank:
            self._rank, self._numbers = batch.rank, {True: _Numbers(), False: _Numbers()}
        for sends in (True, False):
            self._add(batch, sends, self._numbers[sends])

    @property
    def too_many(self) -> bool:
        """Whether there are more ends than can be matched."""
        return max(self._counts.values(), default=0) > MOST_ENDS

    def _add(self, batch: Batch, sends: bool, numbers: _Numbers) -> None:
        mine = np.isin(batch.kind, (_SEND,) if sends else _ARRIVALS) & (batch.peer >= 0)
        if not mine.any():
            return
        peer = batch.peer[mine].astype(np.int64)
        own = np.full(len(peer), batch.rank, np.int64)
        channel = np.stack([peer, batch.comm[mine], batch.tag[mine]]).astype(np.int64)
        number = numbers.of(channel)
        start = batch.start_ns[mine]
        end = start + batch.duration_ns[mine]
        chosen = self._events.selection
        wanted = (start < chosen.until_ns) & (end >= chosen.from_ns)
        pair = (own, peer) if sends else (peer, own)
        ends = np.stack([*pair, *channel[1:], number, start if sends else end, batch.bytes[mine]])
        self._ends[sends].append(ends[:, wanted])
        self._counts[sends] += int(wanted.sum())

    def messages(self) -> Messages:
        """The messages whose both ends are there."""
        none = np.zeros((_KEY + 2, 0), np.int64)
        if self.too_many:
            return _messages(none, 0, too_many=True)
        sends, arrivals = (np.concatenate([none, *self._ends[which]], axis=1) for which in (True, False))
        left, right = _matched(sends[:_KEY], arrivals[:_KEY])
        sent, arrived = sends[:, left], arrivals[:, right]
        columns = np.stack([sent[0], sent[1], sent[_KEY], arrived[_KEY], sent[_KEY + 1]])
        on_way = columns[3] - columns[2]
        longest = np.lexsort((columns[1], columns[0], columns[2], -on_way))[:MOST_MESSAGES]
        kept = columns[:, longest]
        kept = kept[:, np.lexsort((kept[1], kept[0], kept[2]))]
        return _messages(kept, len(left))


def _messages(columns: _Ends, found: int, too_many: bool = False) -> Messages:
    sender, receiver, sent_ns, arrived_ns, size_bytes = columns[:5]
    return Messages(sender, receiver, sent_ns, arrived_ns, size_bytes, found, too_many)


class _Numbers:
    """Counts the messages of every channel of a thread."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[int, ...]] = Counter()

    def of(self, channels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each message in its channel, from 0."""
        values, inverse, counts = np.unique(channels, axis=1, return_inverse=True, return_counts=True)
        inverse = inverse.reshape(-1)
        order = np.argsort(inverse, kind="stable")
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        number = np.empty(len(inverse), np.int64)
        number[order] = np.arange(len(inverse)) - begins
        keys = [tuple(key) for key in values.T.tolist()]
        before = np.array([self._seen[key] for key in keys], np.int64)
        for key, count in zip(keys, counts.tolist(), strict=True):
            self._seen[key] += count
        return number + before[inverse]


def _matched(left: _Ends, right: _Ends) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Columns that are equal in both; each side has a column once, and of repeated ones the first."""
    both = np.concatenate([left, right], axis=1)
    if both.shape[1] == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, key = np.unique(both, axis=1, return_inverse=True)
    key = key.reshape(-1)
    sides = left.shape[1]
    _, in_left, in_right = np.intersect1d(key[:sides], key[sides:], return_indices=True)
    return in_left.astype(np.int64), in_right.astype(np.int64)
