"""Generates the wrappers of the packing library: every procedure that packs, sends, receives or completes.

Owns which procedures those are, and which function of ``src/preload/packing/calls.hpp`` or ``requests.hpp``
each one becomes; probes and collectives, in which MPI makes progress, are among them. On Open MPI messages
stay the MPI's own, whose engine uses our loops in the versions that are named here.
A procedure that the library at hand lacks has no wrapper. Fortran needs none of its own: its entries call the
C names.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from types import MappingProxyType

from corewise._core import collective_procedures
from corewise.mpi.generators import interposing
from corewise.mpi.generators import recording as wrappers

_SEND = ("buf", "count", "datatype")
_RECEIVE = (*_SEND, "status")
_EXCHANGE = ("sendbuf", "sendcount", "sendtype", "recvbuf", "recvcount", "recvtype", "status")
_PACK = "convert<PackingUse::pack>(inbuf, incount, datatype, outbuf, outsize, position, comm, "
_UNPACK = "convert<PackingUse::unpack>(outbuf, outcount, datatype, inbuf, insize, position, comm, "
_SENDRECV = "send_receive(sendbuf, sendcount, sendtype, dest, recvbuf, recvcount, recvtype, source, status, "
_REPLACE = "send_receive_replace(buf, count, datatype, dest, source, status, "


def _messages() -> dict[str, tuple[str, tuple[str, ...]]]:
    """A call that lacks its last argument, and what that one's function has other places for; by procedure.

    Each has a large-count form.
    """

    def post(how: str, peer: str) -> tuple[str, tuple[str, ...]]:
        return f"post<Kind::{how}>(buf, count, datatype, {peer}, request, ", _SEND

    table = {
        "MPI_Recv": ("receive(buf, count, datatype, source, status, ", _RECEIVE),
        "MPI_Irecv": post("receive", "source"),
        "MPI_Recv_init": post("receive, true", "source"),
        "MPI_Mrecv": ("receive(buf, count, datatype, source_of(message), status, ", _RECEIVE),
        "MPI_Imrecv": post("receive", "source_of(message)"),
        "MPI_Sendrecv": (_SENDRECV, _EXCHANGE),
        "MPI_Sendrecv_replace": (_REPLACE, _RECEIVE),
        "MPI_Pack": (_PACK, ()),
        "MPI_Unpack": (_UNPACK, ()),
    }
    for mode in ("", "b", "s", "r"):
        name = f"MPI_{mode.capitalize()}send" if mode else "MPI_Send"
        table |= {
            name: ("send(buf, count, datatype, dest, ", _SEND),
            f"MPI_I{mode}send": post("send", "dest"),
            f"{name}_init": post("send, true", "dest"),
        }
    return table


_MESSAGES = MappingProxyType(_messages())
_REQUESTS = MappingProxyType(
    {
        "MPI_Start": ("start", "request"),
        "MPI_Startall": ("start_all", "array_of_requests"),
        "MPI_Wait": ("wait", "request"),
        "MPI_Test": ("test", "request, flag"),
        "MPI_Waitany": ("wait_any", "array_of_requests, index"),
        "MPI_Testany": ("test_any", "array_of_requests, index, flag"),
        "MPI_Waitall": ("wait_all", "array_of_requests"),
        "MPI_Testall": ("test_all", "array_of_requests, flag"),
        "MPI_Waitsome": ("wait_some", "array_of_requests, outcount, array_of_indices"),
        "MPI_Testsome": ("test_some", "array_of_requests, outcount, array_of_indices"),
        "MPI_Request_free": ("request_free", "request"),
        "MPI_Request_get_status": ("get_status", "flag"),
        "MPI_Request_get_status_any": ("get_status_any", "array_of_requests, index, flag"),
        "MPI_Request_get_status_all": ("get_status_all", "array_of_requests, flag"),
        "MPI_Request_get_status_some": ("get_status_some", "array_of_requests, outcount, array_of_indices"),
    }
)
"""Functions of ``requests.hpp``, and the arguments that must not be null."""
_BEFORE = MappingProxyType(
    {
        "MPI_Type_free": "if (datatype != nullptr) { forget(corewise::preload::handle_key(*datatype)); }",
        "MPI_Finalize": "end_requests(); end_types();",
    }
)
_BEGIN = "if (code == MPI_SUCCESS) begin();"
_AFTER = MappingProxyType(
    {
        "MPI_Init": _BEGIN,
        "MPI_Init_thread": _BEGIN,
        "MPI_Finalize": "end();",
        "MPI_Type_commit": "if (code == MPI_SUCCESS) committed(*datatype);",
        "MPI_Type_dup": "if (code == MPI_SUCCESS) duplicated(*newtype);",
    }
)
_PROGRESSING = frozenset({"MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe", *collective_procedures()})
"""MPI makes progress in them, so requests that were freed are looked at."""
_ON_ALL = frozenset({*_BEFORE, *_AFTER})
"""What has a wrapper on Open MPI too."""
_ALONE = frozenset({"MPI_Pack", "MPI_Unpack"})
"""What has another one there: the engine is told that no message is packed."""
ENGINES = ("4.1", "5.0")
"""Versions of Open MPI whose datatype engine was read and tried (``src/preload/packing/openmpi``)."""


def available_macros(declared: list[wrappers.Procedure]) -> str:
    """The header (C++) that tells the hand-written half what this library has; `declared`: its procedures."""
    engines = ", ".join(f'"Open MPI v{version}."' for version in ENGINES)
    return interposing.available_macros(declared) + f"#define CW_KNOWN_OPEN_MPI {engines}\n"


def engine_is_known(name: str, version: str) -> bool:
    """Whether the packing library has anything to do with an MPI: of Open MPI the known versions alone."""
    return name != "openmpi" or version.startswith(tuple(f"{known}." for known in ENGINES))


def source(declared: list[wrappers.Procedure]) -> str:
    """The wrappers in C, as C++ source; `declared`: the library's procedures."""
    bodies = [(each, body) for each in declared if (body := _body(each)) is not None]
    head = (
        "// Generated by corewise.mpi.generators.packing: procedures that pack, send, receive or complete.\n"
        '#include "preload/packing/calls.hpp"\n#include "preload/packing/openmpi/engine.hpp"\n'
        "using namespace corewise::preload::packing;\n"
        "namespace ours = corewise::preload::packing;\n"
    )
    on_all = [(each, body) for each, body in bodies if each.name in _ON_ALL]
    others = [(each, body) for each, body in bodies if each.name not in _ON_ALL]
    as_it_is = "const engine::Alone alone; return {};"
    alone = [
        (each, as_it_is.format(interposing.same_call(each))) for each, _ in others if each.name in _ALONE
    ]
    made = (
        "".join(interposing.wrapper(each, f"  {body}\n") for each, body in some)
        for some in (on_all, others, alone)
    )
    return interposing.source(head, "{}#ifndef OPEN_MPI\n{}#else\n{}#endif\n".format(*made))


def _body(procedure: wrappers.Procedure) -> str | None:
    """What a wrapper does; none where there is none."""
    name, words = procedure.name, [parameter for _, parameter in procedure.parameters]
    plain = name.removesuffix("_c")
    call = interposing.same_call(procedure)
    if plain in _MESSAGES:
        ours, replaced = _MESSAGES[plain]
        return (
            f"return ours::{ours}[&]({', '.join(f'auto {each}' for each in replaced)}) {{ return {call}; }});"
        )
    if name in _REQUESTS:
        function, needed = _REQUESTS[name]
        passed = f"if (passes({needed})) return {call};"
        return f"{passed}\n  return ours::{function}({', '.join(words)});"
    if name not in _ON_ALL and plain not in _PROGRESSING:
        return None
    after = _AFTER.get(name, "" if name in _ON_ALL else "progressed();")
    steps = (_BEFORE.get(name), f"const int code = {call};", after, "return code;")
    return "\n  ".join(step for step in steps if step)
