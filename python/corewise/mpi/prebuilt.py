"""Preload libraries that came built with the package, one set per ABI of the usual MPIs.

A wheel carries them (``tools/release.sh``), an installation from source does not. In them two texts stand for
the installation that nobody knew when they were built: the MPI library's name and its folder. `bound` puts a
copy into the cache in which both are this host's. Invariant: a set is only taken where the MPI has every
procedure that it forwards to; the loader would refuse it in a program's start otherwise.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corewise.base.documents import Fields, read_json
from corewise.base.files import staged_file
from corewise.errors import RunError
from corewise.mpi import elf
from corewise.mpi.find import MpiLibrary

FORMAT = "corewise-prebuilt"
VERSION = 1
MANIFEST = "manifest.json"
NAME_LENGTH, FOLDER_LENGTH = 96, 1024
"""Bytes that the two texts have: no library's name and no folder may be longer."""
NAME_PLACE = "libcorewise-stands-for-the-mpi".ljust(NAME_LENGTH - 3, "-") + ".so"
FOLDER_PLACE = "/corewise-stands-for-the-folder-of-the-mpi".ljust(FOLDER_LENGTH - 1, "-")


@dataclass(frozen=True)
class PrebuiltSet:
    """The libraries for one ABI.

    Attributes
    ----------
    name, version : str
        The MPI they were built with: "openmpi", "mpich" or "abi".
    folder : Path
        Where they are.
    wrapped : frozenset of str
        Procedures that they forward to: these an MPI must have.
    exported : frozenset of str
        Procedures that the MPI had.
    fortran : frozenset of str
        Names under which its Fortran calls them.
    """

    name: str
    version: str
    folder: Path
    wrapped: frozenset[str]
    exported: frozenset[str]
    fortran: frozenset[str]


@dataclass(frozen=True)
class Fit:
    """A set that an MPI can load, and the procedures of the MPI that it does not know."""

    chosen: PrebuiltSet
    unknown: tuple[str, ...]


def root() -> Path:
    """Where the package keeps them; the folder need not exist."""
    return Path(__file__).resolve().parents[1] / "_prebuilt"


@cache
def sets(folder: Path) -> tuple[PrebuiltSet, ...]:
    """Every set that a folder's manifest names; none where there is no manifest."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return ()
    document = read_json(manifest)
    document.header(FORMAT, VERSION)
    return tuple(_set(fields, folder) for fields in document.tables("sets"))


def _set(fields: Fields, folder: Path) -> PrebuiltSet:
    names = {field: frozenset(fields.texts(field, ())) for field in ("wrapped", "exported", "fortran")}
    return PrebuiltSet(fields.text("name"), fields.text("version"), folder / fields.text("folder"), **names)


def fitting(mpi: MpiLibrary, found: tuple[PrebuiltSet, ...]) -> Fit | None:
    """The set that knows most of an MPI's procedures, among those that it can load.

    Parameters
    ----------
    mpi : the MPI of this host.
    found : the sets to choose from.

    Returns
    -------
    Fit or None
        None where none can be loaded.
    """
    alike = [each for each in found if each.name == mpi.name and _same_interface(each, mpi)]
    if not alike:
        return None
    exported = exported_procedures(mpi)
    able = [each for each in alike if each.wrapped <= exported]
    if not able:
        return None
    fortran = fortran_names(mpi)
    best = min(able, key=lambda each: (len(exported - each.exported), len(fortran - each.fortran)))
    return Fit(best, tuple(sorted((exported - best.exported) | (fortran - best.fortran))))


def _same_interface(made: PrebuiltSet, mpi: MpiLibrary) -> bool:
    """Open MPI promises one binary interface per major version; MPICH's and the standard's are for good."""
    return mpi.name != "openmpi" or made.version.split(".")[0] == mpi.version.split(".")[0]


def exported_procedures(mpi: MpiLibrary) -> frozenset[str]:
    """Names ``MPI_X`` of the procedures that a library has under ``PMPI_X``."""
    names = elf.functions_with_parts(mpi.library)
    return frozenset(name[1:] for name in names if name.startswith("PMPI_"))


def fortran_names(mpi: MpiLibrary) -> frozenset[str]:
    """Names under which Fortran programs call a library's procedures; of these the wrappers have one each."""
    # Imported late: reading the standard's Fortran forms takes a second that a run need not spend.
    from corewise.mpi import fortran

    return frozenset(name for entry in fortran.entries(mpi) for name in entry.names)


def bound(mpi: MpiLibrary, file: str, cache_folder: Path, *, whole: bool) -> Path | None:
    """A library of the fitting set, bound to this host's MPI; None where no set fits.

    Parameters
    ----------
    mpi : the MPI of this host.
    file : the library's file name.
    cache_folder : where bound libraries are kept.
    whole : take only a set that knows every procedure of the MPI.

    Raises
    ------
    RunError
        The copy cannot be made.
    """
    found = sets(root())
    if not found:
        return None
    target = cache_folder / "preload" / f"{mpi.name}-{mpi.version}-{_key(mpi, whole)}" / file
    if target.is_file():
        return target
    fit = fitting(mpi, found)
    if fit is None or (whole and fit.unknown) or not (fit.chosen.folder / file).is_file():
        return None
    data = bind((fit.chosen.folder / file).read_bytes(), mpi)
    if data is None:
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    with staged_file(target) as staged:
        staged.write_bytes(data)
        staged.chmod(0o755)
    return target


def _key(mpi: MpiLibrary, whole: bool) -> str:
    library = mpi.library.resolve()
    facts = f"{library}\0{mpi.library.parent}\0{library.stat().st_mtime_ns}\0{whole}\0"
    return hashlib.sha256(facts.encode() + (root() / MANIFEST).read_bytes()).hexdigest()[:16]


def bind(library: bytes, mpi: MpiLibrary) -> bytes | None:
    """A library's bytes with this host's MPI in the places of the two texts; None where it does not fit in.

    Raises
    ------
    RunError
        The library has not each text once: it was not built for this.
    """
    name, folder = elf.soname(mpi.library.resolve()), str(mpi.library.parent)
    if mpi.library.is_file() and not elf.is_elf(mpi.library):  # a linker's script: the library lies beside it
        name = elf.soname(_scripted(mpi.library))
    if len(name.encode()) > NAME_LENGTH or len(folder.encode()) >= FOLDER_LENGTH:
        return None
    for place, text in ((NAME_PLACE, name), (FOLDER_PLACE, folder)):
        if library.count(place.encode()) != 1:
            raise RunError(f"{root()}: a prebuilt library is damaged: reinstall corewise")
        library = library.replace(place.encode(), text.encode().ljust(len(place), b"\0"))
    return library


def _scripted(script: Path) -> Path:
    members = elf.members(script)
    return members[0] if members else script
