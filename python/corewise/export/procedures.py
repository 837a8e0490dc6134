"""What kind of thing an MPI procedure is, by its name, in OTF2's words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_BLOCKING_SENDS = frozenset(("send", "bsend", "ssend", "rsend", "sendrecv", "sendrecv_replace"))

_COLLECTIVES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "barrier": ("BARRIER", "BARRIER"),
        "bcast": ("BCAST", "COLL_ONE2ALL"),
        "scatter": ("SCATTER", "COLL_ONE2ALL"),
        "scatterv": ("SCATTERV", "COLL_ONE2ALL"),
        "gather": ("GATHER", "COLL_ALL2ONE"),
        "gatherv": ("GATHERV", "COLL_ALL2ONE"),
        "reduce": ("REDUCE", "COLL_ALL2ONE"),
        "allgather": ("ALLGATHER", "COLL_ALL2ALL"),
        "allgatherv": ("ALLGATHERV", "COLL_ALL2ALL"),
        "alltoall": ("ALLTOALL", "COLL_ALL2ALL"),
        "alltoallv": ("ALLTOALLV", "COLL_ALL2ALL"),
        "alltoallw": ("ALLTOALLW", "COLL_ALL2ALL"),
        "allreduce": ("ALLREDUCE", "COLL_ALL2ALL"),
        "reduce_scatter": ("REDUCE_SCATTER", "COLL_ALL2ALL"),
        "reduce_scatter_block": ("REDUCE_SCATTER_BLOCK", "COLL_ALL2ALL"),
        "scan": ("SCAN", "COLL_OTHER"),
        "exscan": ("EXSCAN", "COLL_OTHER"),
        "neighbor_allgather": ("ALLGATHER", "COLL_OTHER"),
        "neighbor_allgatherv": ("ALLGATHERV", "COLL_OTHER"),
        "neighbor_alltoall": ("ALLTOALL", "COLL_OTHER"),
        "neighbor_alltoallv": ("ALLTOALLV", "COLL_OTHER"),
        "neighbor_alltoallw": ("ALLTOALLW", "COLL_OTHER"),
    }
)
"""OTF2's operation and role of every collective; neighbours' as those that they generalise."""

_MESSAGES = ("send", "recv", "probe", "wait", "test", "start", "request", "cancel", "pready", "parrived")
_ONE_SIDED = ("put", "get", "rput", "rget", "accumulate", "raccumulate", "get_accumulate", "rget_accumulate")
_ONE_SIDED_TOO = ("fetch_and_op", "compare_and_swap")


def base_name(procedure: str) -> str:
    """``MPI_Iallreduce_c`` and its Fortran spellings as ``iallreduce``: lower case, undecorated."""
    name = procedure.lower().rstrip("_").removeprefix("mpi_")
    for suffix in ("_f08ts", "_f08", "_c", "_init"):
        name = name.removesuffix(suffix)
    return name


def _blocking(name: str) -> str:
    """The name of the blocking form."""
    return name[1:] if name[:1] == "i" and name[1:] in _COLLECTIVES else name


def is_blocking_send(name: str) -> bool:
    """Whether a send by this procedure has no request; `name` as from `base_name`."""
    return name in _BLOCKING_SENDS


def collective_operation(name: str) -> str | None:
    """OTF2's CollectiveOp; None for what is none."""
    found = _COLLECTIVES.get(_blocking(name))
    return found[0] if found is not None else None


def receives_only(name: str, is_root: bool) -> bool:
    """Whether the bytes of a collective's record are what the rank received (docs/formats/trace.md)."""
    blocking = _blocking(name)
    if blocking == "bcast":
        return not is_root
    return blocking in ("scatter", "scatterv", "reduce_scatter", "reduce_scatter_block")


def region_role(name: str) -> str:
    """OTF2's RegionRole of a procedure."""
    collective = _COLLECTIVES.get(_blocking(name))
    if collective is not None:
        return collective[1]
    if name in _ONE_SIDED or name in _ONE_SIDED_TOO or name.startswith("win_"):
        return "RMA"
    if name.startswith("file_"):
        return "FILE_IO"
    if any(word in name for word in _MESSAGES):
        return "POINT2POINT"
    return "FUNCTION"
