"""The records of a profile as rows: batches of NumPy columns; pandas, Polars and Arrow tables of all.

Owns the columns (`COLUMNS`), the kinds of rows (`KINDS`, whose positions are the stable integers of a
trace's roles) and the choice of rows (`Selection`). Invariants: batches come thread by thread, each in the
order of its records; reading them takes the memory of one batch, whatever the profile's size. Frames hold
all rows and need an extra: ``pip install 'corewise[frames]'``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from corewise.base import late
from corewise.errors import InputError, bad_field

with late.imports():
    import numpy as np
    from numpy.typing import NDArray

    from corewise._core import EventLog, EventProcess, EventThread, open_events, parse_time_ns
    from corewise.data.profile import datatype_text, profile_folder

KINDS = (
    "call",
    "send",
    "receive",
    "post_receive",
    "arrival",
    "collective",
    "collective_part",
    "miss",
    "cancel",
    "probe",
    "put",
    "get",
    "function_enter",
    "function_exit",
    "region_enter",
    "region_exit",
    "phase",
    "recording",
    "file_read",
    "file_write",
)
"""Names of the kinds of rows; a kind's position is its number."""

GROUPS = {
    "calls": ("call", "miss", "probe", "recording"),
    "messages": ("send", "receive", "post_receive", "arrival", "cancel"),
    "collectives": ("collective", "collective_part"),
    "one-sided": ("put", "get"),
    "files": ("file_read", "file_write"),
    "functions": ("function_enter", "function_exit"),
    "regions": ("region_enter", "region_exit", "phase"),
}
"""Several kinds under one name."""

BATCH_ROWS = 65_536
_THREAD_ROWS = 16_384  # these become Python objects
_OPEN_ROWS = 256  # more than there may be functions open at MPI_Init
_FOREVER_NS = 2**62
_MOST_RANKS = 1 << 20

FunctionName = Callable[[str, int], str]
"""From a file and the offset of a function in it to the function's name, or an empty text."""


class Column(NamedTuple):
    """A column of every table: its name, NumPy type ('text' for names), unit, and what it says."""

    name: str
    type: str
    unit: str
    meaning: str


COLUMNS = (
    Column("world", "int32", "", "0 the main world; further ones were spawned or launched in the same run"),
    Column("rank", "int32", "", "rank in that world"),
    Column("thread", "int32", "", "thread slot of the rank, 0 the first thread that called MPI"),
    Column(
        "start_ns",
        "int64",
        "ns",
        "begin, on one time line for all ranks; 0 is the first rank's start, less is before",
    ),
    Column("duration_ns", "int64", "ns", "0 for what is a moment"),
    Column("kind", "text", "", "what the row says; see the kinds"),
    Column("name", "text", "", "MPI procedure, function, region or phase"),
    Column("calls", "int64", "", "MPI calls that the row stands for: their sum is the number of calls"),
    Column("bytes", "int64", "bytes", "volume of the message, collective, access or file operation"),
    Column("peer", "int32", "", "the other rank: -1 none, -2 MPI_PROC_NULL, -3 any source, -4 another world"),
    Column("tag", "int32", "", "of the message, -1 any; the level in a row of kind recording"),
    Column("comm", "int32", "", "communicator, a row of the table of communicators; -1 none or unknown"),
    Column("object", "text", "", "file that holds the code: the call site, or the function that was entered"),
    Column(
        "offset", "int64", "bytes", "of that code in the file; the bare address where the file is unknown"
    ),
    Column("datatype", "text", "", "of the message or contribution; none where several or unknown"),
    Column("elements", "int64", "", "of that datatype: bytes over its size; 0 where it is unknown"),
)
"""What every table has, in order."""

_LEADING = 3  # columns that are constant within a batch


@dataclass(frozen=True)
class Selection:
    """Which rows are wanted.

    Attributes
    ----------
    ranks : frozenset of int or None
        World ranks, None all.
    kinds : tuple of str
        Of `KINDS`; all by default.
    from_ns, until_ns : int
        Rows with a moment in this half-open interval.
    """

    ranks: frozenset[int] | None = None
    kinds: tuple[str, ...] = KINDS
    from_ns: int = -_FOREVER_NS
    until_ns: int = _FOREVER_NS

    @property
    def roles(self) -> int:
        """The kinds as bits."""
        return sum(1 << KINDS.index(kind) for kind in set(self.kinds))

    @property
    def everything(self) -> bool:
        """Whether no row is left out."""
        return self == Selection()


def parse_selection(
    ranks: str | None = None,
    kinds: Sequence[str] | None = None,
    begin: str | None = None,
    until: str | None = None,
) -> Selection:
    """A selection from words as a command line has them.

    Parameters
    ----------
    ranks : str
        ``0-3,7``.
    kinds : sequence of str
        Names of `KINDS` or of `GROUPS`, also several in one word with commas between.
    begin, until : str
        Times with a unit, from the start of the run: ``1.5 s``.
    """
    chosen = _chosen_kinds(kinds) if kinds else KINDS
    from_ns = -_FOREVER_NS if begin is None else round(parse_time_ns(begin, "", "--from"))
    until_ns = _FOREVER_NS if until is None else round(parse_time_ns(until, "", "--until"))
    if from_ns >= until_ns:
        raise bad_field("", "--until", until, f"a time after --from {begin or '0 ns'}")
    return Selection(_chosen_ranks(ranks) if ranks is not None else None, chosen, from_ns, until_ns)


def _chosen_kinds(words: Iterable[str]) -> tuple[str, ...]:
    chosen: set[str] = set()
    for word in (part.strip() for words_ in words for part in words_.split(",")):
        if word not in GROUPS and word not in KINDS:
            raise bad_field("", "--kinds", f"'{word}'", ", ".join((*GROUPS, *KINDS)))
        chosen.update(GROUPS.get(word, (word,)))
    return tuple(kind for kind in KINDS if kind in chosen)


def _chosen_ranks(text: str) -> frozenset[int]:
    chosen: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,7})\s*(?:-\s*(\d{1,7})\s*)?", part, re.ASCII)
        first = int(found[1]) if found else 1
        last = int(found[2] or found[1]) if found else 0
        if first > last or last > _MOST_RANKS:
            raise bad_field("", "--ranks", f"'{text}'", "ranks and ranges of ranks, e.g. 0-3,7")
        chosen.update(range(first, last + 1))
    return frozenset(chosen)


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of one thread; arrays of equal length.

    ``kind`` indexes `KINDS`, ``name`` `Events.names`, ``object`` `Events.objects`, ``datatype``
    `Events.datatypes` and ``comm`` `Events.communicators`; -1 is none.
    """

    world: int
    rank: int
    thread: int
    kind: NDArray[np.uint8]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    name: NDArray[np.int32]
    calls: NDArray[np.int64]
    bytes: NDArray[np.int64]
    peer: NDArray[np.int32]
    tag: NDArray[np.int32]
    comm: NDArray[np.int32]
    object: NDArray[np.int32]
    offset: NDArray[np.int64]
    datatype: NDArray[np.int32]
    elements: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.kind)


class Thread(NamedTuple):
    """A thread slot whose rows are wanted."""

    number: int
    process: EventProcess
    slot: int
    records: int


@dataclass(frozen=True)
class CommunicatorRow:
    """A communicator: `ranks` are world ranks, empty where it is the whole world, or one rank only."""

    world: int
    name: str
    created_by: str
    size: int
    remote_size: int
    identity: bool
    ranks: tuple[int, ...]
    remote_ranks: tuple[int, ...]


@dataclass
class Events:
    """A profile's records; made by `load_events`.

    Attributes
    ----------
    path : Path
        The profile's folder.
    selection : Selection
        Which of its rows.
    processes : tuple of EventProcess
        The wanted rank files, by world and rank.
    threads : tuple of Thread
        Their threads, with the number of records that each holds.
    names : tuple of str
        What `Batch.name` indexes.
    sorts : tuple of str
        ``procedure``, ``function`` or ``region`` for each of them.
    objects : tuple of str
        What `Batch.object` indexes.
    datatypes : tuple of str
        What `Batch.datatype` indexes.
    communicators : tuple of CommunicatorRow
        What `Batch.comm` indexes.
    problems : tuple of str
        What is wrong with single files.
    """

    path: Path
    selection: Selection
    processes: tuple[EventProcess, ...]
    threads: tuple[Thread, ...]
    names: tuple[str, ...]
    sorts: tuple[str, ...]
    objects: tuple[str, ...]
    datatypes: tuple[str, ...]
    communicators: tuple[CommunicatorRow, ...]
    problems: tuple[str, ...]
    _log: EventLog = field(repr=False)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """What the codes of the text columns index."""
        return {"kind": KINDS, "name": self.names, "object": self.objects, "datatype": self.datatypes}

    @property
    def records(self) -> int:
        """Records of the wanted threads, before kinds and times are chosen."""
        return sum(thread.records for thread in self.threads)

    def origin_ns(self) -> int:
        """Where a time line without negative times begins: 0, or before it where functions were entered then.

        What was open when a rank called MPI_Init stands before its threads' other records.
        """
        firsts = (next(self.thread_batches(each, _OPEN_ROWS, whole=True), None) for each in self.threads)
        starts = [int(first.start_ns.min()) for first in firsts if first is not None]
        return min([0, *(process.start_ns for process in self.processes), *starts])

    def batches(
        self, rows: int = BATCH_ROWS, progress: Callable[[float], None] | None = None
    ) -> Iterator[Batch]:
        """All rows, thread by thread; `progress` is told the share of the records read."""
        done, total = 0, max(self.records, 1)
        for thread in self.threads:
            for batch, read in self._rows(thread, rows, self.selection):
                if progress is not None:
                    progress((done + read) / total)
                yield batch
            done += thread.records

    def thread_batches(
        self, thread: Thread, rows: int = _THREAD_ROWS, whole: bool = False
    ) -> Iterator[Batch]:
        """Rows of one thread; `whole` takes all of them, whatever kinds and times are chosen."""
        chosen = Selection() if whole else self.selection
        return (batch for batch, _ in self._rows(thread, rows, chosen))

    def _rows(self, thread: Thread, rows: int, chosen: Selection) -> Iterator[tuple[Batch, int]]:
        cursor = self._log.cursor(thread.number, chosen.roles, chosen.from_ns, chosen.until_ns)
        process = thread.process
        while len((columns := cursor.next(rows))[0]):
            yield Batch(process.world, process.rank, thread.slot, *columns), cursor.records_read

    # ---- tables of everything ----

    def to_arrow(self) -> Any:
        """All rows as a `pyarrow.Table`."""
        arrow = optional("pyarrow", "frames")
        schema = arrow_schema()
        batches = [arrow_batch(batch, self.words) for batch in self.batches()]
        return arrow.Table.from_batches(batches, schema=schema).unify_dictionaries()

    def to_pandas(self) -> Any:
        """All rows as a `pandas.DataFrame`; texts are categories."""
        pandas = optional("pandas", "frames")
        columns = self._all_columns()
        tables = self.words
        for name, words in tables.items():
            columns[name] = pandas.Categorical.from_codes(columns[name], categories=list(words))
        return pandas.DataFrame(columns)

    def to_polars(self) -> Any:
        """All rows as a `polars.DataFrame`; texts are categories."""
        polars = optional("polars", "frames")
        columns = self._all_columns()
        tables = self.words
        series = []
        for name, values in columns.items():
            if name not in tables:
                series.append(polars.Series(name, values))
                continue
            words = polars.Series([*tables[name], None], dtype=polars.String)
            codes = np.where(values < 0, len(tables[name]), values)
            series.append(words.gather(codes.astype(np.uint32)).cast(polars.Categorical).alias(name))
        return polars.DataFrame(series)

    def _all_columns(self) -> dict[str, Any]:
        """All batches end to end; texts still as codes."""
        parts = [_columns(batch) for batch in self.batches()]
        empty = {each.name: np.zeros(0, _code_type(each)) for each in COLUMNS}
        return {
            each.name: np.concatenate([part[each.name] for part in parts] or [empty[each.name]])
            for each in COLUMNS
        }


def _code_type(column: Column) -> str:
    return "int32" if column.type == "text" else column.type


def _columns(batch: Batch) -> dict[str, NDArray[Any]]:
    leading = {
        name: np.full(len(batch), getattr(batch, name), np.int32)
        for name in (each.name for each in COLUMNS[:_LEADING])
    }
    return leading | {each.name: getattr(batch, each.name) for each in COLUMNS[_LEADING:]}


def arrow_batch(batch: Batch, tables: Mapping[str, Sequence[str]]) -> Any:
    """One batch as a `pyarrow.RecordBatch` of `arrow_schema`; `tables` as `Events.words`."""
    arrow = optional("pyarrow", "frames")
    numbers = _columns(batch)
    columns = []
    for column in COLUMNS:
        values = numbers[column.name]
        if column.type != "text":
            columns.append(arrow.array(values))
            continue
        codes = arrow.array(values.astype(np.int32), mask=values < 0)
        words = arrow.array(tables[column.name], type=arrow.string())
        columns.append(arrow.DictionaryArray.from_arrays(codes, words))
    return arrow.RecordBatch.from_arrays(columns, schema=arrow_schema())


def arrow_schema() -> Any:
    """The columns as a `pyarrow.Schema`, with units and meanings as metadata."""
    arrow = optional("pyarrow", "frames")
    text = arrow.dictionary(arrow.int32(), arrow.string())
    return arrow.schema(
        [
            arrow.field(
                each.name,
                text if each.type == "text" else getattr(arrow, each.type)(),
                metadata={"unit": each.unit, "meaning": each.meaning},
            )
            for each in COLUMNS
        ]
    )


def load_events(
    profile: str | Path,
    selection: Selection | None = None,
    function_name: FunctionName | None = None,
    progress: Callable[[float], None] | None = None,
) -> Events:
    """Opens a profile's records; reads them through once, so that all names are known.

    Parameters
    ----------
    profile : path
        A folder ``NAME.cw``.
    selection : Selection
        Which rows; all by default.
    function_name : callable
        Names functions by file and offset; without one they are called ``file+0xoffset``.
        (`corewise.export.load_events` looks them up in the files.)
    progress : callable
        Told the share of the ranks that have been read.

    Raises
    ------
    InputError
        The folder holds no rank file that can be read, or a wanted rank does not exist.
    """
    folder = profile_folder(profile)
    log = open_events(str(folder))
    chosen = selection or Selection()
    processes = _wanted_processes(log, chosen, str(folder))
    wanted = {(each.world, each.rank) for each in processes}
    threads = []
    every = log.processes
    for index, thread in enumerate(log.threads):
        process = every[thread.process]
        if (process.world, process.rank) in wanted:
            threads.append(_scanned(log, index, thread, process))
        if progress is not None:
            progress((index + 1) / len(log.threads))
    objects = tuple(log.objects)
    names = log.names
    return Events(
        path=folder,
        selection=chosen,
        processes=processes,
        threads=tuple(threads),
        names=_distinct(
            name.text
            if name.sort != "function"
            else _function(name.object, name.offset, objects, function_name)
            for name in names
        ),
        sorts=tuple(name.sort for name in names),
        objects=objects,
        datatypes=_distinct(
            datatype_text(each.name, each.size_bytes, each.derived) for each in log.datatypes
        ),
        communicators=communicator_rows(log),
        problems=tuple(log.problems),
        _log=log,
    )


def _scanned(log: EventLog, index: int, thread: EventThread, process: EventProcess) -> Thread:
    return Thread(index, process, thread.slot, log.scan(index))


def _wanted_processes(log: EventLog, chosen: Selection, source: str) -> tuple[EventProcess, ...]:
    every = tuple(log.processes)
    if chosen.ranks is None:
        return every
    sizes = max(each.world_size for each in every)
    if (beyond := [rank for rank in sorted(chosen.ranks) if rank >= sizes]) != []:
        raise bad_field(source, "--ranks", beyond[0], f"0..{sizes - 1}")
    return tuple(each for each in every if each.rank in chosen.ranks)


def _function(object_: int, offset: int, objects: Sequence[str], namer: FunctionName | None) -> str:
    if object_ < 0:
        return f"{offset:#x}"
    found = namer(objects[object_], offset) if namer is not None else ""
    return found or f"{Path(objects[object_]).name}+{offset:#x}"


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Categories must differ: a function and a region of one name, or two functions, are told apart."""
    seen: set[str] = set()
    out = []
    for text in texts:
        distinct, count = text, 1
        while distinct in seen:
            count += 1
            distinct = f"{text} ({count})"
        seen.add(distinct)
        out.append(distinct)
    return tuple(out)


def name_keys(log: EventLog) -> list[tuple[str, str, str, int]]:
    """What each of a log's names stands for: its sort, its text, and a function's file and offset.

    A log that meets the records in another order has the same ones at other places.
    """
    objects = [*log.objects, ""]
    return [(name.sort, name.text, objects[name.object], name.offset) for name in log.names]


def communicator_rows(log: EventLog) -> tuple[CommunicatorRow, ...]:
    """What `Batch.comm` of a log's rows indexes."""
    rows = []
    for each in log.communicators:
        comm = each.communicator
        rows.append(
            CommunicatorRow(
                each.world,
                comm.name,
                comm.created_by,
                comm.size,
                comm.remote_size,
                comm.identity,
                tuple(comm.ranks),
                tuple(comm.remote_ranks),
            )
        )
    return tuple(rows)


def optional(module: str, extra: str) -> ModuleType:
    """A module of an extra, or an `InputError` that names the extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{module}: found nothing that can be imported ({error}), allowed: an installation with the "
            f"extra (pip install 'corewise[{extra}]')"
        ) from None
