"""Papers 000 and 002 asked for it: the best affinity found automatically, on the simulated Cell.

Paper 000, section 7: evaluate a model for every affinity, or map the pattern onto a hypercube and that onto
EvenOdd. Both are done here, and a search by simulation that says how far either is from the best there is;
EvenOdd's claim to be good at everything is held against that best. Paper 002 found no rule by which to
choose: its ring on the PS3 is placed with proof, and the proven placements are looked up among the simulated
120. Same plan and seed, same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corewise import _core
from corewise.analysis.result import PaperResult, Progress, Row, Table, statement_row, statement_table
from corewise.papers.affinity.data import AFFINITIES, SHOWN
from corewise.papers.mapping.data import mapping_text
from corewise.papers.placement.data import (
    QUICK,
    Compromise,
    Effort,
    Operation,
    Ps3Ring,
    Step,
    Timer,
    find_compromise,
    ps3_ring,
    search_operation,
    search_step,
)

GOOD = 0.95
"""Within 5 % of the best counts as good, as in `corewise paper affinity`."""
BETTER = 1.01
"""A gain of less than 1 % is not called better."""
MACHINE = "one Cell of a QS20 and a PS3 (simulated)"
_SEARCH, _CLAIM, _PS3 = "000 section 7", "000 section 5", "002 section 3"


@dataclass(frozen=True)
class Study:
    """Everything that was found."""

    steps: tuple[Step, ...]
    operations: tuple[Operation, ...]
    compromise: Compromise
    ring: Ps3Ring


def run_paper(
    quick: bool = False, seed: int = 1, progress: Progress = lambda share: None, effort: Effort | None = None
) -> PaperResult:
    """Everything `corewise paper placement` shows.

    Parameters
    ----------
    quick : bool
        Samples instead of every set of transfers.
    seed : int
    progress : callable
        Told the share of the work done.
    effort : Effort, optional
        Instead of the two plans.
    """
    study = run_study(effort or (QUICK if quick else Effort()), seed, progress)
    rows = tuple(rows_of(study))
    return PaperResult("paper placement", MACHINE, rows, tuple(tables_of(study, rows)))


def run_study(effort: Effort, seed: int = 1, progress: Progress = lambda share: None) -> Study:
    """Searches and times everything."""
    patterns, collectives = _core.paper000_table2(), _core.paper000_collectives()
    parts = len(patterns) + len(collectives) + 2
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        progress(done / parts)

    steps: list[Step] = []
    tables: dict[int, float] = {}
    for pattern in patterns:
        steps.append(search_step(pattern, effort, seed, tables))
        advance()
    starts = list(dict.fromkeys([step.best for step in steps] + [step.by_hypercube[0] for step in steps]))
    operations: list[Operation] = []
    timers = [Timer(operation.name, seed, effort.final_trials) for operation in collectives]
    for operation, timer in zip(collectives, timers, strict=True):
        operations.append(search_operation(timer, operation.title, starts, effort.collective_searches))
        advance()
    compromise = find_compromise(steps, operations, timers, effort, seed)
    advance()
    ring = ps3_ring(effort.ring_rounds, lambda share: progress((done + share) / parts))
    progress(1.0)
    return Study(tuple(steps), tuple(operations), compromise, ring)


# ---- rows ------------------------------------------------------------------------------------------------


def rows_of(study: Study) -> Iterator[Row]:
    """What is claimed, and whether it holds."""
    yield from _automatic(study)
    yield from _even_odd(study)
    yield from _other_ways(study)
    yield from _compromise(study)
    yield from _ring(study.ring)


def _best_affinity(affinities: dict[str, float], least: bool = False) -> tuple[str, float]:
    pick = min if least else max
    name = pick(affinities, key=lambda each: affinities[each])
    return name, affinities[name]


def _automatic(study: Study) -> Iterator[Row]:
    for step in study.steps:
        name, bandwidth = _best_affinity(step.affinities)
        ratio = step.best_gb_per_s / bandwidth
        said = f"better than {SHOWN[name]}" if ratio >= BETTER else f"as good as {SHOWN[name]}"
        what = f"{step.pattern.title}: the search is at least as good as the best affinity: {said}"
        yield statement_row(f"P/{step.pattern.name}", what, _SEARCH, ratio >= 1, ratio, "times its bandwidth")
    for operation in study.operations:
        name, time_us = _best_affinity(operation.affinities, least=True)
        ratio = time_us / operation.best_us
        said = f"better than {SHOWN[name]}" if ratio >= BETTER else f"as good as {SHOWN[name]}"
        what = (
            f"{operation.title}: the search finds a placement at least as good as the best affinity: {said}"
        )
        yield statement_row(f"P/{operation.name}", what, _SEARCH, ratio >= 1, ratio, "times faster")


def _even_odd(study: Study) -> Iterator[Row]:
    """EvenOdd "yields good performance on all the patterns studied": against the best placement there is."""
    shares = {step.pattern.name: step.affinities["even_odd"] / step.best_gb_per_s for step in study.steps}
    shares |= {
        operation.name: operation.best_us / operation.affinities["even_odd"] for operation in study.operations
    }
    for name, share in shares.items():
        what = f"{name}: EvenOdd is within 5 % of the best placement found"
        yield statement_row(f"E/{name}", what, _CLAIM, share >= GOOD, share, "of the best")
    least = min(shares, key=lambda name: shares[name])
    what = f"EvenOdd is good at all ten patterns (least: {least})"
    yield statement_row("E/all", what, _CLAIM, shares[least] >= GOOD, shares[least], "of the best")


def _other_ways(study: Study) -> Iterator[Row]:
    """The two ways of the paper's future work, against the best placement found by simulation."""
    for step in study.steps:
        model, cube = step.by_model[1] / step.best_gb_per_s, step.by_hypercube[1] / step.best_gb_per_s
        what = f"{step.pattern.title}: the placement that a model (link loads) proves best is good"
        yield statement_row(f"L/{step.pattern.name}", what, _SEARCH, model >= GOOD, model, "of the best")
        what = f"{step.pattern.title}: the placement by way of a hypercube onto EvenOdd is good"
        yield statement_row(f"H/{step.pattern.name}", what, _SEARCH, cube >= GOOD, cube, "of the best")


def _compromise(study: Study) -> Iterator[Row]:
    found = study.compromise
    for name, price in found.prices.items():
        what = f"{name}: price of the best compromise is at most 5 %"
        yield statement_row(f"C/{name}", what, _CLAIM, price <= 1 / GOOD, price, "times the best")
    even_odd = max(found.even_odd.values())
    what = "one placement for all ten patterns costs no pattern more than EvenOdd costs its worst"
    yield statement_row("C/all", what, _CLAIM, found.worst <= even_odd, found.worst, "times the best")


def _ring(ring: Ps3Ring) -> Iterator[Row]:
    for each in ring.certified:
        shown = mapping_text(each.mapping)
        what = f"PS3, {shown}, proven best by link load, is good: rank {each.rank} of 120 simulated"
        id = f"S/{shown[1:-1]}"
        yield statement_row(id, what, _PS3, each.factor <= 1 / GOOD, each.factor, "times the best")
    first = ring.certified[0].rank
    what = "PS3: the fastest of the 120 simulated mappings is among those proven best"
    yield statement_row("S/first", what, _PS3, first == 1, float(first), "best rank of the proven")
    what = "PS3: link load orders the mappings as the simulation does (rank correlation over 0.5)"
    yield statement_row("S/order", what, _PS3, ring.correlation > 0.5, ring.correlation)
    worst = max(each.factor for each in ring.certified)
    what = "PS3: a proven mapping is over 1 % better than one drawn at random (median)"
    unit = f"times the best, median {ring.median:.3g}"
    yield statement_row("S/random", what, _PS3, BETTER * worst < ring.median, worst, unit)


# ---- tables ----------------------------------------------------------------------------------------------


def tables_of(study: Study, rows: tuple[Row, ...]) -> Iterator[Table]:
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
    title = f"PS3, ring of six, proven best by link load ({ring.optimum_ns:.4g} ns per KB and round)"
    return Table(title, ("mapping", "simulated rank", "time over the best"), rows, note)
