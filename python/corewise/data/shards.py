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

from corewise._core import RunAnswer, ShardMerge, cut_into_shards, read_shard, read_waits
from corewise.base.executors import Workers
from corewise.base.jobs import results

SHARD_BYTES = 1 << 24
"""Of the rank files that one job reads; a larger file is a job of its own."""
_WAITS = -1
"""The number of the job that reads the waits."""


def read_in_parts(
    folder: Path,
    workers: Workers,
    totals: bool = True,
    calls: int | None = None,
    waits: bool = False,
    ended_ns: int = 0,
    shard_bytes: int = SHARD_BYTES,
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

    Raises
    ------
    InputError
        The folder holds no rank file that can be read.
    RunError
        The workers are gone.
    """
    asked = {"directory": str(folder.resolve()), "shown": str(folder), "calls": calls, "ended_ns": ended_ns}
    jobs: dict[int, list[str] | None] = {}
    if waits:
        jobs[_WAITS] = None  # the longest job is begun first
    if totals:
        jobs.update(enumerate(cut_into_shards(str(folder), shard_bytes)))
    merge = ShardMerge(calls, ended_ns)
    for number, part in results(workers, read_part, json.dumps(asked), jobs):
        if number == _WAITS:
            merge.add_waits(part)
        else:
            merge.add(number, part)
    return merge.finish()


def read_part(shared: str, files: list[str] | None) -> bytes:
    """What one worker does: reads these files, or, without any, the waits of all."""
    asked = json.loads(shared)
    if files is None:
        return read_waits(asked["directory"], asked["shown"])
    return read_shard(asked["directory"], asked["shown"], files, asked["calls"], asked["ended_ns"])
