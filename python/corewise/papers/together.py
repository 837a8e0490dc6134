"""The results of all papers' studies as one: what holds, what is refuted, what fails.

Studies that simulate run beside each other; when all of them have ended, those that measure this host run,
one after the other. Which ran when does not show in the result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock

from corewise.analysis.result import (
    NUMBER_HOLDS,
    PaperResult,
    Progress,
    Row,
    Table,
    error_text,
    summarise,
)
from corewise.data.quantities import number_text, share_text
from corewise.errors import CorewiseError

NAME = "paper all"
HANGING = "sensitivity"
"""The study whose first table says which findings hang on which number."""
_NOTE = (
    f"A published number holds where ours is within {100 * NUMBER_HOLDS:.0f} % of it. Refuted: it does not "
    "hold, and the reason is known. The rows of sensitivity are findings of 000 and 001 again: one holds "
    "where it does so on every variant."
)


def run_all(
    studies: Sequence[tuple[str, bool, Callable[[bool, Progress], PaperResult]]],
    quick: bool,
    progress: Progress,
) -> tuple[dict[str, PaperResult], dict[str, str]]:
    """What the studies return, by name in their order, and why those that did not run did not.

    Parameters
    ----------
    studies : sequence of (str, bool, callable)
        Name, whether it measures this host, and ``whole(quick, progress)``.
    quick : bool
    progress : callable
        Told the share that is done.
    """
    shares = {name: 0.0 for name, _, _ in studies}
    lock = Lock()
    outcomes: dict[str, PaperResult | str] = {}

    def run(name: str, whole: Callable[[bool, Progress], PaperResult]) -> None:
        def advance(share: float) -> None:
            with lock:
                shares[name] = share
                progress(sum(shares.values()) / len(shares))

        try:
            outcomes[name] = whole(quick, advance)
        except CorewiseError as error:
            outcomes[name] = str(error)

    simulated = [(name, whole) for name, measures, whole in studies if not measures]
    # All at once: a long one that began last would have the cores to itself. Simulations hold no lock.
    with ThreadPoolExecutor(max_workers=len(simulated) or 1) as pool:
        runs = [pool.submit(run, *each) for each in simulated]
        try:
            for each in runs:
                each.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for name, measures, whole in studies:
        if measures:
            run(name, whole)
    found = {name: outcomes[name] for name, _, _ in studies}
    results = {name: each for name, each in found.items() if isinstance(each, PaperResult)}
    return results, {name: each for name, each in found.items() if isinstance(each, str)}


def together(results: Mapping[str, PaperResult], missing: Mapping[str, str]) -> PaperResult:
    """One result of many.

    Parameters
    ----------
    results : mapping of str to PaperResult
        Command of a study to what it returned.
    missing : mapping of str to str
        Command of a study that did not run to why.
    """
    rows = [replace(row, id=f"{name}/{row.id}") for name, result in results.items() for row in result.rows]
    hanging = results[HANGING].tables[:1] if HANGING in results else ()
    # Of the findings that hang on a number the last table tells more.
    told = [row for row in rows if not (hanging and row.id.startswith(f"{HANGING}/"))]
    tables = (_summary(results, missing), *_that_do_not_hold(told), *hanging)
    figures = tuple(figure for result in results.values() for figure in result.figures)
    return PaperResult(NAME, "the machines of each study", tuple(rows), tables, figures)


def _summary(results: Mapping[str, PaperResult], missing: Mapping[str, str]) -> Table:
    cells = []
    for name, result in results.items():
        verdicts = Counter(row.verdict for row in result.rows)
        errors = summarise(result.rows)
        cells.append(
            (
                name,
                *(str(verdicts[each]) for each in ("holds", "refuted", "fails")),
                str(errors.count),
                share_text(errors.mean) if errors.count else "",
                share_text(errors.worst) if errors.count else "",
                result.machine,
            )
        )
    cells += [(name, "", "", "", "", "", "", f"did not run: {why}") for name, why in missing.items()]
    columns = ("study", "holds", "refuted", "fails", "published numbers", "mean error", "worst", "machine")
    return Table("What became of the papers' claims", columns, tuple(cells), _NOTE)


def _that_do_not_hold(rows: Sequence[Row]) -> Iterator[Table]:
    refuted = tuple((row.id, row.what, row.refuted or "") for row in rows if row.verdict == "refuted")
    if refuted:
        yield Table("Refuted", ("id", "claim", "why"), refuted)
    failing = tuple(
        (
            row.id,
            row.what,
            number_text(row.published),
            f"{number_text(row.ours)} {row.unit}".strip(),
            error_text(row.error),
        )
        for row in rows
        if row.verdict == "fails"
    )
    if failing:
        yield Table("Fails", ("id", "claim", "published", "ours", "error"), failing)
