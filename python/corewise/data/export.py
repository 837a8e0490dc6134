"""Placements in the launchers' own words.

Owns the forms that bind ranks as asked: Open MPI 5's rank file and ordered pe-list, Open MPI 4's rank file,
MPICH/Hydra user binding, Slurm map_cpu. Each gives the complete launcher arguments. The numberings differ
and are kept apart here: Open MPI counts hwloc *logical cores*, Hydra and Slurm count *operating-system
processing units*.
Invariant: a machine whose units carry no such index (it is not a host that hwloc described) is refused,
never guessed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from corewise._core import Machine
from corewise.base.nodelists import NODE
from corewise.data.clusters import Cluster
from corewise.data.placement import Placement
from corewise.errors import InputError


@dataclass(frozen=True)
class Export:
    """A placement for one launcher.

    Attributes
    ----------
    form : str
        Which form, e.g. ``openmpi-rankfile``.
    program : str
        The launcher the arguments are for: ``mpiexec`` or ``srun``.
    arguments : tuple of str
        Everything that goes between the launcher and the user's program.
    text : str
        What to keep: the rank file's content, or the binding list.
    needs_file : bool
        True when `text` must lie in the file that `arguments` name.
    """

    form: str
    program: str
    arguments: tuple[str, ...]
    text: str
    needs_file: bool = False


RANK_FILE_FORMS = ("openmpi-rankfile", "openmpi4")
"""The forms that need a file."""


def is_rank_file(text: str) -> bool:
    """Whether a text is a rank file, by its first line (an empty one may become one)."""
    return not text.strip() or text.lstrip().startswith("rank ")


def is_host_file(text: str) -> bool:
    """Whether a text is a host file of ours: a name on each line."""
    return all(NODE.fullmatch(line) for line in text.splitlines())


def openmpi_rankfile(cores: Sequence[int], file: str) -> Export:
    """Open MPI 5: rank r on hwloc logical core ``cores[r]``, by a rank file that lies at `file`.

    A core may be named more than once; the arguments then allow oversubscription, which binds as written.
    """
    arguments = _openmpi_arguments(cores, f"rankfile:file={file}")
    return Export("openmpi-rankfile", "mpiexec", arguments, _rank_file(cores), needs_file=True)


def openmpi4(cores: Sequence[int], file: str) -> Export:
    """Open MPI 4 and older: the same rank file by the option of its launcher, which knows no pe-list.

    Its ``--cpu-set`` sorts the cores. A core may be named more than once.
    """
    arguments = ("-n", str(len(cores)), "--rankfile", file)
    return Export("openmpi4", "mpiexec", arguments, _rank_file(cores), needs_file=True)


def _rank_file(cores: Sequence[int]) -> str:
    return "".join(f"rank {rank}=localhost slot={core}\n" for rank, core in enumerate(cores))


def openmpi_pe_list(cores: Sequence[int]) -> Export:
    """Open MPI 5: rank r on hwloc logical core ``cores[r]``, on the command line alone (one node)."""
    text = f"pe-list={_comma(cores)}:ordered"
    return Export("openmpi-pelist", "mpiexec", _openmpi_arguments(cores, text), text)


def mpich_user(processing_units: Sequence[int]) -> Export:
    """MPICH (Hydra): rank r on the processing unit with OS index ``processing_units[r]``.

    Hydra leaves ranks beyond the list unbound without a word, so the number of ranks is part of the
    arguments.
    """
    text = f"user:{_comma(processing_units)}"
    return Export("mpich", "mpiexec", ("-n", str(len(processing_units)), "-bind-to", text), text)


def slurm_map_cpu(processing_units: Sequence[int]) -> Export:
    """Slurm: task r on the processing unit with OS index ``processing_units[r]`` of one node.

    Slurm honours a map only where job and step hold the whole node: the job step asks for it with
    ``--whole``, the job must have been allocated with ``--exclusive``. (``srun --exclusive`` outside a job
    means something else for the step and is refused together with ``--whole``.)
    """
    text = f"map_cpu:{_comma(processing_units)}"
    arguments = ["--nodes=1", "--whole", f"--ntasks={len(processing_units)}"]
    if _repeats(processing_units):
        arguments.append("--overcommit")
    return Export("slurm", "srun", (*arguments, f"--cpu-bind={text}"), text)


def _openmpi_arguments(cores: Sequence[int], mapping: str) -> tuple[str, ...]:
    count = ("-n", str(len(cores)))
    if not _repeats(cores):
        return (*count, "--map-by", mapping)
    # A bare --oversubscribe leaves every rank unbound; these two qualifiers together bind as written.
    return (*count, "--map-by", f"{mapping}:oversubscribe", "--bind-to", "core:overload-allowed")


def _comma(values: Sequence[int]) -> str:
    return ",".join(str(value) for value in values)


def _repeats(values: Sequence[int]) -> bool:
    return len(set(values)) < len(values)


_Writer = Callable[[Machine, Placement, str], Export]

FORMS: Mapping[str, _Writer] = MappingProxyType(
    {
        "openmpi-rankfile": lambda machine, placement, file: openmpi_rankfile(
            logical_cores(machine, placement, "openmpi-rankfile"), file
        ),
        "openmpi4": lambda machine, placement, file: openmpi4(
            logical_cores(machine, placement, "openmpi4"), file
        ),
        "openmpi-pelist": lambda machine, placement, file: openmpi_pe_list(
            logical_cores(machine, placement, "openmpi-pelist")
        ),
        "mpich": lambda machine, placement, file: mpich_user(os_indexes(machine, placement, "mpich")),
        "slurm": lambda machine, placement, file: slurm_map_cpu(os_indexes(machine, placement, "slurm")),
    }
)
"""Every form by the name that the command line takes."""


def export_placement(form: str, machine: Machine, placement: Placement, file: str = "rankfile") -> Export:
    """Writes a placement in one of `FORMS`.

    Parameters
    ----------
    form : str
        A key of `FORMS`.
    machine : Machine
        The machine that the placement's units belong to; its units need the index that the launcher counts
        in.
    placement : Placement
        Rank to unit.
    file : str
        Where a rank file will lie; only `RANK_FILE_FORMS` use it.
    """
    if form not in FORMS:
        raise InputError(f"export '{form}' is unknown, allowed: {', '.join(FORMS)}")
    return FORMS[form](machine, placement, file)


CLUSTER_FORMS = ("openmpi-rankfile", "slurm")
"""The forms that place over several nodes; both need a file."""


def export_cluster(form: str, cluster: Cluster, placement: Placement, file: str) -> Export:
    """Writes a placement over nodes and inside them.

    Parameters
    ----------
    form : str
        Of `CLUSTER_FORMS`.
    cluster : Cluster
        The nodes of the machine that the placement is for.
    placement : Placement
        Rank to unit.
    file : str
        Where the rank file (Open MPI) or the host file (Slurm) will lie.
    """
    if form not in CLUSTER_FORMS:
        allowed = " and ".join(CLUSTER_FORMS)
        raise InputError(f"export '{form}': found a machine of several nodes, allowed: {allowed}")
    seats = [cluster.seat(unit) for unit in placement.unit_of_rank]
    if form == "openmpi-rankfile":
        return _cluster_rankfile(seats, cluster.logical_cores, file)
    return _cluster_slurm(seats, cluster.os_indexes, file)


def _cluster_rankfile(seats: Sequence[tuple[str, int]], cores: Sequence[int], file: str) -> Export:
    """Open MPI 5: a rank file whose lines name the node; a slot is a logical core of the node."""
    _check_numbers("openmpi-rankfile", "hwloc logical core", cores)
    lines = [f"rank {rank}={node} slot={cores[local]}\n" for rank, (node, local) in enumerate(seats)]
    slots = Counter(node for node, _ in seats)
    hosts = ",".join(f"{node}:{count}" for node, count in slots.items())
    arguments = ("-n", str(len(seats)), "--host", hosts, "--map-by", f"rankfile:file={file}")
    return Export("openmpi-rankfile", "mpiexec", arguments, "".join(lines), needs_file=True)


def _cluster_slurm(seats: Sequence[tuple[str, int]], cpus: Sequence[int], file: str) -> Export:
    """Slurm: a host file with a line per task. Slurm has one list of CPUs for all nodes, in local order."""
    _check_numbers("slurm", "operating-system", cpus)
    lists: dict[str, list[int]] = {}
    for node, local in seats:
        lists.setdefault(node, []).append(cpus[local])
    longest = max(lists.values(), key=len)
    for node, own in lists.items():
        if own != longest[: len(own)]:
            found = f"CPUs {_comma(own)} on node {node} and {_comma(longest)} on another"
            raise InputError(f"export 'slurm': found {found}, allowed: one list (or openmpi-rankfile)")
    arguments = (
        f"SLURM_HOSTFILE={file}", "srun", "--distribution=arbitrary", f"--nodes={len(lists)}",
        f"--ntasks={len(seats)}", f"--cpu-bind=map_cpu:{_comma(longest)}",
    )  # fmt: skip
    return Export("slurm", "env", arguments, "".join(f"{node}\n" for node, _ in seats), needs_file=True)


def _check_numbers(form: str, kind: str, numbers: Sequence[int]) -> None:
    if min(numbers) < 0:
        raise InputError(
            f"export '{form}': the machine file's nodes have no {kind} index, allowed: nodes that were read "
            "from hwloc, or a text like pack:2 core:4 (corewise machines from-topology --node)"
        )


def logical_cores(machine: Machine, placement: Placement, form: str) -> list[int]:
    """The hwloc logical core of every rank."""
    units = [machine.units[unit] for unit in placement.unit_of_rank]
    return _indexes(machine, form, "hwloc logical core", [(unit.name, unit.logical_core) for unit in units])


def os_indexes(machine: Machine, placement: Placement, form: str) -> list[int]:
    """The OS index of every rank's processing unit."""
    units = [machine.units[unit] for unit in placement.unit_of_rank]
    return _indexes(machine, form, "operating-system", [(unit.name, unit.os_index) for unit in units])


def _indexes(machine: Machine, form: str, kind: str, found: Sequence[tuple[str, int]]) -> list[int]:
    for name, index in found:
        if index < 0:
            raise InputError(
                f"export '{form}': unit '{name}' of machine '{machine.name}' has no {kind} index, "
                "allowed: machines read from hwloc (host, or an hwloc .xml file)"
            )
    return [index for _, index in found]
