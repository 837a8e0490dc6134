"""Copy-tuning files: which copy kernel is quickest, per host (docs/formats/copy-tuning.md).

Owns the format: TOML, one file per host, a line a row. A row per audience, alignment and range of sizes in
which a kernel other than memcpy won, with what both took; a row per size of message with the way that won.
Invariant: what was read and is written again is the same file. Whether this processor has the kernels is
asked when a tuning is used, not when it is read.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from corewise import _core
from corewise.base.documents import Fields, parse_toml
from corewise.base.files import read_text, write_text
from corewise.errors import bad_field

FORMAT, VERSION = "corewise-copy-tuning", 1
AUDIENCES = ("self", "other", "nobody")
"""Who reads the target next: this core, another one soon, nobody soon (``kernels/copy/copy.hpp``)."""
ALIGNMENTS = ("same", "shifted", "aliasing")
WAYS = ("slot", "pipeline", "direct", "halves")
KERNELS = tuple(name for name, *_ in _core.copy_kernels())
_HEAD = ("format", "version", "host", "who", "when", "command", "row", "message")
_ROW = ("audience", "alignment", "bytes_from", "bytes_to", "kernel", "measured_bytes", "ours_ns", "memcpy_ns")
_MESSAGE = ("bytes", "way", "sender", "receiver", "chunk", "ours_ns", "slot_ns", "apart_ns")


@dataclass(frozen=True)
class CopyRow:
    """Copies of `bytes_from` up to `bytes_to` bytes are done by `kernel`.

    Attributes
    ----------
    audience, alignment : str
        One of `AUDIENCES` and of `ALIGNMENTS`.
    bytes_from, bytes_to : int
        Powers of two; the second no longer belongs to the range.
    kernel : str
        One of `KERNELS`.
    measured_bytes : tuple of int
        Rising.
    ours_ns, memcpy_ns : tuple of float
        Per measured size, one copy.
    """

    audience: str
    alignment: str
    bytes_from: int
    bytes_to: int
    kernel: str
    measured_bytes: tuple[int, ...]
    ours_ns: tuple[float, ...]
    memcpy_ns: tuple[float, ...]


@dataclass(frozen=True)
class MessageRow:
    """The way that was quickest from core to core.

    Attributes
    ----------
    bytes : int
    way : str
        One of `WAYS`.
    sender, receiver : str
        Kernels of `KERNELS`; `direct` has no use for the first.
    chunk : int
        Bytes; 0: everything at once. For `halves`: what the sender copies, 0: half.
    ours_ns, slot_ns : float
        One message by this way, and by two memcpys through a slot.
    apart_ns : float
        From core to core, one way, while that was measured.
    """

    bytes: int
    way: str
    sender: str
    receiver: str
    chunk: int
    ours_ns: float
    slot_ns: float
    apart_ns: float


@dataclass(frozen=True)
class CopyTuning:
    """A tuning file.

    Attributes
    ----------
    host : str
        The processor it was measured on.
    who, when, command : str
        The version that measured, the day, and what repeats it.
    rows : tuple of CopyRow
    messages : tuple of MessageRow
    """

    host: str
    who: str
    when: str
    command: str
    rows: tuple[CopyRow, ...]
    messages: tuple[MessageRow, ...] = ()

    def knob(self) -> str:
        """The rows in one line, as ``kernels/copy/copy.hpp`` reads them; memcpy where there is no row."""
        fields = []
        for audience in AUDIENCES:
            for alignment in ALIGNMENTS:
                rows = [row for row in self.rows if (row.audience, row.alignment) == (audience, alignment)]
                fields.append(f"{audience}.{alignment}={_steps(rows)}")
        return ";".join(fields)


def _steps(rows: list[CopyRow]) -> str:
    steps, kernel, end = ["memcpy"], "memcpy", 0
    for row in sorted(rows, key=lambda row: row.bytes_from):
        if end != row.bytes_from and kernel != "memcpy":
            steps.append(f"memcpy@{end}")
            kernel = "memcpy"
        if row.kernel != kernel:
            steps.append(f"{row.kernel}@{row.bytes_from}")
        kernel, end = row.kernel, row.bytes_to
    return ",".join(steps if kernel == "memcpy" else [*steps, f"memcpy@{end}"])


def load_copy_tuning(path: str | Path) -> CopyTuning:
    """Reads a copy-tuning file."""
    return parse_copy_tuning(read_text(Path(path)), str(path))


def save_copy_tuning(tuning: CopyTuning, path: str | Path) -> None:
    """Writes a copy-tuning file."""
    write_text(Path(path), copy_tuning_text(tuning))


def copy_tuning_text(tuning: CopyTuning) -> str:
    """The file's text."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "host": tuning.host,
        "who": tuning.who,
        "when": tuning.when,
        "command": tuning.command,
    }
    lines = [f"{key} = {_toml(value)}" for key, value in head.items()]
    for name, fields, rows in (("row", _ROW, tuning.rows), ("message", _MESSAGE, tuning.messages)):
        if rows:
            lines += ["", f"{name} = [", *(f"  {_inline(row, fields)}," for row in rows), "]"]
    return "\n".join(lines) + "\n"


def _inline(row: CopyRow | MessageRow, fields: tuple[str, ...]) -> str:
    """A row as a table in one line."""
    return f"{{ {', '.join(f'{field} = {_toml(getattr(row, field))}' for field in fields)} }}"


def _toml(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def parse_copy_tuning(text: str, source: str = "") -> CopyTuning:
    """Reads the text of one; `source` begins every message."""
    head = parse_toml(text, source)
    head.only(_HEAD, ("row", "message"))
    head.header(FORMAT, VERSION)
    rows = tuple(_row(fields) for fields in head.tables("row"))
    _check_ranges(source, rows)
    return CopyTuning(
        host=head.text("host"),
        who=head.text("who"),
        when=head.text("when"),
        command=head.text("command"),
        rows=rows,
        messages=tuple(_message(fields) for fields in head.tables("message")),
    )


def _row(fields: Fields) -> CopyRow:
    fields.only(_ROW)
    measured = fields.wholes("measured_bytes", 1)
    row = CopyRow(
        audience=fields.one_of("audience", AUDIENCES),
        alignment=fields.one_of("alignment", ALIGNMENTS),
        bytes_from=_power(fields, "bytes_from"),
        bytes_to=_power(fields, "bytes_to"),
        kernel=fields.one_of("kernel", KERNELS),
        measured_bytes=measured,
        ours_ns=fields.positives("ours_ns", len(measured), "measured size"),
        memcpy_ns=fields.positives("memcpy_ns", len(measured), "measured size"),
    )
    if row.bytes_to <= row.bytes_from:
        raise fields.wrong("bytes_to", f"more than bytes_from, {row.bytes_from}")
    return row


def _power(fields: Fields, field: str) -> int:
    value = fields.whole(field, 1)
    if value & (value - 1):
        raise fields.wrong(field, "a power of two")
    return value


def _message(fields: Fields) -> MessageRow:
    fields.only(_MESSAGE)
    way = fields.one_of("way", WAYS)
    return MessageRow(
        bytes=fields.whole("bytes", 1),
        way=way,
        sender=fields.one_of("sender", KERNELS),
        receiver=fields.one_of("receiver", KERNELS),
        chunk=fields.whole("chunk", 1 if way == "pipeline" else 0),
        ours_ns=fields.positive("ours_ns"),
        slot_ns=fields.positive("slot_ns"),
        apart_ns=fields.positive("apart_ns"),
    )


def _check_ranges(source: str, rows: tuple[CopyRow, ...]) -> None:
    ends: dict[tuple[str, str], int] = {}
    for index, row in enumerate(rows):
        place = (row.audience, row.alignment)
        if row.bytes_from < ends.get(place, 0):
            allowed = f"at least {ends[place]}, where the row before it ends"
            raise bad_field(source, f"row[{index}].bytes_from", row.bytes_from, allowed)
        ends[place] = row.bytes_to
