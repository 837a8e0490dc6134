"""The accelerate library of an MPI, and launches of programs with it and without it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from preload_runs import MPI_NAMES, described, launcher_options, library

from corewise.data.accelerate import COPIES, MAPPED, TAKEN, load_accelerate
from corewise.mpi import build

SOURCES = Path(__file__).resolve().parent / "accelerating"
NAMES = MPI_NAMES
TIMEOUT_S = 300.0
"""A run that takes longer hangs."""
NO_SINGLE_COPY = {"OMPI_MCA_smsc": "^cma", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}
"""Nothing straight between processes by the MPI: a long message needs its sender until it has arrived."""
FLAGS = ("-Wall", "-Wno-cast-function-type", "-Wno-deprecated-declarations")
_KINDS = """Barrier Bcast Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Gather Gatherv
Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"""
PROCEDURES = frozenset(f"MPI_{kind}" for kind in _KINDS.split())
"""Everything that can be taken over."""
_built = tempfile.TemporaryDirectory(prefix="corewise-accelerating-")


@cache
def accelerate_library(name: str) -> Path:
    """The library for an MPI, built once."""
    return build.build_accelerate(described(name))


@cache
def program(name: str, file: str) -> Path:
    """A program of ``accelerating/``, built for an MPI."""
    source = SOURCES / file
    output = Path(_built.name) / f"{source.stem}.{name}"
    language = ("-D_GNU_SOURCE",) if source.suffix == ".c" else ()
    return library(name).build(output, source, flags=(*FLAGS, *language, "-lpthread", "-ldl"))


def all_taken_over(name: str, after: int = 1) -> dict[str, str]:
    """The variables with which all is taken over that can be, once a communicator has had ``after`` calls."""
    return {
        "LD_PRELOAD": str(accelerate_library(name)),
        "COREWISE_ACCELERATE": "always",
        "COREWISE_ACCELERATE_AFTER": str(after),
    }


@dataclass(frozen=True)
class Ran:
    """How a run ended, and what became of its collectives on each rank."""

    done: subprocess.CompletedProcess[str]
    calls: Mapping[int, Counter[tuple[str, str]]] = field(default_factory=dict)
    """Rank -> calls by procedure and by why they were passed on; empty for those taken over."""
    mapped: Mapping[int, Counter[str]] = field(default_factory=dict)
    """Rank -> calls of those taken over that were done in mapped memory, by procedure."""
    copies: Mapping[int, str] = field(default_factory=dict)
    """Rank -> how its copies to others go, where the set-up measured it."""

    def succeeded(self) -> Ran:
        """Itself, after looking at the exit status."""
        assert self.done.returncode == 0, f"{self.done.args}\n{self.done.stdout}\n{self.done.stderr}"
        return self

    def taken(self) -> set[str]:
        """The procedures of which every rank took calls over."""
        ranks = [{name for name, why in calls if not why} for calls in self.calls.values()]
        return set.intersection(*ranks) if ranks else set()

    def reasons(self) -> set[str]:
        """Why calls were passed on."""
        return {why for calls in self.calls.values() for _, why in calls if why}

    def passed_on(self, why: str) -> int:
        """How many calls were, for this reason."""
        return sum(n for calls in self.calls.values() for (_, reason), n in calls.items() if reason == why)


def run(
    name: str,
    n: int,
    words: Sequence[object],
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT_S,
) -> Ran:
    """Run ``words`` on ``n`` ranks, with the library where there is a folder for its counts."""
    mpi, wanted = library(name), {}
    if folder is not None:
        folder.mkdir(exist_ok=True)
        wanted = {**all_taken_over(name), "COREWISE_TRACE_DIR": str(folder)}
    options = launcher_options(mpi, {**wanted, **(variables or {})})
    done = mpi.run(n, str(words[0]), words[1:], env=env, timeout=timeout, launcher_args=options)
    calls: dict[int, Counter[tuple[str, str]]] = {}
    mapped: dict[int, Counter[str]] = {}
    copies: dict[int, str] = {}
    for rank, rows in load_accelerate(folder).items() if folder is not None else ():
        calls[rank], mapped[rank] = Counter(), Counter()
        for row in rows:
            if row.procedure == COPIES:
                copies[rank] = row.why
                continue
            calls[rank][row.procedure, "" if row.outcome == TAKEN else row.why] += row.calls
            if row.why == MAPPED:
                mapped[rank][row.procedure] += row.calls
    return Ran(done, calls, mapped, copies)
