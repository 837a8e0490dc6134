"""Paper 004's numbers and statements, each as a row. What was not measured has none.

The paper's numbers are of a node of eight POWER3 in 2001; ours are of this host. They stand side by side as
figures of merit, not as a prediction: where today's hardware disagrees, a statement does not hold.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from corewise.analysis.result import Row, number_row, statement_row
from corewise.papers.node.data import WINS, Found, Measured, Transformed, Underused

_MIDDLE_GRANULE = "32"


def rows_of(found: Found) -> Iterator[Row]:
    """Section by section."""
    yield from _copies(found.copies_mb_per_s)
    for index, each in enumerate(found.statements):
        words = f"{each.mpi}: {each.what} ({each.found})"
        yield statement_row(f"s4/{index}", words, "004 section 4", each.reproduced)
    yield from _contention(found)
    yield from _shares(found)
    yield from _underused(found.underused)
    yield from _transforms(found)
    yield from _simulated(found.transformed)


# ---- section 3 ---------------------------------------------------------------------------------------------


def _copies(mb_per_s: Mapping[str, float]) -> Iterator[Row]:
    if not mb_per_s:
        return
    source = "004 section 3"
    for kernel, words, published in (
        ("memcpy", "memcpy of 40 MB", 184.0),
        ("read_allocate", "copy that reads its target first", 283.0),
        ("four_stream", "copy of both halves at once", 203.0),
    ):
        yield number_row(f"s3/{kernel}", words, source, published, mb_per_s[kernel], "MB/s", None)
    naive = mb_per_s["naive"]
    gain = 100 * (mb_per_s["read_allocate"] / naive - 1)
    yield number_row("s3/gain", "gained by reading the target first", source, 54.0, gain, "%", None)
    memcpy = mb_per_s["memcpy"] / naive
    yield statement_row(
        "s3/untuned", "memcpy is no quicker than a plain loop, within 5 %", source, memcpy < 1.05, memcpy
    )
    words = "reading the target first is quicker than a plain loop"
    yield statement_row("s3/touched", words, source, gain > 0, gain, "%")
    streams = mb_per_s["four_stream"] / mb_per_s["read_allocate"]
    yield statement_row("s3/streams", "four streams are slower than two", source, streams < 1, streams)


# ---- section 5 ---------------------------------------------------------------------------------------------


def _contention(found: Found) -> Iterator[Row]:
    source = "004 section 5, figure 3"
    for order, figure in (("alternating", "A"), ("incremental", "B")):
        points = _by_threads(found.having(f"node-contention-{order}-blocked-"))
        if len(points) > 1 and (ratio := points[max(points)].ratio) is not None:
            words = (
                f"with all {max(points)} processors each gets 5 % less of the memory than one alone, or less"
            )
            yield statement_row(f"fig3{figure}/less", f"{words}, {order}", source, ratio < 0.95, ratio)
    banks = _by_threads(found.having("node-contention-banks-blocked-"))
    ratios = [row.ratio for row in banks.values() if row.ratio is not None]
    if ratios:
        most = max(abs(ratio - 1) for ratio in ratios)
        yield statement_row(
            "fig3/banks", "binding by banks has no effect, within 5 %", source, most < 0.05, 100 * most, "%"
        )
    alone = found.rows.get("node-contention-prefetch-incremental-1")
    if alone is not None and alone.ratio is not None:
        yield number_row(
            "s8/prefetch", "a transpose changes by reading its target first", "004 section 8.3", -20.0,
            100 * (alone.ratio - 1), "%", None,
        )  # fmt: skip


def _by_threads(rows: Mapping[str, Measured]) -> dict[int, Measured]:
    return {int(key): row for key, row in rows.items() if key.isdigit()}


# ---- section 6 ---------------------------------------------------------------------------------------------


def _shares(found: Found) -> Iterator[Row]:
    source = "004 section 6, figure 4"
    rows = found.having("node-shares-mutex-")
    if not rows:
        return
    for kind, published, where in (
        ("uniform", 8.0, "interactive node: a quiet host"),
        ("loaded", 35.0, "batch node: a loaded host"),
    ):
        loss = _loss(rows.get(f"{kind}-{found.cores}-{_MIDDLE_GRANULE}"))
        if loss is not None:
            yield number_row(
                f"fig4/{kind}", f"lost by dynamic shares, {where}", source, published, loss, "%", None
            )
    several = {
        key: loss
        for key, row in rows.items()
        if key.startswith("uniform-")
        and not key.startswith("uniform-1-")
        and (loss := _loss(row)) is not None
    }
    if several:
        least = min(several.values())
        yield statement_row("fig4/static", "static shares are always quicker", source, least > 0, least, "%")
    empty = rows.get(f"empty-{found.cores}-{_MIDDLE_GRANULE}")
    if empty is not None and empty.ours is not None:
        words = "with the kernel left out all takes 5 ms or less"
        yield statement_row("s6/empty", words, source, empty.ours <= 5, empty.ours, "ms")
    granules = [loss for key, loss in several.items() if key.startswith(f"uniform-{found.cores}-")]
    if len(granules) > 1:
        apart = max(granules) - min(granules)
        words = "half and twice the granule change less than 1 %"
        yield statement_row("s6/granule", words, "004 section 6", apart < 1, apart, "%")


def _loss(row: Measured | None) -> float | None:
    """How much longer than static shares, in per cent."""
    return None if row is None or not row.ratio else 100 * (1 / row.ratio - 1)


# ---- section 7 ---------------------------------------------------------------------------------------------


def _underused(modelled: Sequence[Underused]) -> Iterator[Row]:
    source = "004 section 7, figure 5 of the text (modelled)"
    by_name: dict[str, dict[int, Underused]] = {}
    for each in modelled:
        by_name.setdefault(each.collective, {})[each.nodes] = each
    for name, nodes in by_name.items():
        gain = 100 * (nodes[1].seven_ns / nodes[1].eight_ns - 1)
        words = f"{name}: gained by the eighth process on one node"
        yield number_row(f"fig5/{name}/few", words, source, 10.0, gain, "%", None)
        for count, eight_wins in ((8, True), (16, False), (32, True)):
            ratio = nodes[count].seven_ns / nodes[count].eight_ns
            words = f"{'eight' if eight_wins else 'seven'} processes a node are quicker on {count} nodes"
            yield statement_row(
                f"fig5/{name}/{count}", f"{name}: {words}", source, (ratio > 1) == eight_wins, ratio
            )
    for count, each in by_name.get("by-nodes", {}).items():
        if each.assumed_ns is not None and count > 1:
            ratio = each.assumed_ns / each.seven_ns
            words = f"a library that takes eight processes for granted makes seven slower, {count} nodes"
            yield statement_row(f"s7/assumed/{count}", words, "004 section 7 (modelled)", ratio > 1.02, ratio)


# ---- section 8 ---------------------------------------------------------------------------------------------


def _transforms(found: Found) -> Iterator[Row]:
    forms = found.having("fft-form-")
    source = "004 section 8.4"
    for key, row in forms.items():
        form, _, side = key.partition("-")
        if row.ratio is None:
            continue
        if form == "dataflow":
            words = f"on few processors the threaded FFT is slower than pure MPI, {side} x {side}"
            yield statement_row(f"fig8/threaded-{side}", words, source, row.ratio < 1, row.ratio)


def _simulated(transformed: Sequence[Transformed]) -> Iterator[Row]:
    source = "004 section 8.4, figure 8 (simulated)"
    for each in transformed:
        quicker = each.processors >= WINS
        words = f"the threaded FFT is {'quicker' if quicker else 'slower'} than pure MPI"
        where = f"{each.side} x {each.side} on {each.processors} processors"
        for end, ratio in (("", each.ratio), ("/slowed", each.slowed_ratio)):
            more = ", its workers slowed as on batch nodes (section 6)" if end else ""
            yield statement_row(
                f"fig8/{each.side}/{each.processors}{end}",
                f"{words}{more}, {where}",
                source,
                (ratio > 1) == quicker,
                ratio,
            )
    for side in sorted({each.side for each in transformed}):
        points = sorted((each.processors, each.ratio) for each in transformed if each.side == side)
        if len(points) > 1:
            gained = points[-1][1] / points[0][1]
            words = f"the threaded FFT scales better than pure MPI, {side} x {side}"
            yield statement_row(f"fig8/{side}/scales", words, source, gained > 1, gained)
