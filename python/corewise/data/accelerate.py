"""What the accelerate library did in a run, a file per rank (docs/formats/accelerate-counts.md).

Owns the format: CSV, whose first two lines name it and its version. A row per procedure, outcome and reason
with the number of calls. Invariant: calls that were taken have no reason, but that they were done in memory
that all ranks map; those that were passed on to the MPI have one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise.base.documents import Cells, Fields, parse_csv
from corewise.base.files import read_text
from corewise.errors import bad_field, shown

FORMAT, VERSION = "corewise-accelerate", 1
TAKEN, PASSED = OUTCOMES = ("taken", "passed")
MAPPED = "in mapped memory"
COPIES, COPIES_GO = "copies", ("through the caches", "past the caches")
_HEAD = ("format", "version")
_COLUMNS = ("procedure", "outcome", "why", "calls")
_FILE = re.compile(r"accelerate\.(\d{1,9})\.csv")
_PROCEDURE = re.compile(r"MPI_\w{1,60}|malloc|copies", re.ASCII)
_MOST_BYTES = 1 << 20
_MOST_WHY = 80


@dataclass(frozen=True)
class CollectiveCalls:
    """Calls of one rank that went one way.

    Attributes
    ----------
    procedure : str
        Its MPI name; or `malloc`, for large blocks of memory; or `COPIES`.
    outcome : str
        One of `OUTCOMES`.
    why : str
        Why they were passed on; empty where corewise did them, or `MAPPED`; of `COPIES` one of `COPIES_GO`.
    calls : int
    """

    procedure: str
    outcome: str
    why: str
    calls: int


def load_accelerate(profile: str | Path) -> Mapping[int, tuple[CollectiveCalls, ...]]:
    """Reads the files of a profile: rank -> its rows, in the order of ranks.

    Parameters
    ----------
    profile : path
        A folder ``NAME.cw``. Where the library was not loaded it has none of these files.

    Raises
    ------
    InputError
        A file that cannot be read, or is none of these.
    """
    folder = Path(profile)
    names = (_FILE.fullmatch(path.name) for path in folder.glob("accelerate.*.csv"))
    found = sorted((int(name[1]), folder / name[0]) for name in names if name)
    return {rank: parse_accelerate(read_text(path, _MOST_BYTES), str(path)) for rank, path in found}


def parse_accelerate(text: str, source: str = "") -> tuple[CollectiveCalls, ...]:
    """Reads the text of one; `source` begins every message."""
    lines = text.split("\n")
    head = Cells(source, "", dict(_named(name, lines[at : at + 1], source) for at, name in enumerate(_HEAD)))
    head.header(FORMAT, VERSION)
    # Empty lines in the place of the first two: messages have the numbers of the file's own lines.
    found = parse_csv("\n".join(["", "", *lines[2:]]), source, _COLUMNS)
    rows: dict[tuple[str, str, str], CollectiveCalls] = {}
    for fields in found.rows:
        row = _row(fields)
        if (key := (row.procedure, row.outcome, row.why)) in rows:
            raise bad_field(fields.source, "row", "the same calls a second time", "each once")
        rows[key] = row
    return tuple(rows.values())


def _named(name: str, line: list[str], source: str) -> tuple[str, str]:
    """The value in a line of the head."""
    found, _, value = line[0].partition(",") if line else ("", "", "")
    if found.strip() != name:
        raise bad_field(source, name, shown(found) if found else "nothing", f"the line {name},...")
    return name, value.strip()


def _row(fields: Fields) -> CollectiveCalls:
    procedure, why = fields.text("procedure"), fields.text("why", "")
    if not _PROCEDURE.fullmatch(procedure):
        raise fields.wrong("procedure", f"the name of an MPI procedure, malloc or {COPIES}")
    outcome = fields.one_of("outcome", OUTCOMES)
    if procedure == COPIES and (outcome == PASSED or why not in COPIES_GO):
        raise fields.wrong("why", f"{' or '.join(COPIES_GO)}, taken, of {COPIES}")
    if outcome == TAKEN and procedure != COPIES and why not in ("", MAPPED):
        raise fields.wrong("why", f"nothing or {MAPPED}, for calls that were taken")
    if outcome == PASSED and not (why.isprintable() and 0 < len(why) <= _MOST_WHY):
        raise fields.wrong("why", f"a text of 1 to {_MOST_WHY} characters, for calls that were passed on")
    return CollectiveCalls(procedure, outcome, why, fields.whole("calls", 1))
