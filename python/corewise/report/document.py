"""A report as plain rows and fields for ``--json``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict

from corewise._core import Match
from corewise.analysis.placement.comparison import PlacementStudy
from corewise.analysis.profile.findings import Findings
from corewise.analysis.profile.rows import ProfileAnalysis


def call_rows(analysis: ProfileAnalysis, top: int) -> list[dict[str, object]]:
    """One row per MPI procedure."""
    return [asdict(row) for row in analysis.calls[:top]]


def fields(
    analysis: ProfileAnalysis,
    findings: Findings,
    study: PlacementStudy | None,
    top: int,
    placement_note: str = "",
) -> dict[str, object]:
    """Everything beside the rows."""
    meta = analysis.profile.meta
    return {
        **findings_fields(findings),
        "profile": str(analysis.profile.path),
        "command": list(meta.command),
        "program": list(meta.program),
        "mpi": {"name": meta.mpi_name, "version": meta.mpi_version, "library": analysis.world.library},
        "ranks": analysis.world.size,
        "started": meta.started,
        "exit_status": meta.exit_status,
        "wall_ns": analysis.wall_ns,
        "startup_ns": analysis.startup_ns,
        "mpi_share": analysis.mpi_share,
        "balance": analysis.balance,
        "finished": analysis.ending.finished,
        "end": _end(analysis),
        "ending": analysis.ending.statement,
        "records": analysis.records,
        "warnings": list(analysis.warnings),
        "bytes": analysis.summary.bytes,
        "messages": analysis.summary.messages,
        "collective_bytes": analysis.collective_bytes,
        "one_sided_bytes": analysis.one_sided_bytes,
        "imbalance": analysis.imbalance,
        "pattern": _pattern(analysis),
        "consistency": _consistency(analysis),
        "matrix": {kind: _matrix(analysis, kind) for kind in ("sent", "collective", "put", "get")},
        "sites": [asdict(row) for row in analysis.sites[:top]],
        "rank_rows": [asdict(row) for row in analysis.ranks],
        "sizes": [asdict(row) for row in analysis.sizes],
        "datatypes": [asdict(row) for row in analysis.datatypes],
        "phases": [asdict(row) for row in analysis.phases],
        "regions": [asdict(row) for row in analysis.regions],
        "other": asdict(analysis.other),
        "accelerate": [asdict(row) for row in analysis.accelerated],
        "functions": analysis.functions,
        "stopped": [
            {"rank": rank, "stops": stops, "stopped_ns": stopped_ns}
            for rank, stops, stopped_ns in analysis.stopped
        ],
        "communicators": [asdict(row) for row in analysis.communicators],
        "placement": None if study is None else _placement(study),
        "placement_note": placement_note,
    }


def findings_fields(found: Findings) -> dict[str, object]:
    """The findings and POP's metrics."""
    return {
        "findings": [row.row() for row in found.rows],
        "efficiency": None if found.efficiency is None else asdict(found.efficiency),
    }


def _end(analysis: ProfileAnalysis) -> dict[str, object]:
    """How a run ended: where its ranks were. Empty lists where all finished and none crashed later."""
    end = analysis.end
    left_out = {"needs"}
    return {
        "statements": list(end.statements),
        "deadlocks": [list(cycle) for cycle in end.deadlocks],
        "ranks": [
            {
                **{name: value for name, value in vars(state).items() if name not in left_out},
                "waits_for": list(state.waits_for),
            }
            for state in end.ranks
        ],
    }


def _pattern(analysis: ProfileAnalysis) -> dict[str, object]:
    summary = analysis.summary
    best = summary.best if summary.telling else None
    return {
        "name": best.label if best else None,
        "degree": best.degree if best else None,
        "label": summary.label if summary.messages and summary.telling else None,
        "matches": [_match(match) for match in analysis.summary.matches],
    }


def _match(match: Match) -> dict[str, object]:
    return {
        "family": match.family,
        "label": match.label,
        "degree": match.degree,
        "dims": list(match.dims),
        "volumes_fit": match.volumes_fit,
    }


def _consistency(analysis: ProfileAnalysis) -> dict[str, object]:
    names = ("sender", "receiver", "sent_bytes", "sent_messages", "received_bytes", "received_messages")
    return {
        "statement": analysis.consistency.statement,
        "pairs": analysis.consistency.pairs,
        "differing": [
            {name: getattr(pair, name) for name in names} for pair in analysis.consistency.differing
        ],
    }


def _matrix(analysis: ProfileAnalysis, kind: str) -> list[dict[str, int]]:
    columns = (column.tolist() for column in analysis.world.coordinates(kind))
    return [
        {"from": sender, "to": receiver, "bytes": size_bytes, "messages": messages}
        for sender, receiver, size_bytes, messages in zip(*columns, strict=True)
    ]


def _placement(study: PlacementStudy) -> dict[str, object]:
    return {
        "objective": study.objective,
        "proven_optimal": study.proven_optimal,
        "worst_proven": study.worst_proven,
        "statement": study.statement,
        "rows": [
            {**asdict(row), "units": [study.machine.units[unit].name for unit in row.unit_of_rank]}
            for row in study.rows
        ],
    }
