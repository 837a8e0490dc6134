"""The records of a profile, read in parts by any executor.

A part is what one worker found in a shard of the rank files, as bytes; `corewise._core.ShardMerge` brings
parts together. Invariant: the answer is that of `corewise._core.read_run`, bit for bit, whoever read what
and in whatever order parts came. Workers open the files themselves: they see the profile's folder under its
absolute path.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

from corewise._core import WAIT_SHARES, RunAnswer, ShardMerge, cut_into_shards, read_shard, read_waits
from corewise.base.executors import Workers
from corewise.base.jobs import results

SHARD_BYTES = 1 << 24
"""Of the rank files that one job reads; a larger file is a job of its own."""
USUAL_SHARES = 4
"""Of the waits, where nobody says how many workers there are."""


def read_in_parts(
    folder: Path,
    workers: Workers,
    totals: bool = True,
    calls: int | None = None,
    waits: bool = False,
    ended_ns: int = 0,
    shard_bytes: int = SHARD_BYTES,
    shares: int | None = None,
) -> RunAnswer:
    """What `corewise._core.read_run` gives for the same question.

    Parameters
    ----------
    folder : Path
        As the user named it: messages name it so too.
    workers : Workers
        Who reads.
    totals, calls, waits, ended_ns
        As for `read_run`. A call graph comes with the totals only.
    shard_bytes : int
        Of the rank files that one job reads.
    shares : int
        Into which the waits are cut, for each of which all records are read; by default one per worker.

    Raises
    ------
    InputError
        The folder holds no rank file that can be read.
    RunError
        The workers are gone.
    """
    asked = {"directory": str(folder.resolve()), "shown": str(folder), "calls": calls, "ended_ns": ended_ns}
    count = min(shares or workers.count or USUAL_SHARES, WAIT_SHARES) if waits else 0
    # The longest jobs are begun first; the number of a share of the waits is its own, less `count`.
    jobs: dict[int, list[str] | tuple[int, int]] = {
        number - count: (number, count) for number in range(count)
    }
    if totals:
        jobs.update(enumerate(cut_into_shards(str(folder), shard_bytes)))
    merge = ShardMerge(calls, ended_ns)
    for number, part in results(workers, read_part, json.dumps(asked), jobs):
        if number < 0:
            merge.add_waits(number + count, part)
        else:
            merge.add(number, part)
    return merge.finish()


def read_part(shared: str, what: list[str] | tuple[int, int]) -> bytes:
    """What one worker does: reads these files, or a share of the waits of all, by its number and how many."""
    asked = json.loads(shared)
    if isinstance(what, tuple):
        return read_waits(asked["directory"], asked["shown"], *what)
    return read_shard(asked["directory"], asked["shown"], what, asked["calls"], asked["ended_ns"])
