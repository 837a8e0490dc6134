"""The lever *packing*: messages of derived datatypes packed by corewise's loops.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from corewise._core import World
from corewise.analysis.profile.findings.run import LEAST_SHARE
from corewise.data.profile import load_profile
from corewise.data.quantities import share_text
from corewise.data.tuned_hosts import HostTable, host_packing, mpi_name
from corewise.mpi.find import MpiLibrary
from corewise.mpi.generators.packing import ENGINES, engine_is_known
from corewise.trials.levers.lever import Case, Prediction, Setting, gain_of_share

_MAKERS = re.compile(
    r"MPI_Type_(?:create_)?(?:vector|hvector|indexed|hindexed|indexed_block|hindexed_block|struct|subarray|darray)"
    r"(?:_c)?"
)
_OFF = "off"


def predict(case: Case) -> Prediction:
    """Promising where the program makes types with gaps, and messages or packing take time beside waiting.

    The records do not say which messages are of such types. So the gain that is told is a limit.
    """
    makers = _makers(case.run.analysis.world)
    if not makers:
        return Prediction(1.0, "the program makes no datatype that may have gaps", False)
    if case.line is not None and (off := _why_off(case.line.mpi)):
        return Prediction(1.0, off, False)
    share = case.run.share(case.run.moving_ns("message", "collective") + _packing_ns(case))
    reason = (
        f"the program makes datatypes by {' and '.join(makers[:2])}; messages, collectives and packing take "
        f"{share_text(share)} of the run beside waiting"
    )
    return Prediction(gain_of_share(share), reason, share >= LEAST_SHARE)


def apply(case: Case, setting: Setting, folder: Path) -> Setting:
    """Loads the packing library with the table of this processor and MPI."""
    del folder
    assert case.line is not None  # or it would not be tried
    return replace(setting, options=replace(setting.options, packing=_table(case.line.mpi).knob))


def verify(case: Case, profile: Path) -> str:
    """Whether there is anything that the library could take over; it keeps no counts of its own."""
    assert case.line is not None
    return _why_off(case.line.mpi) or (
        "" if _makers(load_profile(profile).world) else "the run made no datatype that may have gaps"
    )


def _makers(world: World) -> list[str]:
    """The procedures by which a run made datatypes that may have gaps, most frequent first."""
    calls = world.calls.sum(axis=0).tolist()
    made = [(-int(count), name) for name, count in zip(world.procedures, calls, strict=True) if count]
    return [name for _, name in sorted(made) if _MAKERS.fullmatch(name)]


def _packing_ns(case: Case) -> float:
    rows = case.run.analysis.calls
    return sum(row.time_ns for row in rows if row.procedure in ("MPI_Pack", "MPI_Unpack"))


def _table(mpi: MpiLibrary) -> HostTable:
    return host_packing(mpi_name(mpi.family, os.environ), mpi.version)


def _why_off(mpi: MpiLibrary) -> str:
    """Why the library takes nothing over; empty where it may."""
    if not engine_is_known(mpi.family, mpi.version):
        return f"the datatype engine of Open MPI {mpi.version} is not known (known: {', '.join(ENGINES)})"
    table = _table(mpi)
    return table.told if table.knob == _OFF else ""
