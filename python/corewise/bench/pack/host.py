"""The packing table of this host and MPI: kept, bundled, or measured once (`corewise run --packing`).

Owns where it is looked for and when it is measured. A table is for one processor, one MPI and one choice of
that MPI's own variables, because those change its ways of sending. Invariant: a table that was measured is
there as a whole or not at all; two runs at once both measure, and the later one's stays.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise.bench.pack.runs import Effort, two_processors
from corewise.bench.pack.study import tune
from corewise.data.copy_hosts import host_name
from corewise.data.packing_tuning import load_packing_tuning, save_packing_tuning
from corewise.data.tuning import tuning_directory
from corewise.errors import InputError, RunError
from corewise.mpi.build import cache_root
from corewise.mpi.find import MpiLibrary

FALLBACK = "auto"
"""COREWISE_PACKING where there is no table: engines are timed in each process."""
ONCE = Effort(4, 0.2, 1, True, limit_s=30)
"""The launches alone take two minutes, more where cores move and rounds are done again."""
_VARIABLES = ("MPIR_CVAR_", "MPIR_PARAM_", "OMPI_MCA_", "PRTE_MCA_", "UCX_", "FI_")


@dataclass(frozen=True)
class HostTable:
    """What `host_table` found.

    Attributes
    ----------
    knob : str
        The value of COREWISE_PACKING.
    source : str
        The file that says so; empty where there is none.
    """

    knob: str
    source: str


def kept_table(mpi: MpiLibrary, host: str, variables: Mapping[str, str] | None = None) -> Path:
    """Where the table of a processor and an MPI is kept once it is measured.

    Parameters
    ----------
    mpi : the MPI.
    host : the processor's name.
    variables : the environment; those that steer the MPI are part of the name. None: this process's.
    """
    chosen = os.environ if variables is None else variables
    own = _of_the_mpi(chosen)
    digest = hashlib.sha256("\0".join([host, str(mpi.library), *own]).encode()).hexdigest()[:12]
    words = re.sub(r"[^A-Za-z0-9.]+", "-", f"{host}-{mpi.name}-{mpi.version}").strip("-").lower()
    return cache_root() / "packing" / f"{words}-{digest}.toml"


def _of_the_mpi(variables: Mapping[str, str]) -> list[str]:
    """Those that steer the MPI, ``NAME=VALUE``."""
    return sorted(f"{name}={value}" for name, value in variables.items() if name.startswith(_VARIABLES))


def bundled_tables() -> Iterator[Path]:
    """Tables that come with corewise."""
    yield from sorted(tuning_directory().glob("packing-*.toml"))


def host_table(
    mpi: MpiLibrary, say: Callable[[str], None], variables: Mapping[str, str] | None = None
) -> HostTable:
    """The table of this host with an MPI: the kept one, a bundled one, or one measured now.

    Where none can be measured (one processor, a launcher that refuses), `FALLBACK`.

    Parameters
    ----------
    mpi : the MPI.
    say : told, in a sentence, that it measures, and that it could not.
    variables : what the ranks' environment gets besides this process's.
    """
    host = host_name()
    chosen = {**os.environ, **(variables or {})}
    kept = kept_table(mpi, host, chosen)
    for path in (kept, *(() if _of_the_mpi(chosen) else bundled_tables())):
        if found := _table_of(path, host, mpi):
            return found
    if two_processors() is None:
        say(
            f"one processor: what packing pays with {mpi.name} {mpi.version} is timed in each process instead"
        )
        return HostTable(FALLBACK, "")
    library = f"{mpi.name} {mpi.version}"
    say(f"measuring what packing pays on this host with {library}, once: one to four minutes")
    try:
        measured = tune(
            mpi=str(mpi.launcher), command="corewise run --packing", variables=variables, effort=ONCE
        )
    except (InputError, RunError, OSError) as error:
        say(f"it could not be measured, and is timed in each process instead: {_first_line(error)}")
        return HostTable(FALLBACK, "")
    # A launcher may serve two libraries, MPICH and the standard ABI's: the table is the program's.
    tuning = dataclasses.replace(measured, mpi=f"{mpi.name} {mpi.version}")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        save_packing_tuning(tuning, kept)
    except (InputError, RunError, OSError) as error:
        say(f"it could not be kept, and is measured again next time: {_first_line(error)}")
        return HostTable(tuning.knob(), "")
    return HostTable(tuning.knob(), str(kept))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _table_of(path: Path, host: str, mpi: MpiLibrary) -> HostTable | None:
    """The table in a file, where it is one of this host and MPI."""
    try:
        tuning = load_packing_tuning(path) if path.is_file() else None
    except InputError:  # of an older corewise, or damaged: it is measured again
        return None
    if tuning is None or (tuning.host, tuning.mpi) != (host, f"{mpi.name} {mpi.version}"):
        return None
    return HostTable(tuning.knob(), str(path))
