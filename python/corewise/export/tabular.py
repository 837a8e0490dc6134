"""Rows as files of columns: CSV, Parquet, Arrow IPC.

Owns how the columns of `corewise.data.events.COLUMNS` lie in these files. Memory is one batch; Parquet gets
a row group, Arrow a record batch for each. Parquet and Arrow carry the tables of processes and
communicators as JSON in the schema's metadata, under ``corewise``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corewise import __version__
from corewise.data.events import COLUMNS, Batch, Events, arrow_batch, arrow_schema, optional
from corewise.export.parquet import parquet_writer

Progress = Callable[[float], None]

ROWS_PER_GROUP = 262_144
"""Of a row group or record batch at most."""


def write_csv(events: Events, path: Path, progress: Progress) -> int:
    """A header and a line per row; texts are quoted where they must be. Returns the number of rows."""
    words = csv_words(events.words)
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(csv_header())
        for batch in events.batches(progress=progress):
            stream.writelines(csv_lines(batch, words))
            rows += len(batch)
    return rows


def csv_header() -> str:
    """The first line."""
    return ",".join(column.name for column in COLUMNS) + "\n"


def csv_words(tables: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The tables of `Events.words` as `csv_lines` takes them: quoted, and an empty text for the code -1."""
    return {name: [*map(_quoted, words), ""] for name, words in tables.items()}


def csv_lines(batch: Batch, quoted: dict[str, list[str]]) -> list[str]:
    """A line per row."""
    place = f"{batch.world},{batch.rank},{batch.thread}"
    columns: list[Sequence[str]] = []
    for column in COLUMNS[3:]:
        values = getattr(batch, column.name).tolist()
        words = quoted.get(column.name)
        columns.append([words[value] for value in values] if words is not None else [*map(str, values)])
    return [f"{place},{','.join(cells)}\n" for cells in zip(*columns, strict=True)]


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"' if any(each in word for each in ',"\r\n') else word


def write_parquet(events: Events, path: Path, progress: Progress) -> int:
    """One row group per batch, compressed with zstd. Returns the number of rows."""
    with parquet_writer(str(path), described_schema(events)) as writer:
        return _write_batches(events, writer, progress)


def write_arrow(events: Events, path: Path, progress: Progress) -> int:
    """An IPC file (Feather version 2) of one record batch per batch. Returns the number of rows."""
    with arrow_writer(path, described_schema(events)) as writer:
        return _write_batches(events, writer, progress)


@contextmanager
def arrow_writer(path: Path, schema: Any) -> Iterator[Any]:
    """What writes an IPC file."""
    arrow = optional("pyarrow", "frames")
    with arrow.OSFile(str(path), "wb") as sink, arrow.ipc.new_file(sink, schema) as writer:
        yield writer


def _write_batches(events: Events, writer: Any, progress: Progress) -> int:
    rows = 0
    for batch in events.batches(ROWS_PER_GROUP, progress):
        writer.write_batch(arrow_batch(batch, events.words))
        rows += len(batch)
    return rows


def described_schema(events: Events) -> Any:
    """The columns, with the tables of processes and communicators."""
    document = {
        "version": __version__,
        "processes": [
            {
                "world": each.world,
                "rank": each.rank,
                "file": each.file,
                "host": each.host,
                "pid": each.pid,
                "ending": each.ending,
                "start_ns": each.start_ns,
                "started_realtime_ns": each.started_realtime_ns,
            }
            for each in events.processes
        ],
        "communicators": [
            {
                "world": each.world,
                "name": each.name,
                "created_by": each.created_by,
                "size": each.size,
                "remote_size": each.remote_size,
                "ranks": None if each.identity else list(each.ranks),
                "remote_ranks": list(each.remote_ranks),
            }
            for each in events.communicators
        ],
        "problems": list(events.problems),
    }
    return arrow_schema().with_metadata({"corewise": json.dumps(document)})
