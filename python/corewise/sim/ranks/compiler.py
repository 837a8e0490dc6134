"""Compiles a program for simulated ranks: the host's compiler, with the simulated MPI's header and library.

Owns the words that are added to a compiler's command line. What comes out of the linker is a shared object
whose ``main`` every rank runs in a copy of its own. Names are bound inside it first, so a program may bring
its own ``MPI_Send`` (and call ``PMPI_Send``); ``exit``, ``_exit`` and ``atexit`` concern the simulated rank.
A name of MPI that the subset lacks is an error of the compiler or the linker, never of the run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from corewise.base import simulators
from corewise.errors import InputError, RunError

_PACKAGE = Path(__file__).resolve().parents[2]
_CXX_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++", ".C")
_NO_LINKING = ("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only")
_QUESTIONS = ("--version", "-v", "-dumpversion", "-dumpmachine", "-print-search-dirs")
_WRAPPED = ("exit", "_exit", "atexit")
_MPI_NAME = re.compile(r"\bP?(MPI_\w+)")
_MISSING = re.compile(
    r"implicit declaration of function|undeclared|unknown type name|was not declared|undefined reference"
    r"|has not been declared|does not name a type|undefined symbol|use of undeclared"
)
_QUOTED = re.compile(r"[\u2018'`\"](P?MPI_\w+)")


def include_folders() -> list[Path]:
    """Where ``mpi.h`` of the simulated MPI and ``corewise_sim.h`` are."""
    checkout = _PACKAGE.parents[1] / "src" / "simmpi" / "include"
    installed = _PACKAGE / "include" / "simmpi"
    return [installed if installed.is_dir() else checkout, _PACKAGE / "include"]


def compile_program(words: Sequence[str], *, cxx: bool = False) -> int:
    """Runs the compiler as if the simulated MPI belonged to it.

    Parameters
    ----------
    words : sequence of str
        What a compiler would be given: sources, options, ``-o NAME``.
    cxx : bool
        Take the C++ compiler whatever the sources are called (object files of C++ are linked so).

    Returns
    -------
    int
        The compiler's exit status; its output goes where ours goes.

    Raises
    ------
    InputError
        Nothing to compile.
    RunError
        There is no compiler, or the program uses names of MPI that the subset lacks: they are listed.
    """
    if not words:
        raise InputError("found nothing to compile, allowed: sources and options as for a compiler")
    simulators.require()
    command = [*compiler(cxx or _is_cxx(words)), *added_words(words, cxx)]
    try:
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        raise RunError(f"{command[0]}: cannot be run: {error.strerror}") from None
    if done.returncode != 0 and (names := missing_names(done.stderr)):
        raise RunError(
            f"simulated MPI lacks {', '.join(names)}, which the program uses "
            f"(docs/simulating/simmpi.md says what there is): {_first_place(done.stderr)}"
        )
    _pass_on(done.stderr)
    return done.returncode


def added_words(words: Sequence[str], cxx: bool = False) -> list[str]:
    """The command line's words with those of the simulated MPI."""
    before = ["-fPIC", "-DCOREWISE_SIMMPI=1", *(f"-I{folder}" for folder in include_folders())]
    before += ["-fno-gnu-unique"] if cxx or _is_cxx(words) else ["-Werror=implicit-function-declaration"]
    if any(word in _NO_LINKING for word in words) or set(words) <= set(_QUESTIONS):
        return [*before, *words]
    wrapped = ",".join(f"--wrap={name}" for name in _WRAPPED)
    after = ["-shared", "-Wl,-Bsymbolic,-z,defs", f"-Wl,{wrapped}", f"-L{_PACKAGE}", "-lcorewise_simmpi"]
    return [*before, *words, *after, "-lm"]


def missing_names(said: str) -> list[str]:
    """Names of MPI that a compiler or a linker did not find, in order, each once."""
    declared = set(_MPI_NAME.findall((include_folders()[0] / "mpi.h").read_text()))
    found: dict[str, None] = {}
    for line in said.splitlines():
        if _MISSING.search(line) and (quoted := _QUOTED.search(line)):
            name = quoted[1].removeprefix("P")
            if name not in declared:
                found[name] = None
    return list(found)


def compiler(cxx: bool) -> list[str]:
    """CC or CXX (which may name a wrapper too), else the host's own."""
    named = os.environ.get("CXX" if cxx else "CC", "").strip()
    words = shlex.split(named) if named and "simcc" not in named else []
    candidates = [words, *([name] for name in (("c++", "g++") if cxx else ("cc", "gcc")))]
    for candidate in candidates:
        if candidate and shutil.which(candidate[0]):
            return candidate
    raise RunError(f"no {'C++' if cxx else 'C'} compiler found ({'CXX, c++' if cxx else 'CC, cc'})")


def _is_cxx(words: Sequence[str]) -> bool:
    return any(word.endswith(_CXX_SUFFIXES) for word in words if not word.startswith("-"))


def _first_place(said: str) -> str:
    """Where the compiler met the first of them: "file.c:12"."""
    for line in said.splitlines():
        if _MISSING.search(line) and (place := re.match(r"^([^:\s]+:\d+)", line)):
            return place[1]
    return "the linker says so"


def _pass_on(text: str) -> None:
    os.write(2, text.encode())
