"""Row groups of a Parquet file that others have made, joined to one file.

A worker writes a Parquet file of its own with `parquet_groups`; `ParquetJoin` takes the row groups out of it
and puts them behind one another. Only what says where something lies is written anew: the offsets in the
metadata of a row group, and its number. Invariant: the file is the one, byte for byte, that a single
`pyarrow.parquet.ParquetWriter` makes of the same batches. Metadata are read as Thrift's compact protocol, by
the fields of ``parquet.thrift``. Memory of the command: the metadata, some 2 KB a row group.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from corewise.data.events import optional

_MAGIC = b"PAR1"
_END = 8
"""Bytes behind the metadata: their length, and the magic number."""
_ROWS, _GROUPS, _GROUP = (3,), (4,), (4, 0)
_ORDINAL = (4, 0, 7)
_OFFSETS = frozenset(
    [
        (4, 0, 5),  # RowGroup.file_offset
        (4, 0, 1, 0, 2),  # ColumnChunk.file_offset
        (4, 0, 1, 0, 4),  # ColumnChunk.offset_index_offset
        (4, 0, 1, 0, 6),  # ColumnChunk.column_index_offset
        (4, 0, 1, 0, 3, 9),  # ColumnMetaData.data_page_offset
        (4, 0, 1, 0, 3, 10),  # ColumnMetaData.index_page_offset
        (4, 0, 1, 0, 3, 11),  # ColumnMetaData.dictionary_page_offset
        (4, 0, 1, 0, 3, 14),  # ColumnMetaData.bloom_filter_offset
    ]
)
"""Paths of the fields that hold a place in the file; 0 stands for an element of a list."""
_WANTED = _OFFSETS | {_ROWS, _GROUPS, _GROUP, _ORDINAL}


class RowGroup(NamedTuple):
    """The metadata of a row group: texts, and between two of them a place in the file (None: the number)."""

    texts: list[bytes]
    places: list[int | None]


class Groups(NamedTuple):
    """Row groups as a worker made them."""

    data: bytes
    groups: list[RowGroup]
    rows: int


def parquet_writer(sink: Any, schema: Any) -> Any:
    """What writes a Parquet file, a row group for each batch."""
    return optional("pyarrow.parquet", "frames").ParquetWriter(sink, schema, compression="zstd")


def parquet_groups(batches: Iterable[Any], schema: Any) -> Groups:
    """A row group for each `pyarrow.RecordBatch`."""
    rows = 0
    sink = optional("pyarrow", "frames").BufferOutputStream()
    with parquet_writer(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += len(batch)
    content = sink.getvalue().to_pybytes()
    metadata = _metadata(content)
    data = content[len(_MAGIC) : len(content) - len(metadata) - _END]
    return Groups(data, list(_row_groups(metadata)), rows)


class ParquetJoin:
    """A Parquet file that is written from `Groups`."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:
        sink = optional("pyarrow", "frames").BufferOutputStream()
        parquet_writer(sink, schema).close()
        self._metadata = _metadata(sink.getvalue().to_pybytes())
        self._stream = stream
        self._at = stream.write(_MAGIC)
        self._rows = 0
        self._groups: list[bytes] = []

    def add(self, piece: Groups) -> None:
        """The next row groups."""
        shift = self._at - len(_MAGIC)
        self._at += self._stream.write(piece.data)
        self._rows += piece.rows
        for texts, places in piece.groups:
            number = len(self._groups)
            values = [number if place is None else place + shift for place in places]
            said = [text + _integer(value) for text, value in zip(texts, values, strict=False)]
            self._groups.append(b"".join([*said, texts[-1]]))

    def finish(self) -> None:
        """After the last one."""
        said = self._metadata
        found = {span.path: span for span in _Walk(said).found}
        rows, groups = found[_ROWS], found[_GROUPS]
        metadata = b"".join(
            [
                said[: rows.begin],
                _integer(self._rows),
                said[rows.end : groups.begin],
                _list_header(len(self._groups)),
                *self._groups,
                said[groups.end :],
            ]
        )
        self._stream.write(metadata + len(metadata).to_bytes(4, "little") + _MAGIC)


def _metadata(content: bytes) -> bytes:
    """What stands at the end of a Parquet file."""
    length = int.from_bytes(content[-_END:-4], "little")
    return content[-_END - length : -_END]


class _Span(NamedTuple):
    """Where a value stands in the metadata; `number` is an integer's value."""

    path: tuple[int, ...]
    begin: int
    end: int
    number: int


def _row_groups(metadata: bytes) -> Iterator[RowGroup]:
    inner: list[_Span] = []
    for span in _Walk(metadata).found:
        # A place that is 0 is none: the magic number stands there.
        if span.path == _ORDINAL or (span.path in _OFFSETS and span.number):
            inner.append(span)
        elif span.path == _GROUP:
            begins = [span.begin, *(each.end for each in inner)]
            ends = [*(each.begin for each in inner), span.end]
            texts = [metadata[begin:end] for begin, end in zip(begins, ends, strict=True)]
            yield RowGroup(texts, [None if each.path == _ORDINAL else each.number for each in inner])
            inner = []


def _integer(value: int) -> bytes:
    """A number that is not negative, in zigzag order."""
    return _varint(value << 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_STRUCT = 12


def _list_header(size: int) -> bytes:
    """Of a list of structs."""
    return bytes([size << 4 | _STRUCT]) if size < 15 else bytes([0xF0 | _STRUCT]) + _varint(size)


class _Walk:
    """Goes through a struct of Thrift's compact protocol; `found`: values at `_WANTED`, inner ones first."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self.found: list[_Span] = []
        self._struct(())

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _struct(self, path: tuple[int, ...]) -> None:
        last = 0
        while header := self._byte():
            last = last + (header >> 4) if header >> 4 else self._number()
            if header & 15 > 2:  # the two values of a boolean are types
                self._value(header & 15, (*path, last))

    def _value(self, type_: int, path: tuple[int, ...]) -> None:
        begin, number = self._at, 0
        if type_ in (1, 2, 3):
            self._at += 1
        elif type_ in (4, 5, 6):
            number = self._number()
        elif type_ == 7:
            self._at += 8
        elif type_ == 8:
            length = self._varint()
            self._at += length
        else:
            self._inner(type_, path)
        if path in _WANTED:
            self.found.append(_Span(path, begin, self._at, number))

    def _inner(self, type_: int, path: tuple[int, ...]) -> None:
        if type_ == _STRUCT:
            self._struct(path)
            return
        for each in self._types(type_):
            self._value(each, (*path, 0))

    def _types(self, type_: int) -> Iterator[int]:
        """Of the elements of a list or set, or of the keys and values of a map, one after the other."""
        if type_ == 11:
            size = self._varint()
            pair = self._byte() if size else 0
            yield from (pair >> 4, pair & 15) * size
            return
        header = self._byte()
        yield from (header & 15,) * (header >> 4 if header < 0xF0 else self._varint())
