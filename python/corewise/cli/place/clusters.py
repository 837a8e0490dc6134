"""Machines of several nodes in `corewise place`: their nodes are those of the job; exports name them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from pathlib import Path

from corewise.base import late
from corewise.base.files import check_target, read_text
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine
    from corewise.data.clusters import Cluster, load_cluster
    from corewise.data.export import Export, export_cluster, is_host_file, is_rank_file
    from corewise.data.machines import load_machine
    from corewise.data.placement import Placement
    from corewise.mpi.allocation import read_allocation


def load(reference: str) -> tuple[Machine, Cluster | None]:
    """A machine, and the nodes that its file names; None where it names none."""
    machine = load_machine(reference)
    cluster = load_cluster(reference, len(machine.units))
    if cluster is not None:
        _check_in_job(reference, cluster)
    return machine, cluster


def _check_in_job(reference: str, cluster: Cluster) -> None:
    """Refuses nodes outside of the job."""
    allocation = read_allocation(os.environ)
    if allocation is None:
        return
    given = {node.name for node in allocation.nodes}
    foreign = [name for name in cluster.nodes if name not in given]
    if foreign:
        raise InputError(
            f"{reference}: found node {foreign[0]}, which is not in the allocation ({allocation.source}), "
            "allowed: a machine of its nodes (corewise machines from-topology in the job)"
        )


def export(form: str, cluster: Cluster, placement: Placement, file: Path) -> Export:
    """The launcher's line, whose file does not overwrite anything else."""
    made = export_cluster(form, cluster, placement, str(file))
    check_target(file)
    if file.is_file() and not (is_rank_file if form == "openmpi-rankfile" else is_host_file)(read_text(file)):
        raise InputError(f"{file}: found another file, allowed: a new file, or one that this export wrote")
    return made
