"""The findings by parameters, and the parameters by what they turn, as rows and tables.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corewise.analysis.result import Row, Table, statement_row
from corewise.papers.sensitivity.data import Sensitivity, Variant


def variant_text(variant: Variant) -> str:
    """``mfc_command_interval_cycles half and retry_cycles double``."""
    return " and ".join(map(str, variant)) or "as it is"


def rows_of(found: Sensitivity) -> Iterator[Row]:
    """A row per finding: whether it holds on the machine as it is and on every variant."""
    hanging = found.hang()
    for finding in found.findings:
        variants = hanging.get(finding, [])
        holds = found.base.holds[finding.name]
        on = f"; fails with {'; '.join(map(variant_text, variants))}" if variants else ""
        yield statement_row(
            f"S/{finding.paper}/{finding.id}",
            f"{finding.what}{on}",
            f"paper {finding.paper}",
            holds and not variants,
            float(len(variants)),
            "variants on which it fails though it holds",
        )


def tables_of(found: Sensitivity, rows: Sequence[Row]) -> Iterator[Table]:
    """Findings by parameters; parameters by findings."""
    yield _findings(found)
    yield _parameters(found)
    if found.failed:
        cells = tuple((variant_text(variant), why) for variant, why in found.failed.items())
        yield Table("Variants on which the programs do not run", ("variant", "why"), cells)


def _findings(found: Sensitivity) -> Table:
    cells = tuple(
        (f"{finding.name}: {finding.what}", str(len(variants)), "; ".join(map(variant_text, variants)))
        for finding, variants in found.hang().items()
    )
    holding = sum(found.base.holds.values())
    note = (
        f"{holding} of {len(found.findings)} findings hold; "
        f"of these {len(cells)} hang on a number varied here"
    )
    return Table("Findings that hang on one number", ("finding", "fails on", "variants"), cells, note)


def _parameters(found: Sensitivity) -> Table:
    measures = list(found.base.errors)
    columns = ("variant", "lost", "won", *(f"{paper} {name}, mean error" for paper, name in measures))
    cells = []
    for variant, outcome in found.outcomes.items():
        errors = (f"{100 * outcome.errors[measure]:.1f} %" for measure in measures)
        lost, won = (len(found.turned(variant, to)) for to in (False, True))
        cells.append((variant_text(variant), str(lost), str(won), *errors))
    return Table("What a number turns", columns, tuple(cells))
