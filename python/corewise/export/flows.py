"""Which send an arrival belongs to, without bringing the two together.

MPI keeps messages between two ranks with one communicator and tag in order, so that the n-th send and the
n-th arrival of such a channel are one message. Both ends count for themselves; memory grows with the
channels only. Arrivals count in the order of the calls that completed them, and within one call in the
order of their posts: a program that waits for receives of one channel out of order gets arrows that are
swapped. Ranks that lost records (a flight recorder, a full disk) get none.

A message's number is a digest of its channel, 64 bits wide, plus n: both ends find it without asking each
other. Two channels get a number in common with a probability of channels times messages over 2^64, one in a
million for 10^5 channels with 10^8 messages.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable

import numpy as np

from corewise.data.events import KINDS, Batch

SEND = KINDS.index("send")
ARRIVALS = (KINDS.index("receive"), KINDS.index("arrival"))

Channel = tuple[int, int, int, int, int]
"""World, sender, receiver, communicator, tag."""


def channel_of(world: int, rank: int, kind: int, peer: int, comm: int, tag: int) -> Channel | None:
    """The channel of a row; None where it is no message between ranks of the world."""
    if peer < 0 or (kind != SEND and kind not in ARRIVALS):
        return None
    return (world, rank, peer, comm, tag) if kind == SEND else (world, peer, rank, comm, tag)


class Flows:
    """Numbers for messages: the same one at both ends, never 0."""

    def __init__(self, incomplete: Iterable[tuple[int, int]] = ()) -> None:
        """`incomplete` are the (world, rank) that lost records."""
        self._incomplete = frozenset(incomplete)
        self._digests: dict[Channel, int] = {}
        self._seen: Counter[tuple[Channel, bool]] = Counter()

    def number(self, world: int, rank: int, kind: int, peer: int, comm: int, tag: int) -> int:
        """The message that a row is about; 0 without one."""
        channel = channel_of(world, rank, kind, peer, comm, tag)
        if channel is None or (world, rank) in self._incomplete or (world, peer) in self._incomplete:
            return 0
        key = (channel, kind == SEND)
        self._seen[key] += 1
        return (self._digest(channel) + self._seen[key]) % 2**64 or 1

    def _digest(self, channel: Channel) -> int:
        if channel not in self._digests:
            content = struct.pack("<5q", *channel)
            found = hashlib.blake2b(content, digest_size=8).digest()
            self._digests[channel] = int.from_bytes(found, "little")
        return self._digests[channel]

    def skip(self, batch: Batch, before_ns: int) -> None:
        """Counts the messages of rows that ended before a time, and are not asked for one by one."""
        gone = batch.start_ns + batch.duration_ns < before_ns
        for sends in (True, False):
            kinds = (SEND,) if sends else ARRIVALS
            mine = gone & np.isin(batch.kind, kinds) & (batch.peer >= 0)
            rows = np.stack([batch.peer[mine], batch.comm[mine], batch.tag[mine]])
            values, counts = np.unique(rows, axis=1, return_counts=True)
            for (peer, comm, tag), count in zip(values.T.tolist(), counts.tolist(), strict=True):
                channel = channel_of(batch.world, batch.rank, kinds[0], peer, comm, tag)
                if channel is not None:
                    self._seen[channel, sends] += count
