"""Findings about what could be done otherwise: algorithms of collectives, placements of ranks.

They are predictions, and say so. The share of the run is what would be saved, at most.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corewise._core import procedure_facts
from corewise.analysis.placement.comparison import PlacementRow, PlacementStudy
from corewise.analysis.profile.findings.finding import Finding
from corewise.analysis.profile.findings.run import LEAST_SHARE, Run
from corewise.analysis.profile.rows import CallRow
from corewise.data.quantities import bytes_text, number_text, share_text, time_text
from corewise.data.tuned_hosts import HostCollectives
from corewise.data.tuning import LEFT_TO_MPI, TuningRow
from corewise.errors import InputError

_TABLE_NAMES = {"bcast": "broadcast"}
"""Collectives whose name in tunings is not the procedure's."""
NO_BETTER = 1.02
"""Of a bottleneck over another, below which placements are as good as each other."""


@dataclass(frozen=True)
class Quicker:
    """A collective that was measured quicker by corewise than by an MPI, at the mean size of a run's calls.

    Attributes
    ----------
    call : CallRow
    size_bytes : int
        Mean of a call.
    algorithm : str
    ours_us, mpi_us : float
        As measured.
    measured_on : str
        Processor and MPI of the measurement.
    moving_ns : float
        The procedure's time in the run beside waiting for another rank, all ranks.
    """

    call: CallRow
    size_bytes: int
    algorithm: str
    ours_us: float
    mpi_us: float
    measured_on: str
    moving_ns: float

    @property
    def what(self) -> str:
        """The call, with its size where it carries something."""
        size = f" of {bytes_text(self.size_bytes)}" if self.size_bytes else ""
        return f"{self.call.procedure}{size}"

    @property
    def saved_ns(self) -> float:
        """Of all ranks' time, if the ratio of the measurement holds."""
        return self.moving_ns * (1 - self.ours_us / self.mpi_us)


def quicker_collectives(run: Run) -> list[Quicker]:
    """Every blocking collective of a run that a table has a quicker algorithm for, most saved first."""
    found = []
    for call in run.analysis.calls:
        name = _collective(call.procedure)
        if name is None or call.calls == 0:
            continue
        size = call.bytes // call.calls
        row, table = _row(run.tables, name, run.analysis.world.size, size)
        moving = max(0.0, call.time_ns - run.waited_ns.get(call.procedure, 0.0))
        if row is None or table is None or row.won.algorithm == LEFT_TO_MPI:
            continue
        at = row.measured_for(size)
        theirs = next((each for each in row.lost if each.algorithm == LEFT_TO_MPI), None)
        if theirs is not None and theirs.latency_us[at] > row.won.latency_us[at]:
            where = f"{table.on.host}, {table.on.mpi}"
            times = (row.won.latency_us[at], theirs.latency_us[at])
            found.append(Quicker(call, size, row.won.name, *times, where, moving))
    return sorted(found, key=lambda each: (-each.saved_ns, each.call.procedure))


def _collective(procedure: str) -> str | None:
    """The name in tunings of a blocking collective."""
    facts = procedure_facts(procedure)
    blocking = procedure.lower().removeprefix("mpi_").removesuffix("_c") == facts.row
    return _TABLE_NAMES.get(facts.row, facts.row) if facts.sort == "collective" and blocking else None


def _row(
    tables: Sequence[HostCollectives], name: str, ranks: int, size_bytes: int
) -> tuple[TuningRow | None, HostCollectives | None]:
    """The first table's row for a call."""
    for table in tables:
        try:
            return table.tuning.find(name, ranks, size_bytes), table
        except InputError:
            continue
    return None, None


def algorithms(run: Run) -> list[Finding]:
    """The collective whose other algorithm would save most."""
    every = quicker_collectives(run)
    saved = sum(each.saved_ns for each in every)
    if run.share(saved) < LEAST_SHARE:
        return []
    most = every[0]
    more = f", and {len(every) - 1} other collectives" if len(every) > 1 else ""
    return [
        Finding(
            "collective-algorithm",
            f"{most.what} is quicker by corewise's "
            f"{most.algorithm}{more}: predicted to save {share_text(run.share(saved))} of the run",
            f"{number_text(most.ours_us)} us where the MPI took {number_text(most.mpi_us)} us, measured on "
            f"{most.measured_on}; here it takes {time_text(most.moving_ns / most.call.calls)} a call "
            "beside waiting",
            "corewise run --accelerate, or corewise advise",
            run_share=run.share(saved),
            mpi_share=run.mpi_share(saved),
            procedure=most.call.procedure,
            numbers={"ours_us": most.ours_us, "mpi_us": most.mpi_us, "bytes": float(most.size_bytes)},
        )
    ]


def current_placement(study: PlacementStudy) -> tuple[PlacementRow, str]:
    """Where ranks are now, and what that is called: the given placement, or rank order where none is."""
    given = next((row for row in study.rows if row.which == "given"), None)
    return (study.row("identity"), "rank order") if given is None else (given, "this launch's placement")


def placement(run: Run) -> list[Finding]:
    """What a better placement would save, or that there is none; nothing without a machine."""
    study = run.study
    if study is None:
        return []
    now, name = current_placement(study)
    moving = run.moving_ns("message")
    saved = moving * (1 - 1 / now.ratio) if now.ratio > 0 else 0.0
    if now.ratio < NO_BETTER:
        proven = "proven" if study.proven_optimal else "none better was found"
        return [
            Finding(
                "placement-best",
                f"nothing to gain from placement: {name} is as good as any on {study.machine.name}",
                f"{study.statement} ({proven})",
                numbers={"ratio": now.ratio},
            )
        ]
    return [
        Finding(
            "placement",
            f"another placement loads the busiest link of {study.machine.name} {now.ratio:.3g} times less: "
            f"predicted to save at most {share_text(run.share(saved))} of the run",
            f"{name} keeps {now.bottleneck_link or 'no link'} busy for {time_text(now.bottleneck_ns)}, the "
            f"best placement its busiest for {time_text(study.best.bottleneck_ns)}; messages take "
            f"{share_text(run.share(moving))} of the run beside waiting",
            f"corewise place {run.path} --machine {study.machine.name}",
            run_share=run.share(saved),
            mpi_share=run.mpi_share(saved),
            numbers={"ratio": now.ratio, "moving_share": run.share(moving)},
        )
    ]
