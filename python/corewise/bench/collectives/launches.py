"""How `corewise bench collectives` launches: bound to cores, and with nothing that slows an MPI down.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from corewise.bench import mpis
from corewise.mpi import launch
from corewise.mpi.find import MpiLibrary

_UNSLOWED = {"openmpi": {"OMPI_MCA_btl": "^ofi"}, "mpich": {}}
"""Nothing that slows an MPI down."""
_BOUND = {"openmpi": ("--bind-to", "core"), "mpich": ("-bind-to", "core")}
_LOOSE = {
    "openmpi": ("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"),
    "mpich": ("-bind-to", "none"),
}
"""With more ranks than cores."""


def launched(
    mpi: MpiLibrary,
    program: Path,
    arguments: Sequence[str],
    ranks: int,
    variables: Mapping[str, str] | None = None,
) -> str:
    """What the program prints; ``variables`` are the ranks' alone, not the launcher's."""
    crowded = ranks > len(os.sched_getaffinity(0))
    binding = ("-n", str(ranks), *(_LOOSE if crowded else _BOUND)[mpi.family])
    plan = mpis.planned(mpi, program, arguments, ranks, binding)
    environment = {**_UNSLOWED[mpi.family], **launch.environment(plan)}
    return mpis.output_of(plan.with_environment(variables or {}), environment)
