"""The wrappers of the accelerate library: which procedures have one, and what each hands on.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re

import pytest

from corewise._core import collective_procedures
from corewise.mpi.generators import accelerating
from corewise.mpi.generators import recording as wrappers

STANDARD = {procedure.name: procedure for procedure in wrappers.standard_procedures()}
BODIES = {
    name: body.strip()
    for name, body in re.findall(
        r"^CW_PUBLIC int P(MPI_\w+)\([^\n]*\{\n(.*?)^\}\n",
        accelerating.source([*STANDARD.values()]),
        re.M | re.S,
    )
}
TAKEN = {name for name, body in BODIES.items() if body.startswith("return ours::")}
PASSED = {name for name, body in BODIES.items() if body.startswith("static ours::PassedOn ")}
LIFE = {
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Alloc_mem",
    "MPI_Free_mem",
    "MPI_Win_allocate_shared",
    "MPI_Win_allocate_shared_c",
    "MPI_Win_free",
    "MPI_Comm_spawn",
    "MPI_Intercomm_merge",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Comm_create",
    "MPI_Comm_create_group",
    "MPI_Comm_free",
    "MPI_Comm_disconnect",
    "MPI_Finalize",
    "MPI_Session_init",
    "MPI_Session_finalize",
}
LOOKS = {"MPI_Iprobe", "MPI_Improbe", "MPI_Testany", "MPI_Testall", "MPI_Testsome", "MPI_Win_test"}


def test_blocking_collectives_are_taken_in_both_counts() -> None:
    plain = {name for name in collective_procedures() if not name.startswith(("MPI_I", "MPI_Neighbor_"))}
    large = {f"{name}_c" for name in plain - {"MPI_Barrier"}}
    assert plain | large == TAKEN


def test_every_other_form_of_a_collective_is_passed_on() -> None:
    forms = {form for name in collective_procedures() for form in (name, f"{name}_init")}
    wanted = {form for name in forms for form in (name, f"{name}_c") if form in STANDARD} - TAKEN
    assert wanted == PASSED
    assert {"MPI_Ibcast", "MPI_Bcast_init_c", "MPI_Neighbor_alltoallw", "MPI_Ineighbor_allgather_c"} <= PASSED
    assert set(BODIES) == TAKEN | PASSED | LIFE | LOOKS


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("MPI_Barrier", "return ours::barrier(comm, [&] { return CW_NEXT(MPI_Barrier)(comm); });"),
        (
            "MPI_Bcast_c",
            "return ours::broadcast(buffer, count, datatype, root, comm, "
            "[&] { return CW_NEXT(MPI_Bcast_c)(buffer, count, datatype, root, comm); });",
        ),
        (
            "MPI_Ibarrier",
            'static ours::PassedOn passed_on("MPI_Ibarrier");\n  passed_on();\n'
            "  return CW_NEXT(MPI_Ibarrier)(comm, request);",
        ),
        (
            "MPI_Testsome",
            "int code = CW_NEXT(MPI_Testsome)"
            "(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);\n"
            "  while (ours::look_again(code, outcount)) code = CW_NEXT(MPI_Testsome)"
            "(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);\n"
            "  return code;",
        ),
        (
            "MPI_Init",
            "ours::announce();\n  const int code = CW_NEXT(MPI_Init)(argc, argv);\n"
            "  if (code == MPI_SUCCESS) begin();\n  return code;",
        ),
        (
            "MPI_Session_finalize",
            "finish_session(*session);\n  return CW_NEXT(MPI_Session_finalize)(session);",
        ),
        (
            "MPI_Comm_create",
            "const int code = CW_NEXT(MPI_Comm_create)(comm, group, newcomm);\n"
            "  if (code == MPI_SUCCESS && active) ours::inherit(comm, *newcomm);\n  return code;",
        ),
        (
            "MPI_Alloc_mem",
            "if (ours::allocate(size, info, baseptr)) return MPI_SUCCESS;\n"
            "  return CW_NEXT(MPI_Alloc_mem)(size, info, baseptr);",
        ),
        ("MPI_Finalize", "const ours::Finalizing finalizing;\n  return CW_NEXT(MPI_Finalize)();"),
    ],
)
def test_a_wrapper_hands_on_what_it_was_given(name: str, body: str) -> None:
    assert BODIES[name] == body


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_arguments_stand_in_the_order_of_the_mpi(name: str) -> None:
    given = ", ".join(each for _, each in STANDARD[name].parameters)
    function = accelerating._TAKEN[name.removesuffix("_c")]
    assert BODIES[name] == f"return ours::{function}({given}, [&] {{ return CW_NEXT({name})({given}); }});"


def test_what_a_library_lacks_has_no_wrapper() -> None:
    few = [STANDARD[name] for name in ("MPI_Bcast", "MPI_Ibcast", "MPI_Send", "MPI_Pack_c")]
    text = accelerating.source(few)
    assert set(re.findall(r"CW_NEXT\((\w+)\)", text)) == {"MPI_Bcast", "MPI_Ibcast"}
