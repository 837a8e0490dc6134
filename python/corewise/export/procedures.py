"""MPI procedures in OTF2's words, from the table of procedures (``src/profile/procedures.cpp``).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise._core import ProcedureFacts

_COLLECTIVE_ROLES = {
    "barrier": "BARRIER",
    "from_root": "COLL_ONE2ALL",
    "to_root": "COLL_ALL2ONE",
    "all_to_all": "COLL_ALL2ALL",
}
_ROLES = {"message": "POINT2POINT", "one_sided": "RMA", "file": "FILE_IO"}


def collective_operation(facts: ProcedureFacts) -> str | None:
    """OTF2's CollectiveOp, of neighbours that of those that they generalise; None for what is none."""
    return facts.row.removeprefix("neighbor_").upper() if facts.sort == "collective" else None


def receives_only(facts: ProcedureFacts, is_root: bool) -> bool:
    """Whether the bytes of a collective's record are what the rank received (docs/formats/trace.md)."""
    if facts.row == "bcast":
        return not is_root
    return facts.volume in ("from_root", "from_each")


def region_role(facts: ProcedureFacts) -> str:
    """OTF2's RegionRole of a procedure."""
    if facts.sort == "collective":
        return _COLLECTIVE_ROLES.get(facts.meeting, "COLL_OTHER")
    return _ROLES.get(facts.sort, "FUNCTION")
