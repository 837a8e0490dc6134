"""Runs the jobs of a sweep (`corewise.base.jobs`): results are taken as they come.

A job is a function of a module (so that any process finds it by its name), the text that all jobs share,
and a value of its own; its result is a JSON value. Invariant: a job's result is kept once, whoever did it
and however often.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corewise.base.executors import Workers, workers_of
from corewise.base.jobs import build, results
from corewise.errors import RunError
from corewise.sim.sweeps.partial import Partial


@dataclass(frozen=True)
class Sweep:
    """What is to be done.

    Attributes
    ----------
    name : str
        Of the command.
    job : callable
        ``job(shared, item)``, a function of a module: the result of one job, a JSON value.
    shared : str
        What all jobs share.
    items : sequence
        A JSON value per job.
    valid : callable
        ``valid(item, value)``: whether a value that was read can be the result of an item's job.
    """

    name: str
    job: Callable[[str, Any], Any]
    shared: str
    items: Sequence[Any]
    valid: Callable[[Any, Any], bool]

    @property
    def identity(self) -> str:
        """A digest of everything that the results depend on."""
        digest = hashlib.sha256()
        for part in (build(), self.name, self.shared, json.dumps(self.items)):
            digest.update(len(part).to_bytes(8, "little") + part.encode())
        return digest.hexdigest()


def run(
    sweep: Sweep,
    progress: Callable[[float], None],
    workers: Workers | None = None,
    resume: Path | None = None,
) -> list[Any]:
    """Results in the order of the items.

    Parameters
    ----------
    sweep : Sweep
    progress : callable
        Told the share that is done.
    workers : Workers, optional
        Threads on all cores of this host without them.
    resume : Path, optional
        The file that keeps what is done until all is.

    Raises
    ------
    InputError
        The file is no such file, or of another sweep; or a job's input is wrong.
    RunError
        The workers are gone.
    """
    if workers is None:
        with workers_of(None) as here:
            return run(sweep, progress, here, resume)
    items = sweep.items
    done = Partial(resume, sweep.identity, len(items), lambda at, value: sweep.valid(items[at], value))
    left = [at for at in range(len(items)) if at not in done.results]
    try:
        for at, value in results(workers, sweep.job, sweep.shared, {at: items[at] for at in left}):
            done.add(at, value)
            progress(len(done.results) / len(items))
    except BaseException:
        with suppress(RunError):  # the first error is the one to tell
            done.write()
        raise
    done.complete()
    return [done.results[at] for at in range(len(items))]
