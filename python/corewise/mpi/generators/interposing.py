"""What the libraries behind the recording one share: a wrapper under both names of a procedure.

Owns how such a wrapper looks: ``PMPI_X`` has the body and ``MPI_X`` is its alias, so that a call under either
name meets it, a recording library's forwarded call among them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.mpi.generators.recording import Procedure

PUBLIC = '#define CW_PUBLIC __attribute__((visibility("default")))\n'
"""Stands before the wrappers."""


def arguments(procedure: Procedure) -> str:
    """The procedure's arguments by their names, in its order."""
    return ", ".join(name for _, name in procedure.parameters)


def same_call(procedure: Procedure) -> str:
    """The same call of what stands behind us (``CW_NEXT`` is a macro of the library's own)."""
    return f"CW_NEXT({procedure.name})({arguments(procedure)})"


def wrapper(procedure: Procedure, body: str) -> str:
    """A procedure under both of its names.

    Parameters
    ----------
    procedure : as the library's header declares it.
    body : its statements, each a line.

    Returns
    -------
    str
        C++ source.
    """
    name = procedure.name
    declared = ", ".join(declaration for declaration, _ in procedure.parameters) or "void"
    return (
        f"#undef {name}\nCW_PUBLIC {procedure.returns} P{name}({declared}) {{\n{body}}}\n"
        f'CW_PUBLIC {procedure.returns} {name}({declared}) __attribute__((alias("P{name}")));\n'
    )
