"""What commands share that hand work to others: ``--executor``, ``--resume``, and where work is kept.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base.files import check_target
from corewise.data.machines import MachineText
from corewise.errors import InputError
from corewise.sim.sweeps import KINDS, beside

EXECUTOR = typer.Option(
    None, "--executor", metavar="WHO", help=f"Who simulates: {KINDS}; without it, all cores of this host."
)
READERS = typer.Option(
    None,
    "--executor",
    metavar="WHO",
    help=f"Who reads the records: {KINDS}; without it, one core of this host.",
)
MAKERS = typer.Option(
    None,
    "--executor",
    metavar="WHO",
    help=f"Who makes a file: {KINDS}; without it, this process. Threads gain for parquet and arrow only.",
)
RESUME = typer.Option(
    None,
    "--resume",
    metavar="FILE",
    help="Keep what is done there until all is, and go on from it; without it, beside the output, if any.",
)


def kept(output: Path | None, named: Path | None) -> Path | None:
    """Where a sweep keeps what is done, checked before the work."""
    path = beside(output, named)
    if path is not None:
        check_target(path)
    return path


def check_sent(executor: str | None, machine: MachineText) -> None:
    """Refuses a machine that other hosts do not know."""
    if machine.form == "hwloc" and executor is not None and executor.startswith(("dask", "mpi4py")):
        raise InputError(
            f"--executor {executor}: found with machine '{machine.source}', which is read by hwloc, "
            "allowed: a machine file, which is sent to the workers"
        )
