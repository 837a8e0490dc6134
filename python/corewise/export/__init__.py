"""Profiles for other tools: OTF2 archives, Perfetto traces, Parquet, Arrow and CSV.

Owns the table of formats and that a target is whole or absent. Everything streams: the profile may be
larger than memory. Needs nothing above `corewise.analysis`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corewise.base import late
from corewise.base.files import check_folder, check_target, staged_file, staged_folder
from corewise.errors import InputError, bad_field

with late.imports():
    from corewise.base.executors import Workers
    from corewise.export.perfetto import write_perfetto
    from corewise.export.tabular import write_arrow, write_csv, write_parquet

with late.imports():
    from corewise.data.events import Events, Selection, optional
    from corewise.data.events import load_events as _load_events
    from corewise.export.otf2 import write_otf2
    from corewise.export.pieces import write_in_pieces
    from corewise.export.places import function_name
    from corewise.export.ranks import write_perfetto_by_ranks

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Format:
    """One form.

    Attributes
    ----------
    summary : str
        What it is, in a line.
    needs : tuple of (str, str)
        Modules and the extra that brings them.
    folder : bool
        True where the target is a folder.
    in_pieces : bool
        True where several workers can make it.
    """

    summary: str
    needs: tuple[tuple[str, str], ...] = ()
    folder: bool = False
    in_pieces: bool = False


FORMATS = {
    "otf2": Format("an OTF2 archive: a folder with traces.otf2", (("otf2", "otf2"),), folder=True),
    "perfetto": Format("a trace for ui.perfetto.dev", in_pieces=True),
    "parquet": Format("a table, a row per record", (("pyarrow", "frames"),), in_pieces=True),
    "arrow": Format("the same as an Arrow IPC file", (("pyarrow", "frames"),), in_pieces=True),
    "csv": Format("the same as text", in_pieces=True),
}
"""Every form by the name that the command line takes."""


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    target : Path
        The file or folder.
    records : int
        Of the profile, in the wanted ranks.
    written : int
        Rows of a table; slices and instants of a Perfetto trace; events of an OTF2 archive.
    unsaid : int
        Rows that the form has no words for (OTF2: messages to other worlds).
    bytes : int
        On disk.
    problems : tuple of str
        Of the profile's files.
    """

    target: Path
    records: int
    written: int
    unsaid: int
    bytes: int
    problems: tuple[str, ...]


def load_events(
    profile: str | Path, selection: Selection | None = None, progress: Progress | None = None
) -> Events:
    """A profile's records with the functions' names; see `corewise.data.events.load_events`."""
    return _load_events(profile, selection, function_name, progress)


def check_export(form: str, target: Path, in_pieces: bool = False) -> None:
    """Refuses an unknown form, a missing extra or a bad target, before anything is read.

    `in_pieces`: others make it, which only some forms allow.
    """
    if form not in FORMATS:
        raise bad_field("", "--to", f"'{form}'", ", ".join(FORMATS))
    if in_pieces and not FORMATS[form].in_pieces:
        allowed = ", ".join(f"--to {name}" for name, each in FORMATS.items() if each.in_pieces)
        raise InputError(f"option '--executor': found with --to {form}, allowed: with {allowed}")
    for module, extra in FORMATS[form].needs:
        optional(module, extra)
    if FORMATS[form].folder:
        check_folder(target)
    else:
        check_target(target)


def _writer(form: str) -> Callable[[Events, Path, Progress], int]:
    """What writes a form that is one file."""
    writers = {
        "perfetto": write_perfetto,
        "parquet": write_parquet,
        "arrow": write_arrow,
        "csv": write_csv,
    }
    return writers[form]


def export_profile(
    profile: str | Path,
    form: str,
    target: Path,
    selection: Selection | None = None,
    progress: Progress = lambda share: None,
    workers: Workers | None = None,
) -> Exported:
    """Writes a profile in one of `FORMATS`.

    Parameters
    ----------
    profile : path
        A folder ``NAME.cw``.
    form : str
        A key of `FORMATS`.
    target : Path
        A file, which is replaced; for an archive a folder that does not exist yet.
    selection : Selection
        Which rows; all by default.
    progress : callable
        Told the share of the work done.
    workers : Workers
        Who makes a form that is made in pieces; this process by default.
    """
    check_export(form, target, workers is not None)
    events = load_events(profile, selection, lambda share: progress(0.1 * share))

    def later(share: float) -> None:
        progress(0.1 + 0.9 * share)

    unsaid = 0
    if form == "otf2":
        with staged_folder(target) as folder:
            written, unsaid = write_otf2(events, folder, later)
    elif workers is not None:
        with staged_file(target) as file:
            if form == "perfetto":
                written = write_perfetto_by_ranks(events, file, later, workers)
            else:
                written = write_in_pieces(form, events, file, later, workers)
    else:
        with staged_file(target) as file:
            written = _writer(form)(events, file, later)
    progress(1.0)
    return Exported(target, events.records, written, unsaid, _size(target), events.problems)


def _size(target: Path) -> int:
    if target.is_dir():
        return sum(each.stat().st_size for each in target.rglob("*") if each.is_file())
    return target.stat().st_size if target.is_file() else 0
