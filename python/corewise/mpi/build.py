"""Builds the preload library for one MPI and keeps it in a cache.

One source (``src/preload`` and the rooms below it), generated wrappers, one compiler call. The result is
keyed by everything it was made from: it is rebuilt when corewise, the MPI or the compiler changes, only then.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from corewise.errors import InputError, RunError
from corewise.mpi import wrappers
from corewise.mpi.find import MpiLibrary

ROOMS = ("base", "trace", "preload")
SOURCES = (
    "base/knobs.cpp",
    "base/units.cpp",
    "trace/recorder.cpp",
    "preload/guard.cpp",
    "preload/process.cpp",
    "preload/comms.cpp",
    "preload/requests.cpp",
    "preload/events.cpp",
    "preload/special.cpp",
)
FLAGS = (
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    "-fno-plt",
    "-static-libstdc++",
    "-Wl,--exclude-libs,ALL",
    "-Wall",
    "-Wextra",
    "-Wno-deprecated-declarations",
    "-Wno-cast-function-type",
)
# Nothing else may be visible: a program would take a preload's copy of a library template for its own.
EXPORTS = "{ global: MPI_*; local: *; };\n"


def source_root() -> Path:
    """Where the C++ rooms are: beside the installed package, or in the checkout."""
    here = Path(__file__).resolve().parents[1]
    for candidate in (here / "_preload_source", here.parents[1] / "src"):
        if (candidate / "preload" / "process.cpp").is_file():
            return candidate
    raise RunError(f"{here}: the preload's sources are missing: reinstall corewise")


def compiler() -> tuple[str, ...]:
    """The C++ compiler's words: CXX (which may name a wrapper too, "ccache g++"), else g++, else c++."""
    named = os.environ.get("CXX", "").strip()
    if named:
        words = _words(named)
        if not words or shutil.which(words[0]) is None:
            raise InputError(
                f"CXX: found '{named}', allowed: a C++ compiler that can be run, or no CXX at all"
            )
        return words
    for name in ("g++", "c++"):
        if shutil.which(name):
            return (name,)
    raise RunError("no C++ compiler found (CXX, g++, c++): the preload is built from source for each MPI")


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:  # a quote that is not closed
        return ()


def cache_root() -> Path:
    """``$XDG_CACHE_HOME/corewise`` or ``~/.cache/corewise``, else a private temporary folder."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "corewise"
    try:
        root.mkdir(parents=True, exist_ok=True)
        # The loader takes spaces and colons in LD_PRELOAD for separators.
        if os.access(root, os.W_OK) and not set(" :") & set(str(root)):
            return root
    except OSError:
        pass
    return _private_folder()


def _private_folder() -> Path:
    """A temporary folder that nobody else can write: what lies there runs inside the user's programs."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    place = next((each for each in places if not set(" :") & set(str(each))), places[1])
    root = place / f"corewise-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
    except OSError as error:
        raise RunError(f"{root}: cannot be made: {error.strerror}: set XDG_CACHE_HOME") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RunError(f"{root}: not a folder that only you can use: remove it, or set XDG_CACHE_HOME")
    return root


def build_preload(mpi: MpiLibrary, *, force: bool = False) -> Path:
    """The preload library for `mpi`, built if it is not in the cache.

    Parameters
    ----------
    mpi : the MPI library to build for.
    force : build even when the cache has it.

    Returns
    -------
    pathlib.Path
        The shared library.

    Raises
    ------
    RunError
        No compiler, or it failed; the message carries its output.
    """
    target = (
        cache_root() / "preload" / f"{mpi.name}-{mpi.version}-{_fingerprint(mpi)}" / "libcorewise-preload.so"
    )
    if target.is_file() and not force:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corewise-build-") as folder:
        work = Path(folder)
        _generate(mpi, work)
        built = _compile(mpi, work)
        staged = target.with_suffix(f".{os.getpid()}.tmp")
        shutil.copy2(built, staged)
        staged.replace(target)
    return target


def library_procedures(mpi: MpiLibrary) -> list[wrappers.Procedure]:
    """The standard's procedures as the library's header declares them, those with a ``PMPI_`` twin."""
    with tempfile.TemporaryDirectory(prefix="corewise-probe-") as folder:
        probe = Path(folder) / "probe.cpp"
        probe.write_text("#include <mpi.h>\n")
        command = [*compiler(), "-E", "-P", *mpi.compile_flags, str(probe)]
        text = _run(command, f"{mpi.prefix}: preprocessing mpi.h failed")
    declared = wrappers.declared_procedures(text, wrappers.standard_procedures())
    if not declared:
        raise InputError(
            f"{mpi.prefix}: mpi.h declares no PMPI_ procedures: not an MPI with a profiling interface"
        )
    return declared


def _fingerprint(mpi: MpiLibrary) -> str:
    digest = hashlib.sha256()
    root = source_root()
    headers = [path for room in ROOMS for path in (root / room).glob("*.hpp")]
    for path in sorted([*headers, *(root / name for name in SOURCES)]):
        digest.update(path.name.encode() + path.read_bytes())
    digest.update(Path(wrappers.__file__).read_bytes())
    library = mpi.library.resolve()
    facts = (
        str(library),
        str(library.stat().st_mtime_ns),
        *mpi.compile_flags,
        *mpi.link_flags,
        *compiler(),
        _compiler_version(),
        *FLAGS,
        EXPORTS,
    )
    digest.update("\0".join(facts).encode())
    return digest.hexdigest()[:16]


def _compiler_version() -> str:
    """What the compiler says of itself: another one may come under the same name."""
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _generate(mpi: MpiLibrary, work: Path) -> None:
    procedures = library_procedures(mpi)
    numbers = wrappers.numbered(wrappers.standard_procedures())
    (work / "procedures.hpp").write_text(numbers + wrappers.available_macros(procedures))
    (work / "wrappers.cpp").write_text(wrappers.wrapper_source(procedures))


def _compile(mpi: MpiLibrary, work: Path) -> Path:
    root = source_root()
    output = work / "libcorewise-preload.so"
    sources = [str(root / name) for name in SOURCES] + [str(work / "wrappers.cpp")]
    (work / "exports.map").write_text(EXPORTS)
    flags = [*FLAGS, f"-Wl,--version-script={work / 'exports.map'}"]
    command = [*compiler(), *flags, f"-I{root}", f"-I{work}", *mpi.compile_flags, *sources, "-o", str(output)]
    _run(
        [*command, *mpi.link_flags, "-lpthread"], f"building the preload for {mpi.name} {mpi.version} failed"
    )
    return output


def _run(command: list[str], failure: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(
            f"{failure} (exit status {done.returncode}):\n{' '.join(command)}\n{done.stderr.strip()}"
        )
    return done.stdout
