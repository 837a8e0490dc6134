"""Generates the preload's C wrappers, one for every MPI procedure, from the standard's machine-readable API.

What a message, collective or one-sided procedure records stands in the table of
``src/profile/procedures.cpp``, which readers of traces use too: a statement with a method of ``Event``
(``events.hpp``). Here a statement becomes a wrapper. Files, windows and new communicators, which no reader
tells apart, have their recipes here. A procedure without a recipe is forwarded and recorded as a plain call;
those in ``BY_HAND`` are written in ``lifetime.cpp``. Only procedures that the library at hand declares with
a ``PMPI_`` twin are wrapped, so one generator serves every MPI.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import pympistandard

from corewise._core import procedure_facts, recorded_procedures

BY_HAND = frozenset(
    {
        "MPI_Init",
        "MPI_Init_thread",
        "MPI_Finalize",
        "MPI_Abort",
        "MPI_Pcontrol",
        "MPI_Session_init",
        "MPI_Session_finalize",
        "MPI_Wait",
        "MPI_Test",
        "MPI_Waitany",
        "MPI_Testany",
        "MPI_Waitall",
        "MPI_Testall",
        "MPI_Waitsome",
        "MPI_Testsome",
        "MPI_Request_get_status",
        "MPI_Request_get_status_any",
        "MPI_Request_get_status_all",
        "MPI_Request_get_status_some",
        "MPI_Request_free",
        "MPI_Cancel",
        "MPI_Start",
        "MPI_Startall",
    }
)


@dataclass(frozen=True)
class Recipe:
    """How a procedure is described.

    Parameters
    ----------
    note : statement that describes the successful call to ``event``.
    before : statement that runs before the call.
    replace : argument name -> expression that is forwarded instead.
    enter : statement that says to ``open`` what a call that may wait is about, when it is entered.
    """

    note: str
    before: str = ""
    replace: tuple[tuple[str, str], ...] = ()
    enter: str = ""


# Of MPI_Alltoallw one array of datatypes is described, of its neighbour form the only one.
_ARRAYS = {
    " recvtypes": "pin.hold_each(sendbuf == MPI_IN_PLACE ? recvtypes : sendtypes);",
    "(sendcounts, sendtypes": "pin.hold_each(sendtypes, comm);",
}
_OWN = "OwnStatus own(status);"
_TAKEN = "const TakenMessage taken(message);"
# End on no rank before all have begun: where clocks may be compared (preload/recording/clocks.hpp).
_SYNCHRONISING = {
    "MPI_Barrier": "const ClockComparison clocks(comm, 1);",
    "MPI_Allreduce": "const ClockComparison clocks(comm, count);",
}


_NOTHING = {
    "request": "MPI_REQUEST_NULL",
    "message": "MPI_MESSAGE_NO_PROC",
    "flag": "0",
    "win": "MPI_WIN_NULL",
    "datatype": "MPI_DATATYPE_NULL",
    "newtype": "MPI_DATATYPE_NULL",
}
"""What stands for a result where the program has no room for it; else it is a communicator."""


def _read_safely(note: str) -> str:
    """A result is looked at only where there is one (``value_at`` in preload/recording/events.hpp)."""
    return re.sub(
        r"\*(\w+)", lambda found: f"value_at({found[1]}, {_NOTHING.get(found[1], 'MPI_COMM_NULL')})", note
    )


def _recipe(name: str, note: str) -> Recipe:
    """The recipe for a statement of the table: what it names must exist before the call."""
    note = _read_safely(note)
    before = [_SYNCHRONISING[name]] if name in _SYNCHRONISING else []
    before += [_TAKEN] if "taken" in note else []
    before += [statement for array, statement in _ARRAYS.items() if array in note]
    before += [_OWN] if "own." in note else []
    replaced = (("status", "own.get()"),) if "own." in note else ()
    return Recipe(note, " ".join(before), replaced, _entered(name, note))


_SEND = "open.send(dest, tag, count, datatype, comm);"
_EXCHANGE = (
    "open.exchange(dest, sendtag, {send}, source, recvtag, {receive}, comm);",
    {"": ("sendcount, sendtype", "recvcount, recvtype"), "_replace": ("count, datatype", "count, datatype")},
)
_ENTERED = {
    **{f"MPI_{mode}end": _SEND for mode in ("S", "Bs", "Ss", "Rs")},
    "MPI_Recv": "open.receive(source, tag, count, datatype, comm);",
    "MPI_Probe": "open.probe(source, tag, comm);",
    "MPI_Mprobe": "open.probe(source, tag, comm);",
    **{
        f"MPI_Sendrecv{form}": _EXCHANGE[0].format(send=send, receive=receive)
        for form, (send, receive) in _EXCHANGE[1].items()
    },
}
"""What a point-to-point call that may wait is about."""


_TYPES = ("datatype", "sendtype", "recvtype", "origin_datatype", "result_datatype")


def _entered(name: str, note: str) -> str:
    """Of a collective that blocks: the communicator, and the root where it has one."""
    if name in _ENTERED or procedure_facts(name).sort != "collective":
        return _ENTERED.get(name, "")
    if name.startswith("MPI_I") or name.endswith("_init"):
        return ""
    root = "root" if re.search(r"\broot\b", note) else "MPI_PROC_NULL"
    return f"open.collective(comm, {root});"


def _windows() -> dict[str, Recipe]:
    ways = ("create", "create_dynamic", "allocate", "allocate_shared")
    return {f"MPI_Win_{how}": Recipe(_read_safely("event.new_window(*win, comm);")) for how in ways}


def _files() -> dict[str, Recipe]:
    table: dict[str, Recipe] = {}
    for verb in ("read", "write"):
        role = f"trace::Role::file_{verb}"
        asked = Recipe(f"event.file_access({role}, count, datatype);")
        for how in ("", "_at", "_all", "_at_all", "_shared", "_ordered"):
            name = f"MPI_File_{verb}{how}"
            table[name] = _recipe(name, f"event.file_access({role}, own.value());")
            if how != "_ordered":
                table[f"MPI_File_i{verb}{how}"] = asked
            if how in ("_all", "_at_all", "_ordered"):
                table[f"MPI_File_{verb}{how}_begin"] = asked
    return table


_NEW_COMMUNICATORS = {
    "MPI_Comm_dup": ("newcomm", "comm"),
    "MPI_Comm_dup_with_info": ("newcomm", "comm"),
    "MPI_Comm_create": ("newcomm", "comm"),
    "MPI_Comm_create_group": ("newcomm", "comm"),
    "MPI_Comm_create_from_group": ("newcomm", "MPI_COMM_NULL"),
    "MPI_Comm_split": ("newcomm", "comm"),
    "MPI_Comm_split_type": ("newcomm", "comm"),
    "MPI_Cart_create": ("comm_cart", "comm_old"),
    "MPI_Cart_sub": ("newcomm", "comm"),
    "MPI_Graph_create": ("comm_graph", "comm_old"),
    "MPI_Dist_graph_create": ("comm_dist_graph", "comm_old"),
    "MPI_Dist_graph_create_adjacent": ("comm_dist_graph", "comm_old"),
    "MPI_Intercomm_create": ("newintercomm", "local_comm"),
    "MPI_Intercomm_create_from_groups": ("newintercomm", "MPI_COMM_NULL"),
    "MPI_Intercomm_merge": ("newintracomm", "intercomm"),
    "MPI_Comm_spawn": ("intercomm", "comm"),
    "MPI_Comm_spawn_multiple": ("intercomm", "comm"),
    "MPI_Comm_accept": ("newcomm", "comm"),
    "MPI_Comm_connect": ("newcomm", "comm"),
}


def recipes() -> dict[str, Recipe]:
    """The recipe of every procedure that has one, large-count variants included.

    Returns
    -------
    dict of procedure name -> Recipe
    """
    table = {name: _recipe(name, note) for name, note in recorded_procedures()} | _windows() | _files()
    for name, (fresh, parent) in _NEW_COMMUNICATORS.items():
        enter = f"open.collective({parent}, MPI_PROC_NULL);" if parent != "MPI_COMM_NULL" else ""
        table[name] = Recipe(_read_safely(f"event.new_communicator(*{fresh}, {parent});"), enter=enter)
    table["MPI_Type_commit"] = Recipe(_read_safely("event.new_type(*datatype);"))
    table["MPI_Type_dup"] = Recipe(_read_safely("event.new_type(*newtype);"))
    for kind in ("complex", "integer", "real"):
        table[f"MPI_Type_create_f90_{kind}"] = Recipe(_read_safely("event.new_type(*newtype);"))
    table["MPI_Type_free"] = Recipe("event.plain();", _read_safely("forget_type(*datatype);"))
    large = {f"{name}_c": recipe for name, recipe in table.items()}
    return table | large


@dataclass(frozen=True)
class Procedure:
    """A C procedure as the standard declares it: its name, return type and parameters (declaration, name)."""

    name: str
    returns: str
    parameters: tuple[tuple[str, str], ...]


@functools.cache
def standard_procedures() -> list[Procedure]:
    """Every C procedure of the standard, large-count variants included, sorted by name.

    Returns
    -------
    list of Procedure
    """
    pympistandard.use_api_version(1)
    found: dict[str, Procedure] = {}
    for procedure in pympistandard.PROCEDURES.values():
        for form in _c_forms(procedure):
            parsed = _parse(str(form))
            if parsed is not None:
                found[parsed.name] = parsed
    return [found[name] for name in sorted(found)]


def _c_forms(procedure: Any) -> list[Any]:
    express = procedure.express
    forms = [express.iso_c]
    if procedure.has_embiggenment:
        forms.append(express.embiggen.iso_c)
    return [form for form in forms if form is not None]


_DECLARATION = re.compile(r"^(?P<returns>[\w ]+?\**)\s+(?P<name>MPI_\w+)\((?P<parameters>.*)\)$", re.S)


def _parse(text: str) -> Procedure | None:
    match = _DECLARATION.match(text.strip())
    if match is None:
        raise ValueError(f"pympistandard: cannot read the declaration '{text}'")
    parameters = match["parameters"].strip()
    if "ldots" in parameters:
        return Procedure(match["name"], match["returns"], ())
    pieces = [] if parameters in ("", "void") else [piece.strip() for piece in parameters.split(",")]
    named = tuple((piece, re.sub(r"\[.*", "", piece).split()[-1].lstrip("*")) for piece in pieces)
    return Procedure(match["name"], match["returns"], named)


_QUALIFIERS = frozenset(
    {"const", "volatile", "struct", "enum", "unsigned", "signed", "long", "restrict", "__restrict"}
)
_PROTOTYPE = re.compile(
    r"([A-Za-z_][\w \t\n*]*?)\bP(MPI_[A-Z]\w*)\s*\(([^;{}]*)\)\s*(?:__attribute__[^;]*)?;"
)


def declared_procedures(header: str, standard: list[Procedure]) -> list[Procedure]:
    """What a library declares of the standard: its own types, the standard's parameter names.

    Libraries differ from the standard in a ``const`` here or a ``[]`` there; a wrapper matches the library.

    Parameters
    ----------
    header : the preprocessed ``mpi.h``.
    standard : as `standard_procedures` gives them.

    Returns
    -------
    list of Procedure
        In the order of `standard`; procedures without a ``PMPI_`` twin are left out.
    """
    known = {procedure.name: procedure for procedure in standard}
    found: dict[str, Procedure] = {}
    for returns, name, parameters in _PROTOTYPE.findall(header):
        ours = known.get(name)
        if ours is not None:
            kept = [word for word in returns.split() if not word.startswith("__") and word != "extern"]
            found[name] = Procedure(name, " ".join(kept), _named(parameters, ours))
    return [found[procedure.name] for procedure in standard if procedure.name in found]


def _named(parameters: str, ours: Procedure) -> tuple[tuple[str, str], ...]:
    pieces = [piece.strip() for piece in parameters.split(",")]
    if "..." in pieces or len(pieces) != len(ours.parameters):
        return ours.parameters
    return tuple(
        (renamed(piece, name), name) for piece, (_, name) in zip(pieces, ours.parameters, strict=True)
    )


def renamed(declaration: str, name: str) -> str:
    """`declaration` of a parameter, its own name (if it has one) replaced by `name`."""
    body, bracket, rest = declaration.partition("[")
    words = re.findall(r"\w+", body)
    if len([word for word in words if word not in _QUALIFIERS]) > 1:
        body = re.sub(rf"\b{words[-1]}\s*$", "", body)
    return f"{body.strip()} {name}{bracket}{rest}"


def numbered(procedures: list[str]) -> str:
    """The header with procedure numbers and names that records use.

    Parameters
    ----------
    procedures : names in the order of their numbers.

    Returns
    -------
    str
        C++ source.
    """
    if len(procedures) >= 1023:
        raise ValueError("the record format numbers at most 1022 procedures")
    numbers = "".join(f"  k{name} = {i},\n" for i, name in enumerate(procedures))
    names = "".join(f'    "{name}",\n' for name in procedures)
    return (
        "// Generated by corewise.mpi.generators.recording: procedure numbers and names of the trace.\n"
        "#pragma once\n#include <cstdint>\n"
        f"namespace corewise::preload {{\nenum Procedure : std::uint16_t {{\n{numbers}}};\n"
        f"inline constexpr int kProcedures = {len(procedures)};\n"
        f"inline constexpr const char* kProcedureNames[] = {{\n{names}}};\n"
        "}  // namespace corewise::preload\n"
    )


def available_macros(procedures: list[Procedure]) -> str:
    """Macros that tell the hand-written wrappers what this library has."""
    asked = BY_HAND | {"MPI_Status_f082c"}
    wanted = [procedure.name for procedure in procedures if procedure.name in asked]
    return "".join(f"#define CW_HAVE_{name} 1\n" for name in wanted)


def wrapper_source(procedures: list[Procedure]) -> str:
    """The wrappers of every procedure that is not written by hand.

    Parameters
    ----------
    procedures : of one library, as `declared_procedures` gives them.

    Returns
    -------
    str
        C++ source.
    """
    table = recipes()
    body = "".join(
        _wrapper(procedure, table.get(procedure.name))
        for procedure in procedures
        if procedure.name not in BY_HAND
    )
    return (
        "// Generated by corewise.mpi.generators.recording. One wrapper per procedure that this MPI offers.\n"
        '#include "preload/recording/clocks.hpp"\n#include "preload/recording/events.hpp"\n'
        '#include "procedures.hpp"\n'
        "using namespace corewise::preload;\nnamespace trace = corewise::trace;\n"
        'extern "C" {\n' + body + '}  // extern "C"\n'
    )


def _wrapper(procedure: Procedure, recipe: Recipe | None) -> str:
    replaced = dict(recipe.replace) if recipe else {}
    declared = ", ".join(declaration for declaration, _ in procedure.parameters) or "void"
    forwarded = ", ".join(replaced.get(name, name) for _, name in procedure.parameters)
    invoke = f"[&] {{ return P{procedure.name}({forwarded}); }}"
    before = _pin(procedure, recipe) if recipe else ""
    before += f"  {recipe.before}\n" if recipe and recipe.before else ""
    head = (
        f"#undef {procedure.name}\n"
        f'__attribute__((visibility("default"))) {procedure.returns} {procedure.name}({declared}) {{\n'
        f"{before}"
    )
    if procedure.returns != "int" or _returns_a_value(procedure.name):
        return (
            head + f"  return traced_value(k{procedure.name}, __builtin_return_address(0), {invoke});\n}}\n"
        )
    note = recipe.note if recipe else "event.plain();"
    enter = f"\n      [&](Opening& open) {{ {recipe.enter} }}," if recipe and recipe.enter else ""
    return head + (
        f"  return traced(k{procedure.name}, __builtin_return_address(0),{enter}\n      {invoke},\n"
        f"      [&](Event& event) {{ {note} }});\n}}\n"
    )


def _pin(procedure: Procedure, recipe: Recipe) -> str:
    names = {name for _, name in procedure.parameters}
    return pin(names, *pinned(names, recipe))


def pinned(names: set[str], recipe: Recipe) -> tuple[str, list[str]]:
    """What is looked up before the call: the communicator, and the datatypes that are described after it.

    Parameters
    ----------
    names : of the procedure's parameters.
    recipe : the procedure's.

    Returns
    -------
    comm : "comm", or empty where the procedure has none
    types : their names
    """
    types = [each for each in _TYPES if re.search(rf"(?<!value_at\()\b{each}\b", recipe.note)]
    return "comm" if "comm" in names else "", types


def pin(names: set[str], comm: str, types: list[str]) -> str:
    """The statement that looks them up; empty where there is nothing to.

    Parameters
    ----------
    names : of the procedure's parameters.
    comm, types : the variables that hold what `pinned` says.

    Returns
    -------
    str
        C++ source.
    """
    if not comm and not types:
        return ""
    # Datatypes of messages mean something on every rank.
    unknown = "ask" if names & {"tag", "sendtag", "message"} else "leave"
    return f"  const Pin pin(Unknown::{unknown}, {', '.join([comm or 'MPI_COMM_NULL', *types])});\n"


def _returns_a_value(name: str) -> bool:
    """Handle conversions return integers that are no error codes."""
    return name.endswith(("_c2f", "_f2c", "_toint")) and not name.startswith("MPI_Status")
