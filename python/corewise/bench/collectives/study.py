"""`corewise bench collectives`: what a program gets (`preload`), and algorithms on the bare port (`port`).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from corewise.base import late
from corewise.bench.collectives import COLLECTIVES
from corewise.errors import InputError

with late.imports():
    from corewise.bench import mpis
    from corewise.bench.collectives import port, preload, tuning
    from corewise.bench.rows import Listener, Outcome, Row
    from corewise.data.tuned_hosts import BUILT_IN, HostCollectives
    from corewise.data.tuning import save_tuning

ALL = "all"
PRELOAD, PORT = CASES = ("preload", "port")


@dataclass(frozen=True)
class Request:
    """What the command was asked for.

    Attributes
    ----------
    which : str
        Of `CASES`, or `ALL`.
    mpi : str or None
        Without: one Open MPI and one MPICH.
    ranks : int
    rounds : int or None
    quick, everything : bool
        Few sizes and rounds; every collective and size.
    collectives, sizes : tuple
        Of the preload's part; empty: those that go with the rest.
    table : str or None
        Instead of the library's own.
    mapped : bool
        Of the preload's part: buffers in mapped memory, and what gains by them.
    gaps : int
        Of the preload's part: data in runs of so many bytes, and what moves them; 0: side by side.
    """

    which: str = ALL
    mpi: str | None = None
    ranks: int = 2
    rounds: int | None = None
    quick: bool = False
    everything: bool = False
    collectives: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    table: str | None = None
    mapped: bool = False
    gaps: int = 0

    def parts(self) -> tuple[str, ...]:
        """What is measured: options of the preload's part leave the other one out."""
        if self.which not in (*CASES, ALL):
            raise InputError(f"--cases: found '{self.which}', allowed: {', '.join((*CASES, ALL))}")
        places = self.mapped or self.gaps
        chosen = self.everything or self.collectives or self.sizes or places or self.table is not None
        if chosen and self.which == PORT:
            raise InputError(
                f"--cases: found '{PORT}' with --all, --collectives, --sizes, --table, --mapped or --gaps, "
                f"allowed: {PRELOAD}"
            )
        if self.which == ALL:
            return (PRELOAD,) if chosen else CASES
        return (self.which,)

    def wanted(self) -> preload.Wanted:
        """Of the preload's part."""
        if self.quick and self.everything:
            raise InputError("--all: found with --quick, allowed: one of them")
        if foreign := set(self.collectives) - set(COLLECTIVES):
            raise InputError(f"--collectives: found '{min(foreign)}', allowed: {', '.join(COLLECTIVES)}")
        for size in self.sizes:
            if not 1 <= size * self.ranks <= preload.MOST_BYTES:
                raise InputError(
                    f"--sizes: found {size}, allowed: 1 to {preload.MOST_BYTES // self.ranks} bytes"
                )
        table = BUILT_IN if self.table is None else self.table
        usual = COLLECTIVES if self.everything else preload.collectives_in(table)
        sizes = preload.QUICK_SIZES if self.quick else preload.SIZES
        if self.mapped and not self.everything:
            usual = preload.IN_MAPPED_MEMORY
            sizes = preload.QUICK_MAPPED_SIZES if self.quick else preload.MAPPED_SIZES
        sizes = self.sizes or (preload.GRID if self.everything else sizes)
        if self.gaps:
            usual, sizes = self._with_gaps(usual, sizes)
        effort = preload.QUICK if self.quick else preload.FULL
        return preload.Wanted(
            self.collectives or usual,
            sizes,
            self.ranks,
            table,
            replace(effort, rounds=self.rounds or effort.rounds),
            self.mapped,
            self.gaps,
        )

    def _with_gaps(
        self, usual: tuple[str, ...], sizes: tuple[int, ...]
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Of these collectives and sizes, those of data with gaps: two runs and more."""
        if combining := sorted(preload.COMBINING.intersection(self.collectives)):
            moving = ", ".join(name for name in COLLECTIVES if name not in preload.COMBINING)
            raise InputError(f"--gaps: found with {combining[0]}, allowed: {moving}")
        whole = tuple(size for size in sizes if size % self.gaps == 0 and size > self.gaps)
        if not whole or (self.sizes and whole != self.sizes):
            raise InputError(
                f"--gaps: found {self.gaps}, allowed: bytes of which every size is a multiple, twice or more"
            )
        return tuple(name for name in usual if name not in preload.COMBINING), whole


def run_bench(listener: Listener, request: Request) -> Outcome:
    """Rows of all parts."""
    parts, wanted, libraries = request.parts(), request.wanted(), mpis.chosen(request.mpi)
    split = {CASES: 0.8, (PRELOAD,): 1.0, (PORT,): 0.0}[parts]
    rows: tuple[Row, ...] = ()
    remarks: tuple[str, ...] = ()
    if PRELOAD in parts:
        rows, remarks = preload.rows_of(listener.part(0, split), libraries, wanted)
    if PORT in parts:
        part = listener.part(split, 1)
        rows += port.rows_of(part, libraries, request.ranks, request.rounds, request.quick)
    return Outcome("collectives", rows, remarks=remarks)


def run_tune(listener: Listener, request: Request, folder: Path) -> list[HostCollectives]:
    """Files of this host, one per MPI, each written when it is measured."""
    other = {"--cases": request.which != ALL, "--all": request.everything, "--sizes": request.sizes,
             "--table": request.table, "--mapped": request.mapped, "--gaps": request.gaps,
             "--rounds": request.rounds}  # fmt: skip
    for name in (name for name, given in other.items() if given):
        raise InputError(f"{name}: found with --tune, allowed: --mpi, --ranks, --collectives and --quick")
    if not folder.is_dir():
        raise InputError(f"--tune: found '{folder}', allowed: a folder that is there")
    request.wanted()
    libraries = mpis.chosen(request.mpi)
    written = []
    for place, mpi in enumerate(libraries):
        part = listener.part(place / len(libraries), (place + 1) / len(libraries))
        found = tuning.tune(mpi, request.ranks, request.collectives, request.quick, folder, part)
        save_tuning(found.tuning, found.path)
        written.append(found)
    return written
