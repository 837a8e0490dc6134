"""Which packing tuning is this host's: the shipped one of its processor and MPI, or what won on all of them.

Owns how a host and an MPI are named in tunings. Nothing is measured here.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise.data.copy_hosts import CPUINFO, processor_fields
from corewise.data.packing_tuning import PackingTuning, knob_of, load_packing_tuning
from corewise.data.tuning import tuning_directory

_NAMES = (("vendor_id", "cpu family", "model"), ("CPU implementer", "CPU part"))
"""What names a processor on x86 and on Arm."""
_NO_CMA = ("MPIR_CVAR_CH4_CMA_ENABLE", "0")


@dataclass(frozen=True)
class HostPacking:
    """What is taken over: the value of COREWISE_PACKING, and by which table, in a line."""

    knob: str
    told: str


def processor_name(cpuinfo: Path = CPUINFO) -> str:
    """Maker, family and model of the processor, e.g. ``AuthenticAMD-25-17``."""
    fields = processor_fields(cpuinfo)
    for names in _NAMES:
        if all(fields.get(name) for name in names):
            return "-".join(fields[name] for name in names)
    return platform.machine()


def mpi_name(family: str, variables: Mapping[str, str]) -> str:
    """What tunings call an MPI: its family, of MPICH also whether it copies from process to process."""
    name, value = _NO_CMA
    return "mpich-no-cma" if family == "mpich" and variables.get(name) == value else family


def host_packing(mpi: str, version: str, processor: str = "", folder: Path | None = None) -> HostPacking:
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
    same = [(path, tuning) for path, tuning in known if _is_of(tuning, mpi, version)]
    for path, tuning in same:
        if tuning.processor == processor:
            return HostPacking(tuning.knob(), f"packing by {path.name}, measured on {tuning.host}")
    none = f"packing: no table of {processor} with {mpi} {version}"
    if not same:
        return HostPacking("off", f"{none}, and none of another processor: nothing is taken over")
    others = ", ".join(sorted({tuning.processor for _, tuning in same}))
    return HostPacking(
        knob_of([tuning for _, tuning in same]),
        f"{none}: taken over is what clearly won on every processor measured ({others})",
    )


def _is_of(tuning: PackingTuning, mpi: str, version: str) -> bool:
    name, _, measured = tuning.mpi.partition(" ")
    return name == mpi and measured.split(".")[0] == version.split(".")[0]
