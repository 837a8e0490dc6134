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
from corewise.mpi.generators import recording as wrappers

_PROGRESSING = frozenset({"MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe", *collective_procedures()})
_SEND = "send({next}, buf, count, datatype, dest, tag, comm)"
_POST_SEND = "post_send({next}, buf, count, datatype, dest, tag, comm, request)"
_INIT_SEND = "init_send({next}, buf, count, datatype, dest, tag, comm, request)"
_POST_RECEIVE = "post_receive({next}, {persistent}, buf, count, datatype, source, tag, comm, request)"
_REQUESTS = "count, array_of_requests"
_SOME = "incount, array_of_requests, outcount, array_of_indices, array_of_statuses"
_BEGIN = "  const int code = {next}({arguments});\n  if (code == MPI_SUCCESS) begin();\n  return code;\n"
_END = "  end_requests();\n  end_types();\n  const int code = {next}();\n  end();\n  return code;\n"


def _messages() -> dict[str, str]:
    """Bodies by procedure; each has a large-count form."""
    table = {
        "MPI_Recv": "receive({next}, buf, count, datatype, source, tag, comm, status)",
        "MPI_Irecv": _POST_RECEIVE.replace("{persistent}", "false"),
        "MPI_Recv_init": _POST_RECEIVE.replace("{persistent}", "true"),
        "MPI_Mrecv": "receive_message({next}, buf, count, datatype, message, status)",
        "MPI_Imrecv": "post_receive_message({next}, buf, count, datatype, message, request)",
        "MPI_Sendrecv": (
            "send_receive({next}, sendbuf, sendcount, sendtype, dest, sendtag, "
            "recvbuf, recvcount, recvtype, source, recvtag, comm, status)"
        ),
        "MPI_Sendrecv_replace": (
            "send_receive_replace({next}, buf, count, datatype, dest, sendtag, source, recvtag, comm, status)"
        ),
        "MPI_Pack": "pack({next}, inbuf, incount, datatype, outbuf, outsize, position, comm)",
        "MPI_Unpack": "unpack({next}, inbuf, insize, position, outbuf, outcount, datatype, comm)",
    }
    for mode in ("", "b", "s", "r"):
        name = f"MPI_{mode.capitalize()}send" if mode else "MPI_Send"
        table |= {name: _SEND, f"MPI_I{mode}send": _POST_SEND, f"{name}_init": _INIT_SEND}
    return table


_BODIES = MappingProxyType(
    _messages()
    | {f"{name}_c": body for name, body in _messages().items()}
    | {
        "MPI_Start": "start(request)",
        "MPI_Startall": f"start_all({_REQUESTS})",
        "MPI_Wait": "wait(request, status)",
        "MPI_Test": "test(request, flag, status)",
        "MPI_Waitany": f"wait_any({_REQUESTS}, index, status)",
        "MPI_Testany": f"test_any({_REQUESTS}, index, flag, status)",
        "MPI_Waitall": f"wait_all({_REQUESTS}, array_of_statuses)",
        "MPI_Testall": f"test_all({_REQUESTS}, flag, array_of_statuses)",
        "MPI_Waitsome": f"wait_some({_SOME})",
        "MPI_Testsome": f"test_some({_SOME})",
        "MPI_Request_free": "request_free(request)",
        "MPI_Request_get_status": "get_status(request, flag, status)",
        "MPI_Request_get_status_any": f"get_status_any({_REQUESTS}, index, flag, status)",
        "MPI_Request_get_status_all": f"get_status_all({_REQUESTS}, flag, array_of_statuses)",
        "MPI_Request_get_status_some": f"get_status_some({_SOME})",
        "MPI_Type_commit": "commit_type({next}, datatype)",
        "MPI_Type_dup": "dup_type({next}, oldtype, newtype)",
        "MPI_Type_free": "free_type({next}, datatype)",
        "MPI_Session_init": "init_session({next}, info, errhandler, session)",
    }
)
_WHOLE = MappingProxyType({"MPI_Init": _BEGIN, "MPI_Init_thread": _BEGIN, "MPI_Finalize": _END})
_ON_ALL = ("MPI_Type_commit", "MPI_Type_dup", "MPI_Type_free", "MPI_Session_init", *_WHOLE)
"""What has a wrapper on Open MPI too."""
_ALONE = ("MPI_Pack", "MPI_Unpack")
"""What has another one there: the engine is told that no message is packed."""
ENGINES = ("4.1", "5.0")
"""Versions of Open MPI whose datatype engine was read and tried (``src/preload/packing/openmpi``)."""
_ASKED_FOR = ("MPI_Type_get_envelope_c", "MPI_Request_get_status_all")


def available_macros(declared: list[wrappers.Procedure]) -> str:
    """The header that tells the hand-written half what this library has.

    Parameters
    ----------
    declared : the library's procedures.

    Returns
    -------
    str
        C++ source.
    """
    names = {procedure.name for procedure in declared}
    engines = ", ".join(f'"Open MPI v{version}."' for version in ENGINES)
    return (
        "#pragma once\n"
        + "".join(f"#define CW_HAVE_{name} 1\n" for name in _ASKED_FOR if name in names)
        + f"#define CW_KNOWN_OPEN_MPI {engines}\n"
    )


def engine_is_known(name: str, version: str) -> bool:
    """Whether the packing library has anything to do with an MPI: of Open MPI the known versions alone."""
    return name != "openmpi" or version.startswith(tuple(f"{known}." for known in ENGINES))


def source(declared: list[wrappers.Procedure]) -> str:
    """The wrappers in C.

    Parameters
    ----------
    declared : the library's procedures.

    Returns
    -------
    str
        C++ source.
    """
    wanted = [each for each in declared if each.name in _BODIES or each.name in _WHOLE or _progresses(each)]
    return (
        "// Generated by corewise.mpi.generators.packing: procedures that pack, send, receive or complete.\n"
        '#include "preload/packing/calls.hpp"\n#include "preload/packing/openmpi/engine.hpp"\n'
        "using namespace corewise::preload::packing;\n"
        "namespace ours = corewise::preload::packing;\n"
        '#define CW_PUBLIC __attribute__((visibility("default")))\n'
        'extern "C" {\n'
        + "".join(_wrapper(each) for each in wanted if _on_all(each))
        + "#ifndef OPEN_MPI\n"
        + "".join(_wrapper(each) for each in wanted if not _on_all(each))
        + "#else\n"
        + "".join(_wrapper(each, "engine::pack_alone({})") for each in wanted if _base(each) in _ALONE)
        + "#endif\n"
        '}  // extern "C"\n'
    )


def _base(procedure: wrappers.Procedure) -> str:
    return procedure.name.removesuffix("_c")


def _on_all(procedure: wrappers.Procedure) -> bool:
    return _base(procedure) in _ON_ALL


def _progresses(procedure: wrappers.Procedure) -> bool:
    """Whether a call may make progress: a probe, a collective."""
    return _base(procedure) in _PROGRESSING


def _wrapper(procedure: wrappers.Procedure, call: str | None = None) -> str:
    """`call`: with a place for all arguments; None: what `_BODIES` says."""
    name = procedure.name
    declared = ", ".join(declaration for declaration, _ in procedure.parameters) or "void"
    target = f"CW_NEXT({name})"
    if name in _WHOLE:
        arguments = ", ".join(parameter for _, parameter in procedure.parameters)
        body = _WHOLE[name].format(next=target, arguments=arguments)
    else:
        arguments = ", ".join((target, *(parameter for _, parameter in procedure.parameters)))
        called = call or _BODIES.get(name, f"progress({arguments})")
        text = called.format(arguments, next=target)
        body = f"  return ours::{text};\n"
    return (
        f"#undef {name}\nCW_PUBLIC {procedure.returns} P{name}({declared}) {{\n{body}}}\n"
        f'CW_PUBLIC {procedure.returns} {name}({declared}) __attribute__((alias("P{name}")));\n'
    )
