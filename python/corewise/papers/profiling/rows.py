"""Paper 003's numbers and statements, each as a row.

The paper's numbers are of a 3.2 GHz SPE, whose profiler shares a local store with the program; ours are of
this host. They stand side by side as figures of merit, not as a prediction: what is held are the paper's
statements.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corewise.analysis.result import Row, number_row, statement_row
from corewise.papers.profiling.data import LARGE, PAPER_BYTES, PAPER_EVENTS, SATURATED, Case, Study


def rows_of(studies: Sequence[Study]) -> Iterator[Row]:
    """Numbers that the paper gives, then its statements."""
    first = studies[0]
    yield from _number_rows("fig2", "figure 2", first, SATURATED, 6.3, 6.8)
    yield from _number_rows("fig3", "figure 3", first, LARGE, 5.6, 4.0)
    largest = f"buffer {max(first.effort.buffers)}"
    slow = first.slowdown(largest, LARGE).median
    yield number_row(
        "fig4a/slowdown", "slowdown with the largest buffers", "003 figure 4", 3.7, slow, "", None
    )
    cost_us = first.null_added_ns("drain").median * 1e-3
    yield number_row(
        "fig4b/call", "cost of a call in an application", "003 section 4.1", 0.3, cost_us, "us", None
    )
    share = 100 * first.application_share("drain")
    yield number_row("fig4b/share", "overhead of the application", "003 figure 4", 0.5, share, "%", None)
    for study in studies[1:]:
        yield from _number_rows("fig5", "figure 5", study, SATURATED, 3.2, 4.2)
    yield from _statement_rows(studies)


def _number_rows(
    key: str, figure: str, study: Study, case: Case, published_us: float, published_slow: float
) -> Iterator[Row]:
    cost_us = study.added_ns("drain", case).median * 1e-3
    where = f"{case[1]}-byte messages, {case[0]} events"
    yield number_row(
        f"{key}/call", f"cost per event, {where}", f"003 {figure}", published_us, cost_us, "us", None
    )
    slow = study.slowdown("drain", case).median
    yield number_row(f"{key}/slowdown", f"slowdown, {where}", f"003 {figure}", published_slow, slow, "", None)


def _statement_rows(studies: Sequence[Study]) -> Iterator[Row]:
    first = studies[0]
    for index, study in enumerate(studies):
        costs = [study.added_ns("drain", (events, PAPER_BYTES)).median for events in study.effort.events]
        yield statement_row(
            f"fig{'25'[index]}/below",
            f"{study.mpi}: a recorded event costs less than the paper's, at every number of events",
            f"003 figure {'25'[index]}",
            max(costs) * 1e-3 < (6.3, 3.2)[index],
            max(costs),
            "ns",
        )
    sizes = first.effort.sizes
    small, large = (first.slowdown("drain", (PAPER_EVENTS, size)).median for size in (min(sizes), max(sizes)))
    yield statement_row(
        "fig3/falls",
        "larger messages hide the recorder: the slowdown falls from the smallest to the largest",
        "003 figure 3",
        large < small,
        small / large,
    )
    share = 100 * first.application_share("drain")
    yield statement_row(
        "fig4b/half-percent",
        "recording an application's messages costs less than 0.5 % (rate times cost)",
        "003 figure 4",
        share < 0.5,
        share,
        "%",
    )
    cost = first.null_added_ns("drain")
    yield statement_row(
        "fig4b/0.3us",
        "a recorded call costs less than 0.3 us",
        "003 section 4.1",
        cost.median < 300,
        cost.median,
        "ns",
    )
