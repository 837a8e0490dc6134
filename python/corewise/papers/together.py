"""The results of all papers' studies as one: what holds, what is refuted, what fails.

Nothing here simulates: it is given what the studies returned, and why those that did not run did not.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from corewise.analysis.result import (
    NUMBER_HOLDS,
    PaperResult,
    Row,
    Table,
    error_text,
    number_text,
    summarise,
)
from corewise.data.quantities import share_text

NAME = "paper all"
HANGING = "sensitivity"
"""The study whose first table says which findings hang on which number."""
_NOTE = (
    f"A published number holds where ours is within {100 * NUMBER_HOLDS:.0f} % of it. Refuted: it does not "
    "hold, and the reason is known. The rows of sensitivity are findings of 000 and 001 again: one holds "
    "where it does so on every variant."
)


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
    tables = (_summary(results, missing), *_that_do_not_hold(rows), *hanging)
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
