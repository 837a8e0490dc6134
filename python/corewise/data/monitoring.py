"""What Open MPI's own monitoring component counted: files ``PREFIX.RANK.prof``, one per rank.

They are the one source of *physical* volumes of collectives: the component sits below PMPI and sees the
messages into which the library takes a collective apart. They come from a run with
``OMPI_MCA_pml_monitoring_enable=2`` (2 keeps the program's messages and the library's own apart),
``OMPI_MCA_pml_monitoring_enable_output=3`` and ``OMPI_MCA_pml_monitoring_filename=PREFIX``.

The format, as Open MPI 4.1 and 5.0 write it: lines of tab-separated fields
``KIND FROM TO "N bytes" "N msgs sent"`` and after them, sometimes, a histogram of sizes. KIND is E (the
program's point-to-point messages), I (the library's own, above all those of collectives), S and R (one-sided
data sent and received), C (a collective's pairs by Open MPI's own account). Sections begin with ``#``; ``D``,
``O2A``, ``A2O`` and ``A2A`` lines are sums per communicator, which no pair can be read from.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corewise.base.documents import Cells
from corewise.base.files import read_text
from corewise.errors import InputError, bad_field, shown

_PAIR_KINDS = {"E": "external", "I": "internal", "S": "put", "R": "get", "C": "collective"}
_SUM_KINDS = frozenset({"D", "O2A", "A2O", "A2A"})
_COLUMNS = ("kind", "from", "to", "bytes", "messages")
_UNITS = {"bytes": re.compile(r" bytes$"), "messages": re.compile(r" msgs? \w+$")}

Pairs = dict[tuple[int, int], tuple[int, int]]
"""(sender, receiver) to (bytes, messages)."""


@dataclass(frozen=True)
class Monitoring:
    """One run's counters.

    Attributes
    ----------
    files : tuple of Path
        What was read.
    external, internal, put, get, collective : dict
        Pairs of world ranks to bytes and messages, by the kinds above; pairs without a message are left out.
    """

    files: tuple[Path, ...]
    external: Pairs = field(default_factory=dict)
    internal: Pairs = field(default_factory=dict)
    put: Pairs = field(default_factory=dict)
    get: Pairs = field(default_factory=dict)
    collective: Pairs = field(default_factory=dict)


def load_monitoring(sources: Sequence[str], ranks: int) -> Monitoring:
    """Reads the files of one run.

    Parameters
    ----------
    sources : sequence of str
        Each a file, a folder with such files, or the PREFIX that was given to Open MPI.
    ranks : int
        Of the run's world. Every rank must have left a file, or the matrix would lack its messages.

    Raises
    ------
    InputError
        A file is missing, of another run, or not such a file.
    """
    files = [file for source in sources for file in _files_of(source)]
    found = Monitoring(tuple(files))
    ranks_seen: dict[int, Path] = {}
    for file in files:
        rank = _rank_of(file)
        if rank >= ranks:
            raise bad_field(str(file), "rank", rank, f"0..{ranks - 1}, the ranks of the profile")
        if rank in ranks_seen:
            raise InputError(f"{file}: rank {rank} has a file already: {ranks_seen[rank]}")
        ranks_seen[rank] = file
        _read(file, ranks, found)
    missing = [rank for rank in range(ranks) if rank not in ranks_seen]
    if missing:
        raise InputError(
            f"{sources[0]}: no monitoring file of rank {missing[0]}"
            f" ({len(missing)} of {ranks} ranks are missing), allowed: one PREFIX.RANK.prof per rank"
        )
    return found


def _files_of(source: str) -> list[Path]:
    path = Path(source)
    if path.is_file():
        return [path]
    pattern = (path, "*.prof") if path.is_dir() else (path.parent, f"{path.name}.*.prof")
    files = sorted(pattern[0].glob(pattern[1]), key=lambda file: (len(file.name), file.name))
    if not files:
        raise InputError(f"{source}: found nothing, allowed: PREFIX.RANK.prof files of Open MPI's monitoring")
    return files


def _rank_of(file: Path) -> int:
    parts = file.name.split(".")
    if len(parts) < 3 or parts[-1] != "prof" or not re.fullmatch("[0-9]{1,9}", parts[-2]):
        raise InputError(f"{file}: found another name, allowed: PREFIX.RANK.prof")
    return int(parts[-2])


def _read(file: Path, ranks: int, into: Monitoring) -> None:
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        texts = line.split("\t")
        if not line.strip() or line.startswith("#") or texts[0] in _SUM_KINDS:
            continue
        where = f"{file}:{number}"
        if texts[0] not in _PAIR_KINDS or len(texts) < len(_COLUMNS):
            raise InputError(f"{where}: not a line of Open MPI's monitoring: {shown(line)}")
        cells = Cells(where, "", dict(zip(_COLUMNS, texts, strict=False)))
        pair = cells.whole("from", 0, ranks - 1), cells.whole("to", 0, ranks - 1)
        # What a rank got lies with the one that fetched it: the data went the other way.
        ends = pair if texts[0] != "R" else (pair[1], pair[0])
        pairs: Pairs = getattr(into, _PAIR_KINDS[texts[0]])
        before = pairs.get(ends, (0, 0))
        size_bytes, messages = _amount(cells, "bytes"), _amount(cells, "messages")
        if messages:
            pairs[ends] = (before[0] + size_bytes, before[1] + messages)


def _amount(cells: Cells, field: str) -> int:
    """The whole number before a unit, which Open MPI writes into the cell."""
    number, units = _UNITS[field].subn("", cells.text(field))
    if not units:
        raise cells.wrong(field, "'N bytes'" if field == "bytes" else "'N msgs sent'")
    return Cells(cells.source, "", {field: number}).whole(field, 0)
