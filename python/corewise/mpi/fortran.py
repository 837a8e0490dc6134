"""Which Fortran entries an MPI has: read from the symbol tables of its Fortran libraries.

Owns the names. An entry is a procedure in one Fortran language (``mpif``: mpif.h and ``use mpi``; ``f08``:
mpi_f08) that the library exports together with its twin of the profiling interface; compilers spell names in
several ways, and all spellings of one entry belong to it but the one that C programmers use for their own
functions. What a library exports without a twin cannot be forwarded and is no entry. The wrappers themselves
are written by `corewise.mpi.generators.fortran`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pympistandard

from corewise.mpi import elf
from corewise.mpi.find import MpiLibrary
from corewise.mpi.generators import recording as wrappers

# Beside the C library: Open MPI's, MPICH's, and MPICH's as Debian names it.
_LIBRARIES = (
    "libmpi_mpifh.so",
    "libmpi_usempif08.so",
    "libmpi_usempi_ignore_tkr.so",
    "libmpi_usempi.so",
    "libmpifort.so",
    "libmpichfort.so",
)
# Removed from the standard, still in use: what MPI-2.2 said of them.
_REMOVED = """
MPI_ADDRESS(LOCATION, ADDRESS, IERROR)
    <type> LOCATION(*)
    INTEGER ADDRESS, IERROR
MPI_ERRHANDLER_CREATE(FUNCTION, ERRHANDLER, IERROR)
    EXTERNAL FUNCTION
    INTEGER ERRHANDLER, IERROR
MPI_ERRHANDLER_GET(COMM, ERRHANDLER, IERROR)
    INTEGER COMM, ERRHANDLER, IERROR
MPI_ERRHANDLER_SET(COMM, ERRHANDLER, IERROR)
    INTEGER COMM, ERRHANDLER, IERROR
MPI_TYPE_EXTENT(DATATYPE, EXTENT, IERROR)
    INTEGER DATATYPE, EXTENT, IERROR
MPI_TYPE_HINDEXED(COUNT, ARRAY_OF_BLOCKLENGTHS, ARRAY_OF_DISPLACEMENTS, OLDTYPE, NEWTYPE, IERROR)
    INTEGER COUNT, ARRAY_OF_BLOCKLENGTHS(*), ARRAY_OF_DISPLACEMENTS(*), OLDTYPE, NEWTYPE, IERROR
MPI_TYPE_HVECTOR(COUNT, BLOCKLENGTH, STRIDE, OLDTYPE, NEWTYPE, IERROR)
    INTEGER COUNT, BLOCKLENGTH, STRIDE, OLDTYPE, NEWTYPE, IERROR
MPI_TYPE_LB(DATATYPE, DISPLACEMENT, IERROR)
    INTEGER DATATYPE, DISPLACEMENT, IERROR
MPI_TYPE_STRUCT(COUNT, ARRAY_OF_BLOCKLENGTHS, ARRAY_OF_DISPLACEMENTS, ARRAY_OF_TYPES, NEWTYPE, IERROR)
    INTEGER COUNT, ARRAY_OF_BLOCKLENGTHS(*), ARRAY_OF_DISPLACEMENTS(*), ARRAY_OF_TYPES(*), NEWTYPE, IERROR
MPI_TYPE_UB(DATATYPE, DISPLACEMENT, IERROR)
    INTEGER DATATYPE, DISPLACEMENT, IERROR
"""


@dataclass(frozen=True)
class Argument:
    """One argument of a Fortran procedure: its name and type in lower case, and whether it is an array."""

    name: str
    type: str
    array: bool

    @property
    def is_choice(self) -> bool:
        """A buffer of any type."""
        return self.type in ("<type>", "type(*)")

    @property
    def is_text(self) -> bool:
        """A CHARACTER argument, whose length the compiler passes after all others."""
        return self.type.startswith("character")


@dataclass(frozen=True)
class Signature:
    """A procedure in one Fortran language. `result`: C++ type of a function's value, else empty."""

    procedure: str
    arguments: tuple[Argument, ...]
    result: str = ""

    @property
    def texts(self) -> tuple[Argument, ...]:
        """The CHARACTER arguments in order."""
        return tuple(each for each in self.arguments if each.is_text)

    def position(self, name: str) -> int:
        """Where an argument is; -1 where there is none of that name."""
        names = [each.name for each in self.arguments]
        return names.index(name.lower()) if name.lower() in names else -1


@dataclass(frozen=True)
class Entry:
    """One Fortran entry of a library.

    Attributes
    ----------
    signature : the procedure and its arguments.
    language : "mpif" or "f08".
    descriptors : whether choice buffers are descriptors (TS 29113), not addresses.
    names : the symbols that the library has for it, in all spellings of Fortran's own.
    twin : the symbol that the call is forwarded to.
    """

    signature: Signature
    language: str
    descriptors: bool
    names: tuple[str, ...]
    twin: str


def libraries(mpi: MpiLibrary) -> list[Path]:
    """The Fortran libraries that belong to an MPI: beside its C library, and made for it.

    Parameters
    ----------
    mpi : the MPI.

    Returns
    -------
    list of pathlib.Path
        Empty where the MPI has no Fortran. The standard ABI is C only.
    """
    if mpi.name == "abi":
        return []
    # What one links with may be a linker's script, whose name is the beginning of the library's.
    own = elf.soname(mpi.library.resolve())
    found: dict[Path, None] = {}
    for folder in dict.fromkeys((mpi.library.parent, mpi.library.resolve().parent)):
        for path in sorted(each for name in _LIBRARIES for each in folder.glob(f"{name}*")):
            if any(needed.startswith(own) for needed in elf.needed_libraries(path.resolve())):
                found[path.resolve()] = None
    return list(found)


def entries(mpi: MpiLibrary) -> list[Entry]:
    """Every Fortran entry of an MPI that has a twin.

    Parameters
    ----------
    mpi : the MPI.

    Returns
    -------
    list of Entry
        In the order of the libraries and names; no symbol twice.
    """
    taken: set[str] = set()
    made: list[Entry] = []
    for library in libraries(mpi):
        for entry in library_entries(elf.exported_functions(library)):
            names = tuple(name for name in entry.names if name not in taken)
            taken.update(names)
            if names:
                made.append(Entry(entry.signature, entry.language, entry.descriptors, names, entry.twin))
    return made


_SPELLING = re.compile(r"(?P<base>mpi_\w*?)(?P<f08>_f08(?P<ts>ts)?)?(?P<large>_large)?_{0,2}", re.IGNORECASE)
# Open MPI exports its entries under C-like names too.
_BOUND = re.compile(r"(?P<base>MPI_[A-Z]\w*[a-z0-9])_f(?:08)?")


def parse_name(symbol: str) -> tuple[str, str, bool] | None:
    """Procedure (lower case, ``_c`` for the large count), language and descriptors that a symbol names.

    Returns
    -------
    tuple or None
        None for what is no procedure of MPI.
    """
    bound = _BOUND.fullmatch(symbol)
    if bound is not None:
        return _known(bound["base"].lower(), "mpif", False)
    match = _SPELLING.fullmatch(symbol) if symbol in (symbol.lower(), symbol.upper()) else None
    if match is None:
        return None
    base = match["base"].lower() + ("_c" if match["large"] else "")
    return _known(base, "f08" if match["f08"] else "mpif", match["ts"] is not None)


def _known(base: str, language: str, descriptors: bool) -> tuple[str, str, bool] | None:
    base = base.removesuffix("_cptr")  # the same with TYPE(C_PTR) for an address
    known = base in signatures(language) or base.startswith("mpi_sizeof_")
    return (base, language, descriptors) if known else None


def library_entries(symbols: dict[str, int]) -> list[Entry]:
    """The entries among a library's symbols.

    Parameters
    ----------
    symbols : names -> addresses.
    """
    groups: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    for symbol in sorted(symbols):
        parsed = parse_name(symbol)
        twin = _twin(symbol, symbols)
        if parsed is not None and twin is not None:
            groups.setdefault((*parsed, symbols[twin]), []).append((symbol, twin))
    return [
        Entry(_signature(base, language), language, descriptors, _of_fortran(dict(found)), found[0][1])
        for (base, language, descriptors, _), found in groups.items()
    ]


def _of_fortran(spellings: Iterable[str]) -> tuple[str, ...]:
    """Without ``mpi_comm_rank``, which is a name in C, too.

    R's Rmpi has a function of its own that is called so, and a preload's would take its place. It stays where
    the library was made by a compiler that adds no underscore.
    """
    names = tuple(spellings)
    return tuple(name for name in names if name.endswith("_") or name != name.lower()) or names


def _twin(symbol: str, symbols: Iterable[str]) -> str | None:
    """The name that the profiling interface has for a symbol; Debian's MPICH says pmpir_ in mpi_f08."""
    rest = symbol[len("mpi_") :]
    prefixes = ("PMPI_", "PMPIR_") if symbol.startswith("MPI_") else ("pmpi_", "pmpir_")
    return next((prefix + rest for prefix in prefixes if prefix + rest in symbols), None)


def _signature(base: str, language: str) -> Signature:
    if base.startswith("mpi_sizeof_"):
        plain = signatures(language)["mpi_sizeof"]
        kind = "character" if base.startswith("mpi_sizeof_character") else "<type>"
        return Signature("MPI_Sizeof", (Argument("x", kind, False), *plain.arguments[1:]))
    return signatures(language)[base]


@functools.cache
def signatures(language: str) -> dict[str, Signature]:
    """Every procedure that the standard has in a Fortran language: lower-case name -> signature."""
    pympistandard.use_api_version(1)
    spelt = _c_names()
    table: dict[str, Signature] = {}
    for name, procedure in pympistandard.PROCEDURES.items():
        express = procedure.express
        form = express.f90 if language == "mpif" else express.f08
        if form is not None:
            table[name] = parse_form(str(form), spelt[name])
        large = express.embiggen.f08 if language == "f08" and procedure.has_embiggenment() else None
        if large is not None:
            table[f"{name}_c"] = parse_form(str(large), spelt[f"{name}_c"])
    if language == "mpif":
        for text in re.split(r"\n(?=MPI_)", _REMOVED.strip()):
            name = text.partition("(")[0]
            table[name.lower()] = parse_form(text, removed_name(name))
    return table


@functools.cache
def _c_names() -> dict[str, str]:
    """Lower-case name -> the name as C spells it, which the trace has."""
    names = [each.name for each in wrappers.standard_procedures()] + other_names()
    return {name.lower(): name for name in names}


def removed_name(name: str) -> str:
    """``MPI_TYPE_UB`` -> ``MPI_Type_ub``."""
    return "MPI_" + name[len("MPI_") :].capitalize()


def other_names() -> list[str]:
    """Procedures that only Fortran has, and those that were removed from the standard."""
    removed = [removed_name(text.partition("(")[0]) for text in re.split(r"\n(?=MPI_)", _REMOVED.strip())]
    return ["MPI_F_sync_reg", "MPI_Sizeof", *removed]


_RESULTS = {"double precision": "double", "integer(kind=mpi_address_kind)": "MPI_Aint"}


def parse_form(text: str, procedure: str) -> Signature:
    """A procedure as the standard declares it in Fortran.

    Parameters
    ----------
    text : the head, then one declaration per line.
    procedure : its name in the trace.
    """
    head, *lines = [line.strip() for line in text.strip().splitlines()]
    match = re.fullmatch(r"(?P<result>.*?)\s*\bMPI_\w+\((?P<names>[^()]*)\)", head, re.IGNORECASE)
    if match is None:
        raise ValueError(f"pympistandard: cannot read the Fortran form '{head}'")
    types: dict[str, tuple[str, bool]] = {}
    for line in lines:
        kind, names = _declaration(line)
        for name in _split(names):
            types[name.partition("(")[0].strip().lower()] = (kind, "(" in name)
    arguments = tuple(
        Argument(name, *types.get(name, ("external", False)))
        for name in (each.strip().lower() for each in match["names"].split(","))
        if name
    )
    result = match["result"].lower().replace(" ", "") if match["result"] else ""
    return Signature(procedure, arguments, _RESULTS[match["result"].lower()] if result else "")


def _declaration(line: str) -> tuple[str, str]:
    """Type (lower case, without attributes) and names of a declaration."""
    if "::" in line:
        left, _, names = line.partition("::")
        return _split(left)[0].lower().replace(" ", ""), names
    match = re.match(
        r"(<type>|DOUBLE PRECISION|EXTERNAL|[A-Z]+(?:\*?\([^)]*\))?)\s+(.*)", line, re.IGNORECASE
    )
    if match is None:
        raise ValueError(f"pympistandard: cannot read the Fortran declaration '{line}'")
    return match[1].lower().replace(" ", ""), match[2]


def _split(names: str) -> list[str]:
    """Pieces between commas that are in no parentheses."""
    return [piece.strip() for piece in re.split(r",(?![^(]*\))", names)]
