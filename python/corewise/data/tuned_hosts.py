"""Which tunings are this host's, of packing and of collectives: the shipped ones of its processor and MPI.

Owns how a host and an MPI are named in tunings, what is done where there is none, and how a tuning of
collectives is told to the accelerate library. Nothing is measured here.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from corewise.data.copy_hosts import CPUINFO, processor_fields
from corewise.data.packing_tuning import knob_of, load_packing_tuning
from corewise.data.tuning import (
    Host,
    Tuning,
    TuningRow,
    bundled_tunings,
    load_tuning,
    tuning_directory,
)
from corewise.errors import InputError, shown

_NAMES = (("vendor_id", "cpu family", "model"), ("CPU implementer", "CPU part"))
"""What names a processor on x86 and on Arm."""
NO_CMA = "MPIR_CVAR_CH4_CMA_ENABLE=0"
"""Has MPICH not copy from process to process."""
BUILT_IN = "on"
"""Has the accelerate library go by the table that it was built with (``accelerating/selection.cpp``)."""


@dataclass(frozen=True)
class HostTable:
    """What is taken over: the value of the library's variable, and by which table, in a line."""

    knob: str
    told: str


def processor_name(cpuinfo: Path = CPUINFO) -> str:
    """Maker, family and model of the processor, e.g. ``AuthenticAMD-25-17``."""
    fields = processor_fields(cpuinfo)
    for names in _NAMES:
        if all(fields.get(name) for name in names):
            return "-".join(fields[name] for name in names)
    return platform.machine()


def processor_text(cpuinfo: Path = CPUINFO) -> str:
    """What the system calls the processor, for people; where it has no name for it, `processor_name`."""
    return processor_fields(cpuinfo).get("model name") or processor_name(cpuinfo)


def mpi_name(family: str, variables: Mapping[str, str]) -> str:
    """What tunings call an MPI: its family, of MPICH also whether it copies from process to process."""
    name, _, value = NO_CMA.partition("=")
    return "mpich-no-cma" if family == "mpich" and variables.get(name) == value else family


def host_packing(mpi: str, version: str, processor: str = "", folder: Path | None = None) -> HostTable:
    """What the shipped tunings say.

    Parameters
    ----------
    mpi : as `mpi_name` has it.
    version : of the MPI; a tuning of the same first number is its own.
    processor : empty: this host's.
    folder : where tunings are; None: the shipped ones.
    """
    processor = processor or processor_name()
    where = folder or tuning_directory()
    known = [(path, load_packing_tuning(path)) for path in sorted(where.glob("packing-*.csv"))]
    same = [(path, tuning) for path, tuning in known if _is_of(tuning.mpi, mpi, version)]
    for path, tuning in same:
        if tuning.processor == processor:
            return HostTable(tuning.knob(), f"packing by {path.name}, measured on {tuning.host}")
    none = f"packing: no table of {processor} with {mpi} {version}"
    if not same:
        return HostTable("off", f"{none}, and none of another processor: nothing is taken over")
    others = ", ".join(sorted({tuning.processor for _, tuning in same}))
    return HostTable(
        knob_of([tuning for _, tuning in same]),
        f"{none}: taken over is what clearly won on every processor measured ({others})",
    )


def host_collectives(mpi: str, version: str, processor: str = "", folder: Path | None = None) -> HostTable:
    """The same for the accelerate library."""
    processor = processor or processor_name()
    mine = [each for each in collectives_on(processor, folder) if _is_of(each.on.mpi, mpi, version)]
    if not mine:
        return HostTable(
            BUILT_IN, f"collectives: no table of {processor} with {mpi} {version}: by the built-in one"
        )
    names = ", ".join(each.path.name for each in mine)
    return HostTable(collectives_knob(mine), f"collectives by {names}")


@dataclass(frozen=True)
class HostCollectives:
    """A tuning of collectives that was measured on a host."""

    path: Path
    on: Host
    tuning: Tuning


def collectives_on(processor: str, folder: Path | None = None) -> list[HostCollectives]:
    """The shipped tunings that were measured on a processor, one for each MPI and number of cores."""
    known = [(path, load_tuning(path)) for path in bundled_tunings(folder)]
    return [
        HostCollectives(path, tuning.on, tuning)
        for path, tuning in known
        if tuning.on is not None and tuning.on.processor == processor
    ]


def known_collectives(mpi: str, processor: str = "", folder: Path | None = None) -> list[HostCollectives]:
    """The shipped tunings of all processors that were measured with an MPI, this host's first.

    Parameters
    ----------
    mpi : a profile's name of it; ``abi`` is MPICH's, and every MPI where it is empty.
    processor, folder : as for `host_packing`.
    """
    mine, name = processor or processor_name(), "mpich" if mpi == "abi" else mpi
    known = [(path, load_tuning(path)) for path in bundled_tunings(folder)]
    found = [
        HostCollectives(path, tuning.on, tuning)
        for path, tuning in known
        if tuning.on is not None and name in ("", tuning.on.mpi_name)
    ]
    return sorted(found, key=lambda each: (each.on.processor != mine, each.path.name))


def host_tuning_for(
    collective: str, ranks: int, mpi: str | None, processor: str = "", folder: Path | None = None
) -> Tuning:
    """The shipped tuning of this host that has rows for such a call.

    Parameters
    ----------
    collective, ranks : of the call.
    mpi : as `mpi_name` has it; None: the only one.
    processor, folder : as for `host_packing`.
    """
    processor = processor or processor_name()
    found = collectives_on(processor, folder)
    names = sorted({each.on.mpi_name for each in found})
    if not found:
        raise InputError(
            f"machine 'host' ({processor}) has no tuning, allowed: a tuning file "
            "(corewise bench collectives --tune FOLDER)"
        )
    if (mpi is None and len(names) > 1) or (mpi is not None and mpi not in names):
        raise InputError(f"--mpi: found {shown(mpi) if mpi else 'nothing'}, allowed: {', '.join(names)}")
    mine = [each.tuning for each in found if mpi in (None, each.on.mpi_name)]
    call = (collective, ranks)
    has_rows = (each for each in mine if any((row.collective, row.ranks) == call for row in each.rows))
    return next(has_rows, mine[0])


def load_host_tuning(path: Path) -> HostCollectives:
    """Reads a file of collectives that was measured on a host; an `InputError` where it is another one."""
    tuning = load_tuning(path)
    if tuning.on is None:
        raise InputError(f"{path}: 'port': found '{tuning.port}', allowed: shm")
    return HostCollectives(path, tuning.on, tuning)


def collectives_knob(tunings: Sequence[HostCollectives]) -> str:
    """The value of COREWISE_ACCELERATE that says the same; the built-in table is for other numbers of ranks.

    Parameters
    ----------
    tunings : of one processor and MPI; the first one's rows count where several have some for so many ranks.
    """
    parts: dict[str, str] = {}
    for each in tunings:
        for ranks in dict.fromkeys(row.ranks for row in each.tuning.rows):
            rows = [row for row in each.tuning.rows if row.ranks == ranks]
            parts.setdefault(f"{ranks}{'c' if ranks > each.on.cores else ''}", _part_text(rows))
    return "|".join([BUILT_IN, *(f"{ranks}>{text}" for ranks, text in parts.items())])


def _part_text(rows: Iterable[TuningRow]) -> str:
    order = sorted(rows, key=lambda row: (row.collective, row.bytes_from))
    return ";".join(
        f"{collective}={','.join(map(_row_text, group))}"
        for collective, group in groupby(order, key=lambda row: row.collective)
    )


def _row_text(row: TuningRow) -> str:
    return f"{'-' if row.bytes_to is None else row.bytes_to}:{row.won.knob}"


def _is_of(measured: str, mpi: str, version: str) -> bool:
    """Whether a tuning's MPI, a name and a version, is one of that name and main version."""
    name, _, number = measured.partition(" ")
    return name == mpi and number.split(".")[0] == version.split(".")[0]
