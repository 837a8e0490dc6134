"""The tables of the placements found automatically.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corewise.analysis.result import Row, Table, statement_table
from corewise.data.quantities import number_text
from corewise.papers.affinity.data import AFFINITIES, SHOWN
from corewise.papers.mapping.data import mapping_text
from corewise.papers.placement.data import Ps3Ring, Study


def tables_of(study: Study, rows: Sequence[Row]) -> Iterator[Table]:
    """For people."""
    yield _step_table(study)
    yield _ways_table(study)
    yield _operation_table(study)
    yield _placement_table(study)
    yield _price_table(study)
    yield _ring_table(study.ring)
    yield statement_table("papers 000 and 002: what was asked, and whether it holds", rows)


def _step_table(study: Study) -> Table:
    cells = tuple(
        (
            step.pattern.title,
            *(f"{step.affinities[name]:.1f}" for name in AFFINITIES),
            f"{step.best_gb_per_s:.1f}",
            f"{step.best_gb_per_s / max(step.affinities.values()):.3f}",
        )
        for step in study.steps
    )
    columns = ("GB/s", *(SHOWN[name] for name in AFFINITIES), "best", "gain")
    note = "of the slowest rank; best: found by simulation; gain: over the best affinity"
    return Table("patterns of table 2: affinities", columns, cells, note)


def _ways_table(study: Study) -> Table:
    """Of the same patterns; a table of its own, for both together are wider than a terminal."""
    cells = tuple(
        (
            step.pattern.title,
            f"{step.by_hypercube[1]:.1f}",
            f"{step.by_model[1]:.1f}",
            f"{step.best_gb_per_s:.1f}",
            f"{step.timed}/{step.sets}",
        )
        for step in study.steps
    )
    note = "of the slowest rank; link load: proven best by the model; timed: of all different placements"
    columns = ("GB/s", "hypercube", "link load", "best", "timed")
    return Table("patterns of table 2: ways to a placement", columns, cells, note)


def _operation_table(study: Study) -> Table:
    cells = tuple(
        (
            operation.title,
            *(f"{operation.affinities[name]:.2f}" for name in AFFINITIES),
            f"{operation.best_us:.2f}",
            f"{min(operation.affinities.values()) / operation.best_us:.3f}",
        )
        for operation in study.operations
    )
    columns = ("us", *(SHOWN[name] for name in AFFINITIES), "best", "gain")
    timed = sum(operation.timed for operation in study.operations)
    note = f"best: of a local search that timed {timed} placements in all, not proven"
    return Table("collective operations", columns, cells, note)


def _placement_table(study: Study) -> Table:
    def text(units: tuple[int, ...]) -> str:
        return " ".join(map(str, units))

    rows = [
        (step.pattern.title, text(step.best), text(step.by_model[0]), text(step.by_hypercube[0]))
        for step in study.steps
    ]
    rows += [(operation.title, text(operation.best), "", "") for operation in study.operations]
    rows.append(("all ten", text(study.compromise.unit_of_rank), "", ""))
    return Table("SPE of rank 0, 1, ...", ("pattern", "best", "link load", "hypercube"), tuple(rows))


def _price_table(study: Study) -> Table:
    found = study.compromise
    rows = [(name, f"{price:.3f}", f"{found.even_odd[name]:.3f}") for name, price in found.prices.items()]
    rows.append(("highest", f"{found.worst:.3f}", f"{max(found.even_odd.values()):.3f}"))
    note = "price: what the one placement costs a pattern over the best placement for it alone"
    return Table("one placement for all", ("pattern", "compromise", "EvenOdd"), tuple(rows), note)


def _ring_table(ring: Ps3Ring) -> Table:
    rows = tuple(
        (mapping_text(each.mapping), str(each.rank), f"{each.factor:.3f}") for each in ring.certified
    )
    note = (
        f"{ring.statement}; simulated: worst/best {ring.spread:.3f}, median/best {ring.median:.3f} of "
        f"{ring.mappings} mappings"
    )
    title = (
        f"PS3, ring of six, proven best by link load ({number_text(ring.optimum_ns, 4)} ns per KB and round)"
    )
    return Table(title, ("mapping", "simulated rank", "time over the best"), rows, note)
