"""How fast a recording is replayed, beside SMPI's replay of the same trace.

The workload of the other rows is recorded under a real MPI. SMPI gets the recording as a time-independent
trace: a text of actions for every rank, with the time between calls as computation on hosts of one operation
a nanosecond. So both replay the same messages and the same gaps on the same machine.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corewise.base.files import write_text
from corewise.bench.mpis import output_of, planned
from corewise.bench.programs import Program
from corewise.bench.rows import Listener
from corewise.bench.simmpi.platform import hostfile, platform_xml
from corewise.data.events import KINDS, Batch, Events, load_events
from corewise.data.machines import load_machine
from corewise.errors import RunError
from corewise.mpi import launch
from corewise.mpi.find import MpiLibrary
from corewise.sim.replay import open_recording, replay

RANKS = 8
MACHINES = {"ring": ("ring:8", 2 * 8), "halo": ("mesh:4x2", 2 * (3 * 2 + 4))}
"""Shape -> (machine, messages per round of the workload)."""
ROUNDS = (100, 2000)
"""Rounds of the workload in the short and in the long recording."""
BYTES = 1024
RIVAL = "SimGrid SMPI's replay, CM02"
ACTIONS = {"MPI_Isend": "isend", "MPI_Send": "send", "MPI_Irecv": "irecv", "MPI_Recv": "recv"}
_MESSAGES = ("send", "receive", "post_receive")
_FIRST = "MPI_Init"
_PLAIN = {_FIRST: "init", "MPI_Waitall": "waitall 0", "MPI_Finalize": "finalize"}
_BYTE = 6
"""SMPI's number of the type whose elements are single bytes."""
_SMPI = ("--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--log=root.thres:warning")
_LIMIT_S = 120.0


def actions_of(batch: Batch, events: Events, clock_ns: int) -> Iterator[tuple[str, int]]:
    """Actions of consecutive rows of a rank, each with the end of its call.

    Parameters
    ----------
    batch : Batch
    events : Events
        Whose batch it is.
    clock_ns : int
        End of the call before.

    Raises
    ------
    RunError
        A row that has no action here, such as a collective.
    """
    for at in range(len(batch)):
        kind, name = KINDS[int(batch.kind[at])], events.names[int(batch.name[at])]
        start, end = int(batch.start_ns[at]), int(batch.start_ns[at] + batch.duration_ns[at])
        if kind == "arrival":
            continue
        action = _action(batch, at, kind, name)
        if name == _FIRST:
            clock_ns = start
        computed = (start if action else end) - clock_ns
        if computed > 0:
            yield f"{batch.rank} compute {computed}", start
        if action:
            yield f"{batch.rank} {action}", end
        clock_ns = end


def _action(batch: Batch, at: int, kind: str, name: str) -> str:
    """What a row does, without its rank; nothing where it only takes time."""
    if name in _PLAIN:
        return _PLAIN[name]
    if kind in _MESSAGES and name in ACTIONS:
        peer, tag, size = int(batch.peer[at]), int(batch.tag[at]), int(batch.bytes[at])
        return f"{ACTIONS[name]} {peer} {tag} {size} {_BYTE}" if peer >= 0 else ""
    if kind == "call":
        return ""
    raise RunError(f"rank {batch.rank}: found {name} ({kind}), allowed: {', '.join((*ACTIONS, *_PLAIN))}")


def write_actions(profile: Path, folder: Path) -> Path:
    """A recording as a time-independent trace; gives the file that lists those of the ranks.

    Parameters
    ----------
    profile : Path
        Of point-to-point messages.
    folder : Path
        Where the texts go.
    """
    events = load_events(profile)
    lines: dict[int, list[str]] = {}
    ends: dict[int, int] = {}
    for batch in events.batches():
        rank = batch.rank
        for action, end in actions_of(batch, events, ends.get(rank, 0)):
            lines.setdefault(rank, []).append(action)
            ends[rank] = end
    files = []
    for rank, actions in sorted(lines.items()):
        files.append(folder / f"{profile.stem}-{rank}.txt")
        write_text(files[-1], "\n".join(actions) + "\n")
    listing = folder / f"{profile.stem}.txt"
    write_text(listing, "".join(f"{file}\n" for file in files))
    return listing


@dataclass(frozen=True)
class Traces:
    """What both replay.

    Attributes
    ----------
    shape : str
    folder : Path
        With recordings, texts, the platform and the host file.
    """

    shape: str
    folder: Path

    @property
    def machine(self) -> str:
        """As for `load_machine`."""
        return MACHINES[self.shape][0]

    def profile(self, rounds: int) -> Path:
        """The recording of so many rounds."""
        return self.folder / f"{self.shape}-{rounds}.cw"

    def record(self, mpi: MpiLibrary, program: Path) -> None:
        """Records the workload, short and long, and writes it for SMPI too."""
        write_text(self.folder / f"{self.shape}-replay.xml", platform_xml(load_machine(self.machine)))
        write_text(self.folder / "replay-hosts", hostfile(RANKS))
        for rounds in ROUNDS:
            plan = planned(mpi, program, [self.shape, str(rounds), str(BYTES)], RANKS)
            options = launch.RecordOptions(timeout_s=_LIMIT_S)
            done = launch.record(plan, self.profile(rounds), options, subprocess.DEVNULL)
            if done.exit_status != 0:
                raise RunError(f"exchange {self.shape}: ended with exit status {done.exit_status}")
            write_actions(self.profile(rounds), self.folder)

    def rate(self, run: Callable[[int], float]) -> float:
        """Messages per second of wall time, without what start and end take."""
        short, long = ROUNDS
        took = -run(short) + run(long)
        return (long - short) * MACHINES[self.shape][1] / max(took, 1e-9)

    def ours(self, rounds: int) -> float:
        """Wall seconds of a replay of ours, opening the files included."""
        begin = time.perf_counter()
        found = replay(open_recording(self.profile(rounds)), load_machine(self.machine), range(RANKS))
        took = time.perf_counter() - begin
        if found.messages != rounds * MACHINES[self.shape][1]:
            raise RunError(f"{self.profile(rounds)}: {found.messages} messages were replayed")
        return took

    def theirs(self, rounds: int) -> float:
        """Wall seconds of a replay of SMPI's."""
        words = ["smpirun", "-np", str(RANKS), "-platform", str(self.folder / f"{self.shape}-replay.xml")]
        words += ["-hostfile", str(self.folder / "replay-hosts"), *_SMPI]
        words += ["-replay", str(self.folder / f"{self.shape}-{rounds}.txt")]
        begin = time.perf_counter()
        output_of(words, os.environ, folder=self.folder, limit_s=_LIMIT_S)
        return time.perf_counter() - begin


def exchange(mpi: MpiLibrary, listener: Listener) -> Path:
    """The workload, built for a real MPI."""
    return Program("simmpi", "exchange", ("exchange.c",), mpi=mpi).build(listener)
