"""What the libraries behind the recording one share: a wrapper under both names of a procedure.

Owns how such a wrapper looks: ``PMPI_X`` has the body and ``MPI_X`` is its alias, so that a call under either
name meets it, a recording library's forwarded call among them. Owns, too, how the hand-written halves learn
what an MPI has.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.mpi.generators.recording import Procedure

_PUBLIC = '#define CW_PUBLIC __attribute__((visibility("default")))\n'

AVAILABLE = "available.hpp"
"""The header that tells the hand-written half what the MPI has."""
_ASKED_FOR = ("MPI_Type_get_envelope_c", "MPI_Request_get_status_all", "MPI_Session_init")


def available_macros(declared: list[Procedure]) -> str:
    """The text of `AVAILABLE`: a macro for each procedure that is asked for and there.

    Parameters
    ----------
    declared : the library's procedures.

    Returns
    -------
    str
        C++ source.
    """
    names = {procedure.name for procedure in declared}
    return "#pragma once\n" + "".join(f"#define CW_HAVE_{name} 1\n" for name in _ASKED_FOR if name in names)


def source(head: str, wrappers: str) -> str:
    """A file of wrappers.

    Parameters
    ----------
    head : what stands before them: a comment, includes, names.
    wrappers : their text.

    Returns
    -------
    str
        C++ source.
    """
    return f'{head}{_PUBLIC}extern "C" {{\n{wrappers}}}  // extern "C"\n'


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
