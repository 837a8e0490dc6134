"""What the `corewise paper` commands share: how a result is shown and written.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corewise.base import late
from corewise.cli import console
from corewise.errors import CorewiseError, InputError

with late.imports():
    from rich.text import Text

    from corewise.analysis.result import PaperResult, Table
    from corewise.plots.figures import write_figures
    from corewise.report.layout import Column, FittingTable


def check_folder(folder: Path | None) -> None:
    """Refuses a target that cannot be a folder before the long work, and makes the folder."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: found a file, allowed: a folder to write figures to")
    folder.mkdir(parents=True, exist_ok=True)


def written_or_lost(write: Callable[[], list[Path]]) -> tuple[list[Path], CorewiseError | None]:
    """Writes files; an error comes back, to be raised when the numbers that took so long were shown."""
    try:
        return write(), None
    except CorewiseError as error:
        return [], error


def show_result(result: PaperResult, folder: Path | None, html_file: Path | None, as_json: bool) -> None:
    """Writes figures and page where asked for, then prints the tables or the JSON object."""
    written, lost = written_or_lost(lambda: write_figures(result.figures, folder) if folder else [])
    _show(result, written, folder, as_json)
    if html_file is not None:
        _write_page(result, html_file)
    if lost is not None:
        raise lost


def _write_page(result: PaperResult, file: Path) -> None:
    # Pages load what most calls do not need, and the help of a command would wait for it.
    from corewise.cli import pages
    from corewise.report.page.result import paper_page

    charts = pages.chart_section("figures", "Figures", result.figures) if result.figures else None
    pages.write(file, paper_page(result, charts, pages.written_now()))
    console.note(f"corewise: written to {file}")


def _show(result: PaperResult, written: list[Path], folder: Path | None, as_json: bool) -> None:
    if as_json:
        document = result.to_json()
        more = {
            key: value for key, value in document.items() if key not in ("name", "version", "machine", "rows")
        }
        console.show_json(
            result.name,
            result.machine,
            document["rows"],  # type: ignore[arg-type]
            **more,
            files=[str(path) for path in written],
        )
        return
    console.show(Text(f"{result.name} on {result.machine}", style="bold"))
    for table in result.tables:
        console.show("", fitted(table))
    if written:
        console.show("", f"{len(written)} figures written to {folder}")


def fitted(table: Table) -> FittingTable:
    """A table of the analysis as one that fits the terminal."""
    texts = table.text_columns()
    columns = [
        Column(
            name,
            [row[index] for row in table.rows],
            right=index not in texts,
            # Deviations in brackets go before anything else does.
            narrow=None if index in texts else [row[index].split(" (")[0] for row in table.rows],
            wrap=index in texts,
        )
        for index, name in enumerate(table.columns)
    ]
    return FittingTable(columns, title=table.title, remark=table.note)
