"""Reordering ranks without a relaunch: what the reorder library is told, what it answers, advice in code.

The launcher puts each rank somewhere; the library that `corewise.mpi.build.build_reorder` makes reads in
MPI_Init where that is and gives the program a world whose rank r sits where a placement wants rank r (paper
000, section 3: the PPE sees where its threads landed and hands out thread numbers). This module owns the file
that the library reads (``preload/reordering/plan.hpp`` says how), the answer that it leaves in the profile,
and the text for programs that reorder themselves with MPI_Comm_split.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from corewise._core import Machine
from corewise.base.documents import read_json
from corewise.base.files import write_text
from corewise.errors import InputError

KNOB = "COREWISE_REORDER"
"""The library's variable: the prepared file, ``reverse``, or ``order:2,0,1`` (launch ranks by world rank)."""

PLAN = "reorder.plan"
"""Name of the prepared file in a profile."""

ANSWER = "reorder.json"
"""What the library leaves in a profile: whether the world was reordered, or why not."""

_MAGIC = "corewise-reorder 1"


class Placed(Protocol):
    """What is needed of a placement (`corewise.data.placement.Placement`): rank -> unit."""

    @property
    def unit_of_rank(self) -> tuple[int, ...]:
        """Unit number of every rank."""


@dataclass(frozen=True)
class Answer:
    """What became of a reordering.

    Attributes
    ----------
    reordered : whether the program had a world of another order than the launcher's.
    reason : why not, or why nothing had to move; empty where it was reordered.
    launch_ranks : for every rank of the world the launcher's number of it; empty where nothing was decided.
    """

    reordered: bool
    reason: str
    launch_ranks: tuple[int, ...]


@dataclass(frozen=True)
class Wanted:
    """A reordering that is asked for: a placement, and the machine that its units belong to."""

    placement: Placed
    machine: Machine


def write_plan(placement: Placed, machine: Machine, file: Path) -> None:
    """Writes what the reorder library reads.

    Parameters
    ----------
    placement : rank -> unit of one node; where ranks run on several nodes, of each of them.
    machine : the machine it places on; its units need operating-system indexes.
    file : where to write.

    Raises
    ------
    InputError
        The machine's units have no operating-system index: it is not this host.
    RunError
        The file cannot be written.
    """
    check_machine(machine)
    rows = [
        _MAGIC,
        f"{len(placement.unit_of_rank)} {len(machine.units)}",
        _words([unit.os_index for unit in machine.units]),
        _words(placement.unit_of_rank),
        *(_words([int(hops) for hops in row]) for row in machine.hops()),
    ]
    write_text(file, "\n".join(rows) + "\n")


def check_machine(machine: Machine) -> None:
    """Refuses a machine whose units cannot be told from a CPU number.

    Raises
    ------
    InputError
        A unit without operating-system index.
    """
    unknown = [unit.name for unit in machine.units if unit.os_index < 0]
    if unknown:
        raise InputError(
            f"--reorder: unit '{unknown[0]}' of machine '{machine.name}' has no operating-system index, "
            "allowed: a placement on this host (corewise place --machine host)"
        )


def launch_order(placement: Placed) -> tuple[int, ...]:
    """A placement's units in the machine's order: where a launcher that binds core by core puts ranks."""
    return tuple(sorted(placement.unit_of_rank))


def read_answer(profile: Path) -> Answer:
    """What the library left in a profile.

    Parameters
    ----------
    profile : the profile directory.

    Returns
    -------
    Answer
        Not reordered, where there is none: nothing was decided.
    """
    try:
        found = read_json(profile / ANSWER)
        launch_ranks = found.wholes("launch_ranks", 0, may_be_empty=True)
        return Answer(found.flag("reordered"), found.text("reason", ""), launch_ranks)
    except InputError:
        return Answer(False, "no rank 0 came out of MPI_Init with the reorder library", ())


# --- programs that reorder themselves -------------------------------------------------------------------


def split_advice(placement: Placed, language: str, machine: Machine | None = None) -> str:
    """Code with which a program gives itself the world that a placement asks for.

    Parameters
    ----------
    placement : rank -> unit.
    language : a key of `LANGUAGES`: "c", "fortran" or "python".
    machine : the placement's machine. Where its units have operating-system indexes the code asks where it
        runs; else, and with None, it trusts that launch rank i was bound to the i-th of the placement's units
        in the machine's order.

    Returns
    -------
    str
        Lines for the place right after MPI_Init; `corewise_world` stands for MPI_COMM_WORLD from there on.

    Raises
    ------
    InputError
        An unknown language.
    """
    if language not in LANGUAGES:
        raise InputError(f"language '{language}' is unknown, allowed: {', '.join(LANGUAGES)}")
    cpus = [] if machine is None else [machine.units[unit].os_index for unit in placement.unit_of_rank]
    if cpus and min(cpus) >= 0:
        table = [-1] * (max(cpus) + 1)
        for rank, cpu in enumerate(cpus):
            table[cpu] = rank
        return LANGUAGES[language](table, True)
    order = launch_order(placement)
    return LANGUAGES[language]([placement.unit_of_rank.index(unit) for unit in order], False)


def _c_code(keys: Sequence[int], by_cpu: bool) -> str:
    return _C_BY_CPU.format(keys=_comma(keys), n=len(keys)) if by_cpu else _C.format(keys=_comma(keys))


def _fortran_code(keys: Sequence[int], by_cpu: bool) -> str:
    wrapped = _comma(keys).replace(", ", ", &\n    ") if len(keys) > 16 else _comma(keys)
    return (_FORTRAN_BY_CPU if by_cpu else _FORTRAN).format(keys=wrapped, last=len(keys) - 1)


def _python_code(keys: Sequence[int], by_cpu: bool) -> str:
    if not by_cpu:
        return _PYTHON.format(keys=f"[{_comma(keys)}]")
    table = ", ".join(f"{cpu}: {key}" for cpu, key in enumerate(keys) if key >= 0)
    return _PYTHON_BY_CPU.format(keys=f"{{{table}}}")


def _words(values: Sequence[int]) -> str:
    return " ".join(str(value) for value in values)


def _comma(values: Sequence[int]) -> str:
    return ", ".join(str(value) for value in values)


_C = """\
/* Launch rank i is bound to the i-th of the placement's units (mpiexec --bind-to core). */
static const int corewise_key[] = {{{keys}}};
int corewise_rank;
MPI_Comm corewise_world;
MPI_Comm_rank(MPI_COMM_WORLD, &corewise_rank);
MPI_Comm_split(MPI_COMM_WORLD, 0, corewise_key[corewise_rank], &corewise_world);
"""
_C_BY_CPU = """\
#define _GNU_SOURCE /* before every #include */
#include <sched.h>
/* The new rank of the process on each CPU; bind every rank to one core (mpiexec --bind-to core). */
static const int corewise_key[{n}] = {{{keys}}};
int corewise_rank, corewise_cpu = sched_getcpu();
MPI_Comm corewise_world;
MPI_Comm_rank(MPI_COMM_WORLD, &corewise_rank);
if (corewise_cpu >= 0 && corewise_cpu < {n} && corewise_key[corewise_cpu] >= 0)
  corewise_rank = corewise_key[corewise_cpu];
MPI_Comm_split(MPI_COMM_WORLD, 0, corewise_rank, &corewise_world);
"""
_FORTRAN = """\
! Launch rank i is bound to the i-th of the placement's units (mpiexec --bind-to core).
! With mpi_f08, corewise_world is a type(MPI_Comm).
integer, parameter :: corewise_key(0:{last}) = [ &
    {keys}]
integer :: corewise_rank, corewise_world, corewise_error
call MPI_Comm_rank(MPI_COMM_WORLD, corewise_rank, corewise_error)
call MPI_Comm_split(MPI_COMM_WORLD, 0, corewise_key(corewise_rank), corewise_world, corewise_error)
"""
_FORTRAN_BY_CPU = """\
! The new rank of the process on each CPU; bind every rank to one core (mpiexec --bind-to core).
! With mpi_f08, corewise_world is a type(MPI_Comm).
interface
  function sched_getcpu() bind(c) result(cpu)
    use iso_c_binding, only: c_int
    integer(c_int) :: cpu
  end function
end interface
integer, parameter :: corewise_key(0:{last}) = [ &
    {keys}]
integer :: corewise_rank, corewise_cpu, corewise_world, corewise_error
call MPI_Comm_rank(MPI_COMM_WORLD, corewise_rank, corewise_error)
corewise_cpu = sched_getcpu()
if (corewise_cpu >= 0 .and. corewise_cpu <= {last}) then
  if (corewise_key(corewise_cpu) >= 0) corewise_rank = corewise_key(corewise_cpu)
end if
call MPI_Comm_split(MPI_COMM_WORLD, 0, corewise_rank, corewise_world, corewise_error)
"""
_PYTHON = """\
# Launch rank i is bound to the i-th of the placement's units (mpiexec --bind-to core).
from mpi4py import MPI
corewise_key = {keys}
corewise_world = MPI.COMM_WORLD.Split(0, corewise_key[MPI.COMM_WORLD.Get_rank()])
"""
_PYTHON_BY_CPU = """\
# The new rank of the process on each CPU; bind every rank to one core (mpiexec --bind-to core).
import os
from mpi4py import MPI
corewise_key = {keys}
corewise_cpu = min(os.sched_getaffinity(0))
corewise_world = MPI.COMM_WORLD.Split(0, corewise_key.get(corewise_cpu, MPI.COMM_WORLD.Get_rank()))
"""

LANGUAGES: MappingProxyType[str, Callable[[Sequence[int], bool], str]] = MappingProxyType(
    {"c": _c_code, "fortran": _fortran_code, "python": _python_code}
)
"""What `split_advice` can write."""
