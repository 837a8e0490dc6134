"""Compiles contestants: the sources of ``bench/QUESTION``, some with the C++ core's, kept in a cache.

A program is built again when a source, the core, the compiler or the MPI changes, only then. Sources of the
core are compiled once and linked into every program that names them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from corewise.base import late
from corewise.errors import RunError

with late.imports():
    from corewise.bench.rows import Listener
    from corewise.mpi.build import cache_root, compiler, source_root
    from corewise.mpi.find import MpiLibrary

SHM_CORE = (
    *("shm/mapping.cpp", "shm/processes.cpp", "shm/segment.cpp", "shm/wait_policy.cpp"),
    *("kernels/copy/copy.cpp", "kernels/copy/paper.cpp"),
    *("kernels/copy/avx2.cpp", "kernels/copy/avx512.cpp", "kernels/copy/neon.cpp"),
)
"""Sources of the core that the host's port needs."""
TRANSPOSE_CORE = (
    *("kernels/transpose/transpose.cpp", "kernels/transpose/generic.cpp", "kernels/transpose/avx2.cpp"),
    *("kernels/transpose/avx512.cpp", "kernels/transpose/neon.cpp"),
)
"""Those of transposes."""
_LAYOUT = ("layout/datatype.cpp", "layout/layout.cpp")
_SIMPLIFICATION = ("nodes.cpp", "period.cpp", "runs.cpp", "simplify.cpp")
_PLANS = ("compile.cpp", "copy.cpp", "describe.cpp", "pack.cpp", "walk.cpp", "window.cpp")
_LOOPS = ("avx2.cpp", "avx512.cpp", "generic.cpp", "tiles.cpp")
PACKING_CORE = tuple(
    f"kernels/packing/{name}"
    for name in (
        *_LAYOUT,
        *(f"simplification/{each}" for each in _SIMPLIFICATION),
        *(f"plans/{each}" for each in _PLANS),
        *(f"loops/{each}" for each in _LOOPS),
    )
)
"""Those of packing."""
_CXX_FLAGS = ("-std=c++20", "-O3", "-DNDEBUG")
_C_FLAGS = ("-O2",)
_NO_CXX_BINDINGS = ("-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1")
"""Older libraries' mpi.h pulls in the C++ bindings, which need a library of their own."""
_MOST_LINES = 8


def folder_of(question: str) -> Path:
    """``bench/QUESTION``: beside the installed package, or in the checkout."""
    here = Path(__file__).resolve().parents[1]
    for candidate in (here / "_apps" / "bench" / question, here.parents[1] / "bench" / question):
        if candidate.is_dir():
            return candidate
    raise RunError(f"{here / '_apps' / 'bench' / question}: no sources of a benchmark: reinstall corewise")


@dataclass(frozen=True)
class Program:
    """A program to build.

    Attributes
    ----------
    question, name : str
        Its folder, and what the executable is called.
    sources : tuple of str
        Files of the folder, or of elsewhere by their whole paths; the first one's ending says the language.
    core : tuple of str
        Sources of the C++ core that are linked with it: ``shm/mapping.cpp``.
    flags, libraries : tuple of str
        Words for the compiler, before and after the sources.
    mpi : MpiLibrary or None
        To link with.
    """

    question: str
    name: str
    sources: tuple[str, ...]
    core: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    mpi: MpiLibrary | None = None

    def build(self, listener: Listener) -> Path:
        """The executable, from the cache where it is there.

        Raises
        ------
        RunError
            The compiler failed; the message carries the first lines of its output.
        """
        target = cache_root() / "bench" / f"{self.name}-{self._fingerprint()}"
        if target.is_file():
            return target
        listener.note(f"building {self.name} (bench/{self.question}), once")
        target.parent.mkdir(parents=True, exist_ok=True)
        objects = _core_objects(self.core)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="building-") as scratch:
            built = Path(scratch) / self.name
            sources = [str(folder_of(self.question) / each) for each in self.sources]
            compiled([*self._command(), *sources, *map(str, objects), "-o", str(built), *self._linked()])
            built.replace(target)
        return target

    def _command(self) -> list[str]:
        """Compiler and options."""
        words = [*_c_compiler(), *_C_FLAGS] if self._is_c else [*compiler(), *_CXX_FLAGS]
        words += [f"-I{folder_of(self.question)}", *self.flags]
        words += [] if self._is_c else [f"-I{source_root()}", *wheel_includes()]
        words += [*_NO_CXX_BINDINGS, *self.mpi.compile_flags] if self.mpi is not None else []
        return words

    def _linked(self) -> list[str]:
        """Libraries."""
        words = [*self.libraries, *(self.mpi.link_flags if self.mpi is not None else ())]
        return [*words, *_boost_context()] if "sim/fiber.cpp" in self.core else words

    @property
    def _is_c(self) -> bool:
        return self.sources[0].endswith(".c")

    def _fingerprint(self) -> str:
        version = self.mpi.version if self.mpi is not None else ""
        digest = hashlib.sha256(" ".join([*self._command(), *self._linked(), *self.core, version]).encode())
        folders = {(folder_of(self.question) / each).parent for each in self.sources}
        folders.add(folder_of(self.question))
        for path in sorted(path for folder in folders for path in folder.rglob("*")):
            digest.update(path.read_bytes() if path.suffix in (".c", ".cpp", ".hpp", ".h") else b"")
        digest.update(compiler_version().encode())
        digest.update(b"" if self._is_c else core_fingerprint().encode())
        return digest.hexdigest()[:16]


def has_header(name: str, *flags: str) -> bool:
    """Whether the C++ compiler finds a header."""
    command = [*compiler(), "-std=c++20", "-E", "-x", "c++", *flags, "-"]
    done = subprocess.run(command, input=f"#include <{name}>\n", capture_output=True, text=True, check=False)
    return done.returncode == 0


@functools.cache
def compiler_version() -> str:
    """What the compiler says of itself: another one may come under the same name."""
    return subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False).stdout


@functools.cache
def core_fingerprint() -> str:
    """Of all sources of the C++ core that are here."""
    digest = hashlib.sha256()
    for path in sorted(source_root().rglob("*.[ch]pp")):
        digest.update(str(path.relative_to(source_root())).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _core_objects(names: Sequence[str]) -> list[Path]:
    """Objects of sources of the core, compiled side by side where they are not in the cache."""
    if not names:
        return []
    version = hashlib.sha256(f"{core_fingerprint()}{compiler_version()}".encode()).hexdigest()[:16]
    kept = cache_root() / "bench" / f"core-{version}"
    kept.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{source_root()}", *wheel_includes()]

    def build(name: str) -> Path:
        target = kept / name.replace("/", "-").replace(".cpp", ".o")
        if not target.is_file():
            staged = target.with_suffix(f".{os.getpid()}.tmp")
            source = source_root() / name
            compiled([*compiler(), *_CXX_FLAGS, *includes, "-c", str(source), "-o", str(staged)])
            staged.replace(target)
        return target

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(build, names))


def compiled(command: Sequence[str]) -> None:
    """Runs the compiler; a `RunError` with the first lines of what it said where it fails."""
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"{command[0]}: cannot be run: {error.strerror}: a compiler is needed") from None
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[:_MOST_LINES])
        raise RunError(f"building a contestant failed: {shlex.join(command)}:\n{said}")


def _c_compiler() -> tuple[str, ...]:
    words = tuple(shlex.split(os.environ.get("CC", "")))
    return words if words and shutil.which(words[0]) else ("gcc",)


@functools.cache
def _wheels() -> tuple[Path, ...]:
    """Where wheels of this Python keep C++ libraries (cmeel-boost)."""
    found = [Path(folder) / "cmeel.prefix" for folder in sys.path]
    return tuple(prefix for prefix in found if (prefix / "include").is_dir())


def wheel_includes() -> list[str]:
    """How sources of the core find Boost; without wheels it is the system's."""
    return [word for prefix in _wheels() for word in ("-isystem", str(prefix / "include"))]


def _boost_context() -> list[str]:
    """The one compiled part of Boost, which the room `sim` needs."""
    for prefix in _wheels():
        if (library := prefix / "lib" / "libboost_context.so").is_file():
            return [str(library), f"-Wl,-rpath,{prefix / 'lib'}"]
    return ["-lboost_context"]  # Debian: libboost-context-dev
