"""The MPI's own algorithms of collectives, and the variables by which a user chooses one.

Owns the names and numbers of Open MPI's tuned component and of MPICH, and the algorithm that the usual model
(time per message and time per byte) prefers for short and for long calls. Nothing is built and nothing
loaded: whether an MPI has a variable is read from its files.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise.mpi.find import MpiLibrary

FEWEST_RANKS = 3
"""Between two ranks every algorithm is one exchange, or two."""
_KIB = 1024
_TUNED = "OMPI_MCA_coll_tuned_"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of a collective under the names of both families.

    Attributes
    ----------
    name : str
        The usual one.
    openmpi : str
        Its number in Open MPI's tuned component.
    mpich : str
        Its name in MPICH; empty: MPICH has no other.
    """

    name: str
    openmpi: str
    mpich: str


@dataclass(frozen=True)
class _Collective:
    """Which algorithm the model prefers: up to so many bytes a call, and over it."""

    limit_bytes: int
    short: Algorithm
    long: Algorithm


_DISSEMINATION = Algorithm("dissemination", "4", "")
_COLLECTIVES = {
    "allgather": _Collective(64 * _KIB, Algorithm("Bruck", "2", "brucks"), Algorithm("ring", "4", "ring")),
    "allreduce": _Collective(
        8 * _KIB,
        Algorithm("recursive doubling", "3", "recursive_doubling"),
        Algorithm("Rabenseifner", "6", "reduce_scatter_allgather"),
    ),
    "alltoall": _Collective(
        8 * _KIB, Algorithm("Bruck", "3", "brucks"), Algorithm("pairwise exchange", "2", "pairwise")
    ),
    "barrier": _Collective(0, _DISSEMINATION, _DISSEMINATION),
    "bcast": _Collective(
        16 * _KIB,
        Algorithm("binomial tree", "6", "binomial"),
        Algorithm("scatter and ring allgather", "9", "scatter_ring_allgather"),
    ),
    "reduce": _Collective(
        8 * _KIB,
        Algorithm("binomial tree", "5", "binomial"),
        Algorithm("Rabenseifner", "7", "reduce_scatter_gather"),
    ),
}


@dataclass(frozen=True)
class Choice:
    """An algorithm, and how an MPI is told to use it.

    Attributes
    ----------
    algorithm : str
        Its usual name.
    variables : mapping of str to str
        Of the ranks' environment.
    """

    algorithm: str
    variables: Mapping[str, str]


def choice(mpi: MpiLibrary, collective: str, size_bytes: int) -> Choice | None:
    """What the model prefers for calls of a size.

    Parameters
    ----------
    mpi : MpiLibrary
    collective : str
        As procedures are called, without prefix: allreduce, bcast, ...
    size_bytes : int
        Of a call.

    Returns
    -------
    Choice or None
        None where the collective is not known here, or this MPI has no variable for it.
    """
    known = _COLLECTIVES.get(collective)
    if known is None:
        return None
    algorithm = known.short if size_bytes <= known.limit_bytes else known.long
    if mpi.family == "openmpi":
        own, value = f"{collective}_algorithm", algorithm.openmpi
        variables = {f"{_TUNED}use_dynamic_rules": "1", f"{_TUNED}{own}": value}
    else:
        own, value = f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM", algorithm.mpich
        variables = {own: value}
    if not value or not any(_mentions(each, own) for each in _files(mpi)):
        return None
    return Choice(algorithm.name, variables)


def _files(mpi: MpiLibrary) -> Iterator[Path]:
    """Where an MPI's collectives are: its library, for which a linker script may stand, or a component."""
    folder = mpi.library.resolve().parent
    yield from mpi.library.parent.glob(f"{mpi.library.name}*")
    yield from folder.glob("lib*mpi*.so.*")
    for parent in (folder, folder.parent):
        yield from parent.glob("openmpi*/mca_coll_tuned.so")
        yield from parent.glob("openmpi/lib/openmpi*/mca_coll_tuned.so")


def _mentions(library: Path, word: str) -> bool:
    """Whether a file has a word as the end of a C string: linkers merge strings with equal ends."""
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(word.encode() + b"\0") >= 0
    except (OSError, ValueError):  # gone, or empty
        return False
