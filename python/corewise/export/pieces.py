"""Tables of a profile, made in pieces by any executor and joined in order: CSV, Parquet, Arrow.

A piece is some consecutive rows of some consecutive threads: as bytes of the file (CSV), as row groups
(Parquet) or as record batches (Arrow). Invariant: the file is the one, byte for byte, that
`corewise.export.tabular` writes alone, whoever made which piece. Memory of the command: the pieces that are
under way.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from corewise.base.executors import Workers
from corewise.base.jobs import in_order, in_pieces
from corewise.data.events import Batch, Events, arrow_batch, arrow_schema
from corewise.export.opened import Opened, opened, shared_text
from corewise.export.parquet import ParquetJoin, parquet_groups
from corewise.export.tabular import (
    ROWS_PER_GROUP,
    arrow_writer,
    csv_header,
    csv_lines,
    csv_words,
    described_schema,
)

Progress = Callable[[float], None]
Piece = list[tuple[int, int]]
"""Numbers of threads, each with the number of a batch of its rows."""


class Cut(NamedTuple):
    """How a form is cut.

    Attributes
    ----------
    rows : int
        Of a batch at most.
    piece_rows : int
        Of a piece at most, unless one batch has more.
    window : int
        Pieces that are with the executor, or wait for an earlier one, at one time.
    """

    rows: int
    piece_rows: int
    window: int


CUTS = {
    "csv": Cut(16_384, 16_384, 128),
    "parquet": Cut(ROWS_PER_GROUP, 65_536, 128),
    "arrow": Cut(ROWS_PER_GROUP, 65_536, 16),
}
"""Of a piece of CSV some 1.5 MB of text, of Parquet 1 MB, of Arrow 6 to 23 MB."""


def write_in_pieces(
    form: str, events: Events, path: Path, progress: Progress, workers: Workers, cut: Cut | None = None
) -> int:
    """What `corewise.export.tabular` writes, made by `workers`; returns the number of rows.

    Raises
    ------
    InputError
        A worker sees another profile under this path.
    RunError
        The workers are gone.
    """
    cut = cut or CUTS[form]
    shared = shared_text(events, form, cut.rows)
    pieces = list(_cut(events, cut))
    made = in_order(workers, make_piece, shared, pieces, cut.window)

    def told() -> Iterator[Any]:
        for number, piece in enumerate(made):
            yield piece
            progress((number + 1) / len(pieces))

    return _JOIN[form](events, path, told())


def _cut(events: Events, cut: Cut) -> Iterator[Piece]:
    """All batches in order; small threads share a piece. Kinds and times may leave a batch without rows."""
    batches = (
        ((thread.number, batch), min(cut.rows, thread.records - batch * cut.rows))
        for thread in events.threads
        for batch in range(-(-thread.records // cut.rows))
    )
    return in_pieces(batches, cut.piece_rows)


# ---- what a worker does ----------------------------------------------------------------------------------


def make_piece(shared: str, piece: Piece) -> Any:
    """These batches as the form has them."""
    profile = opened(shared)
    batches = (profile.batch(thread, number) for thread, number in piece)
    return _MAKE[profile.form](profile, [batch for batch in batches if batch is not None])


def _csv_piece(profile: Opened, batches: list[Batch]) -> tuple[bytes, int]:
    if profile.quoted is None:
        profile.quoted = csv_words(profile.words)
    words = profile.quoted
    texts = [line for batch in batches for line in csv_lines(batch, words)]
    return "".join(texts).encode(), len(texts)


def _parquet_piece(profile: Opened, batches: list[Batch]) -> Any:
    return parquet_groups((arrow_batch(batch, profile.words) for batch in batches), arrow_schema())


def _arrow_piece(profile: Opened, batches: list[Batch]) -> list[Any]:
    return [arrow_batch(batch, profile.words) for batch in batches]


_MAKE: dict[str, Callable[[Opened, list[Batch]], Any]] = {
    "csv": _csv_piece,
    "parquet": _parquet_piece,
    "arrow": _arrow_piece,
}


# ---- what the command does with it -----------------------------------------------------------------------


def _join_csv(events: Events, path: Path, pieces: Iterator[tuple[bytes, int]]) -> int:
    written = 0
    with path.open("wb") as stream:
        stream.write(csv_header().encode())
        for text, rows in pieces:
            stream.write(text)
            written += rows
    return written


def _join_parquet(events: Events, path: Path, pieces: Iterator[Any]) -> int:
    written = 0
    with path.open("wb") as stream:
        whole = ParquetJoin(stream, described_schema(events))
        for piece in pieces:
            whole.add(piece)
            written += piece.rows
        whole.finish()
    return written


def _join_arrow(events: Events, path: Path, pieces: Iterator[list[Any]]) -> int:
    written = 0
    with arrow_writer(path, described_schema(events)) as writer:
        for piece in pieces:
            for batch in piece:
                writer.write_batch(batch)
                written += len(batch)
    return written


_JOIN: dict[str, Callable[[Events, Path, Iterator[Any]], int]] = {
    "csv": _join_csv,
    "parquet": _join_parquet,
    "arrow": _join_arrow,
}
