"""What the commands of `corewise bench` share: options, and how an outcome is shown.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console
from corewise.cli.papers.show import fitted
from corewise.errors import InputError, RunError

with late.imports():
    from rich.text import Text

    from corewise.analysis.result import Figure, Table, built_commit
    from corewise.bench.rows import Listener, Outcome, stamped
    from corewise.bench.views import table
    from corewise.data.copy_hosts import host_name

ROUNDS = typer.Option(
    None, "--rounds", min=2, max=10_000, help="Measurements of each contestant; without: what the bench has."
)
QUICK = typer.Option(False, "--quick", help="Fewer rounds and cases: less than a minute.")
MPI = typer.Option(
    None, "--mpi", help="openmpi, mpich, a prefix, or a launcher; without: one Open MPI and one MPICH."
)
HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")
CHECK = typer.Option(False, "--check", help="End with 1 where a ratio is below what the project demands.")


def check_page(file: Path | None, tuning: Path | None = None) -> None:
    """Refuses a page that cannot be written, or that would have nothing to show."""
    if file is not None and tuning is not None:
        raise InputError(f"--html: found '{file}' with --tune, allowed: one of them, a tuning has no page")
    if file is not None:
        check_target(file)


def measure_and_show(
    question: str,
    measure: Callable[[Listener], Outcome],
    *,
    as_json: bool,
    check: bool = False,
    html_file: Path | None = None,
) -> None:
    """Runs a benchmark behind a progress bar, shows its rows, and says how to get who is absent."""
    check_page(html_file)
    with console.progress_bar(f"bench {question}") as advance:
        outcome = measure(Listener(advance, console.note))
    processor = host_name()
    rows = stamped(question, processor, [row.to_json() for row in outcome.rows])
    if as_json:
        console.show_json(
            f"bench {question}",
            processor,
            rows,
            commit=built_commit(),
            absent=[{"peer": peer.name, "get": peer.get} for peer in outcome.absent],
            remarks=list(outcome.remarks),
        )
    else:
        console.show(Text(f"bench {question} on {processor}", style="bold"), "", fitted(table(outcome)))
        for remark in outcome.remarks:
            console.show("", remark)
    for peer in outcome.absent:
        console.note(peer.hint)
    if html_file is not None:
        _write_page(outcome, processor, html_file)
    if check and (missed := outcome.missed()):
        raise RunError("; ".join(missed))


def _write_page(outcome: Outcome, processor: str, file: Path) -> None:
    # Pages load what most calls do not need, and the help of a command would wait for it.
    from corewise.cli import pages
    from corewise.report.page.result import bench_page

    pages.write(file, bench_page(outcome, processor, built_commit(), pages.written_now()))
    console.note(f"corewise: written to {file}")


def write_tables(
    file: Path, question: str, machine: str, tables: Iterable[Table], figures: Sequence[Figure]
) -> None:
    """Writes the page of a benchmark that has tables and figures of its own."""
    # Pages load what most calls do not need, and the help of a command would wait for it.
    from corewise.cli import pages

    pages.write_tables(file, question, machine, tables, figures)
