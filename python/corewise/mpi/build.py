"""Gives the preload library for one MPI: built here and kept in a cache, or one that came prebuilt.

One source (``src/preload`` and the rooms below it) and generated wrappers. The result is keyed by everything
it was made from: it is rebuilt when corewise, the MPI or the compiler changes, only then. Objects of the
rooms below the preload know no MPI: they are kept, too, and the next MPI's library takes them. Those of which
an MPI has two libraries are kept for the second. A prebuilt library (`corewise.mpi.prebuilt`) is taken where
it knows all that the MPI has, and without a compiler also where it lacks some.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from types import ModuleType

from corewise.base.endings import raised_endings
from corewise.base.files import staged_file
from corewise.errors import InputError, RunError
from corewise.mpi import elf, fortran, prebuilt
from corewise.mpi.find import MpiLibrary
from corewise.mpi.generators import accelerating as accelerating_wrappers
from corewise.mpi.generators import fortran as fortran_source
from corewise.mpi.generators import interposing
from corewise.mpi.generators import packing as packing_wrappers
from corewise.mpi.generators import recording as wrappers
from corewise.mpi.generators import reordering as reorder_wrappers
from corewise.mpi.kinds import ALL

_PRELOAD = "preload"
"""The room whose sources include mpi.h."""
_SHARED = ("base/knobs.cpp", "base/units.cpp", "preload/guard.cpp", "preload/environment.cpp")
"""Sources that every library has."""
_FORTRAN = "fortran.cpp"
"""A library's source that is compiled where the MPI has Fortran."""
_NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
"""Errors of a full or broken disk."""
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
EXPORTS = "{ global: MPI_*; mpi_*; corewise_*; __cyg_profile_func_*; local: *; };\n"
MPI_EXPORTS = "{ global: MPI*; PMPI*; mpi*; pmpi*; local: *; };\n"
ALLOCATING_EXPORTS = (
    "{ global: MPI*; PMPI*; mpi*; pmpi*; malloc; calloc; realloc; free; aligned_alloc; posix_memalign; "
    "malloc_usable_size; local: *; };\n"
)
PACKING_EXPORTS = "{ global: MPI*; PMPI*; mpi*; pmpi*; opal_*; corewise_*; local: *; };\n"


def source_root() -> Path:
    """Where the C++ rooms are: beside the installed package, or in the checkout."""
    here = Path(__file__).resolve().parents[1]
    for candidate in (here / "_preload_source", here.parents[1] / "src"):
        if (candidate / "preload" / "guard.cpp").is_file():
            return candidate
    raise RunError(f"{here}: the preload's sources are missing: reinstall corewise")


def include_folder() -> Path:
    """Where ``corewise.h`` and ``corewise.f90`` are, for programs that name their regions."""
    return Path(__file__).resolve().parents[1] / "include"


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
    raise RunError(
        "no C++ compiler found (CXX, g++, c++), and no prebuilt preload fits: the preload is built from "
        "source for each MPI; install a compiler, or a wheel of corewise and an MPI that it knows"
    )


def has_compiler() -> bool:
    """Whether a preload can be built here. A compiler that is named wrongly is an `InputError` as ever."""
    try:
        compiler()
    except RunError:
        return False
    return True


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:  # a quote that is not closed
        return ()


def cache_root() -> Path:
    """``$XDG_CACHE_HOME/corewise`` or ``~/.cache/corewise``, else a private temporary folder.

    Else: for a user without a home, and where nothing can be written or no library be loaded from.
    """
    try:
        # Absolute: a launcher may start the ranks in another folder.
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "corewise"
        root.mkdir(parents=True, exist_ok=True)
        if os.access(root, os.W_OK) and _can_be_loaded_from(root):
            return root
    except (OSError, RuntimeError):  # the latter: nobody knows where the home is
        pass
    return _private_folder()


def _can_be_loaded_from(folder: Path) -> bool:
    """Whether the loader takes libraries of this folder in LD_PRELOAD."""
    if set(" :") & set(str(folder)):  # it takes these for separators
        return False
    try:
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return False


def _private_folder() -> Path:
    """A temporary folder that nobody else can write: what lies there runs inside the user's programs."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    place = next((each for each in places if _can_be_loaded_from(each)), None)
    if place is None:
        raise RunError(
            f"{places[0]}: no library can be loaded from there, nor from the usual cache (mounted noexec?): "
            "set XDG_CACHE_HOME to a folder where programs can be run"
        )
    root = place / f"corewise-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
    except OSError as error:
        raise RunError(f"{root}: cannot be made: {error.strerror}: set XDG_CACHE_HOME") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RunError(f"{root}: not a folder that only you can use: remove it, or set XDG_CACHE_HOME")
    return root


def build_preload(mpi: MpiLibrary, *, force: bool = False, kinds: int = ALL) -> Path:
    """The preload library for `mpi`, built if it is not in the cache.

    Parameters
    ----------
    mpi : the MPI library to build for.
    force : build even when the cache has it.
    kinds : what it can record at all, bits of `corewise.mpi.kinds`; the code for the rest is not compiled.

    Returns
    -------
    pathlib.Path
        The shared library.

    Raises
    ------
    RunError
        No compiler, or it failed; the message carries its output.
    """
    return _cached(mpi, _RECORDING, _kinds_choice(kinds), force)


def build_reorder(mpi: MpiLibrary, *, force: bool = False) -> Path:
    """The library that gives a program a reordered world, for `mpi`; built if it is not in the cache.

    It stands in LD_PRELOAD behind the recording one, or alone.

    Parameters
    ----------
    mpi : the MPI library to build for.

    -------
    pathlib.Path
        The shared library.

    Raises
    ------
    RunError
        No compiler, or it failed; the message carries its output.
    """
    return _cached(mpi, _REORDERING, (), force)


def build_packing(mpi: MpiLibrary, *, force: bool = False, definitions: tuple[str, ...] = ()) -> Path:
    """The library that packs non-contiguous messages, for `mpi`; built if it is not in the cache.

    It stands in LD_PRELOAD behind the other two, or alone.

    Parameters
    ----------
    mpi : the MPI library to build for.
    force : build even when the cache has it.
    definitions : for tests: macros as ``NAME=VALUE``.

    Returns
    -------
    pathlib.Path
        The shared library.

    Raises
    ------
    RunError
        No compiler, or it failed; the message carries its output.
    """
    return _cached(mpi, _PACKING, tuple(f"-D{definition}" for definition in definitions), force)


def build_accelerate(mpi: MpiLibrary, *, force: bool = False, allocating: bool = False) -> Path:
    """The library that does collectives inside a node, for `mpi`; built if it is not in the cache.

    It stands in LD_PRELOAD behind the other three, or alone.

    Parameters
    ----------
    mpi : the MPI library to build for.
    force : build even when the cache has it.
    allocating : the one that gives large blocks of malloc, too (COREWISE_ACCELERATE_HEAP).

    Returns
    -------
    pathlib.Path
        The shared library.

    Raises
    ------
    RunError
        No compiler, or it failed; the message carries its output.
    """
    return _cached(mpi, _ALLOCATING if allocating else _ACCELERATING, (), force)


def is_built(
    mpi: MpiLibrary,
    *,
    recording: bool = True,
    reordering: bool = False,
    packing: bool = False,
    accelerating: bool = False,
    allocating: bool = False,
    kinds: int = ALL,
) -> bool:
    """Whether the cache has the libraries that are asked for.

    Parameters
    ----------
    mpi : the MPI library to build for.
    recording, reordering, packing, accelerating : which libraries.
    allocating : see `build_accelerate`.
    kinds : see `build_preload`.
    """
    wanted = [(_RECORDING, _kinds_choice(kinds))] if recording else []
    wanted += [(_REORDERING, ())] if reordering else []
    wanted += [(_PACKING, ())] if packing else []
    wanted += [(_ALLOCATING if allocating else _ACCELERATING, ())] if accelerating else []
    return all(_prebuilt(mpi, *each) is not None or _target(mpi, *each).is_file() for each in wanted)


def _kinds_choice(kinds: int) -> tuple[str, ...]:
    # ALL is the sources' own default.
    return () if kinds == ALL else (f"-DCOREWISE_KINDS={kinds}",)


def _target(mpi: MpiLibrary, kind: _Kind, choice: tuple[str, ...]) -> Path:
    """Where a library lies in the cache."""
    folder = f"{mpi.name}-{mpi.version}-{_fingerprint(mpi, kind, choice)}"
    return cache_root() / "preload" / folder / kind.file


def _prebuilt(mpi: MpiLibrary, kind: _Kind, choice: tuple[str, ...]) -> Path | None:
    """The library that came with the package, for what is not chosen otherwise; None where none will do."""
    if choice:
        return None
    found = prebuilt.bound(mpi, kind.file, cache_root(), whole=True)
    if found is None and not has_compiler():
        found = prebuilt.bound(mpi, kind.file, cache_root(), whole=False)
    return found


def _cached(mpi: MpiLibrary, kind: _Kind, choice: tuple[str, ...], force: bool) -> Path:
    if not force and (ready := _prebuilt(mpi, kind, choice)) is not None:
        return ready
    target = _target(mpi, kind, choice)
    if target.is_file() and not force:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(target.parent), _scratch() as work:
        if target.is_file() and not force:  # another process has built it meanwhile
            return target
        built = _compile(mpi, work, kind, kind.generate(mpi, work), choice, force)
        with staged_file(target) as staged:
            shutil.copy2(built, staged)
    return target


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder to build in; it is removed also where a signal ends us."""
    with raised_endings(), tempfile.TemporaryDirectory(prefix="corewise-build-") as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if error.filename is not None or error.errno not in _NO_PLACE:
                raise
            raise RunError(f"{folder}: nothing can be built there: {error.strerror or error}") from error


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Other processes that build in this folder wait; without locks of the file system they build too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def build_portable(mpi: MpiLibrary, folder: Path, files: Sequence[str] = ()) -> list[Path]:
    """The libraries for every installation of this MPI's ABI, which `corewise.mpi.prebuilt` binds to one.

    Parameters
    ----------
    mpi : the MPI whose header and procedures they are made from.
    folder : where they go.
    files : names of those that are wanted; all four without.

    Returns
    -------
    list of pathlib.Path

    Raises
    ------
    RunError
        No compiler, or it failed; the message carries its output.
    """
    made = []
    for kind in (_RECORDING, _REORDERING, _PACKING, _ACCELERATING):
        if files and kind.file not in files:
            continue
        with _scratch() as work:
            generated = kind.generate(mpi, work)
            for source in generated:
                _name_by_soname(source, mpi)
            # Assertions name their file: as in the package, not on the machine that built the wheel.
            names = (f"-ffile-prefix-map={source_root()}=corewise",)
            built = _compile(mpi, work, kind, generated, names, False, _portable_link(work))
            made.append(Path(shutil.copy2(built, folder / kind.file)))
    return made


def _name_by_soname(source: Path, mpi: MpiLibrary) -> None:
    """Names Fortran libraries as any loader knows them, in a source that names the files of this host."""
    text = source.read_text()
    for path in fortran.libraries(mpi):
        names = [elf.soname(path)]
        if names[0].startswith("libmpifort.so"):  # as MPICH says; Debian's MPICH has its own name for it
            names.append(names[0].replace("libmpifort", "libmpichfort"))
        text = text.replace(f'"{path}"', ", ".join(f'"{name}"' for name in names))
    source.write_text(text)


def _portable_link(work: Path) -> list[str]:
    """Links against a library without content whose name, and folder, another will take."""
    stub = work / prebuilt.NAME_PLACE
    words = ["-shared", "-x", "c++", "/dev/null", "-o", str(stub), f"-Wl,-soname,{prebuilt.NAME_PLACE}"]
    _run([*compiler(), *words], "building a library that stands for the MPI failed")
    return ["-Wl,--no-as-needed", "-s", str(stub), f"-Wl,-rpath,{prebuilt.FOLDER_PLACE}"]


def library_procedures(mpi: MpiLibrary) -> list[wrappers.Procedure]:
    """The standard's procedures as the library's header declares them, those with a ``PMPI_`` twin."""
    declared = wrappers.declared_procedures(_header(mpi), wrappers.standard_procedures())
    # Headers declare more than libraries have: Debian's MPICH lacks PMPI_Status_f082f.
    exported = elf.functions_with_parts(mpi.library)
    if any(name.startswith("PMPI_") for name in exported):
        declared = [procedure for procedure in declared if f"P{procedure.name}" in exported]
    if not declared:
        raise InputError(
            f"{mpi.prefix}: mpi.h declares no PMPI_ procedures: not an MPI with a profiling interface"
        )
    return declared


def _header(mpi: MpiLibrary) -> str:
    """The preprocessed mpi.h."""
    with tempfile.TemporaryDirectory(prefix="corewise-probe-") as folder:
        probe = Path(folder) / "probe.cpp"
        probe.write_text("#define OMPI_SKIP_MPICXX 1\n#define MPICH_SKIP_MPICXX 1\n#include <mpi.h>\n")
        command = [*compiler(), "-E", "-P", *mpi.compile_flags, str(probe)]
        return _run(command, f"{mpi.prefix}: preprocessing mpi.h failed")


def _fingerprint(mpi: MpiLibrary, kind: _Kind, choice: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    root = source_root()
    for path in sorted([*kind.headers(), *kind.sources(), *kind.fortran_sources()]):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    for module in (wrappers, interposing, fortran, elf, kind.writer):
        digest.update(Path(str(module.__file__)).read_bytes())
    facts = (
        *_facts(mpi),
        *mpi.link_flags,
        *compiler(),
        _compiler_version(),
        metadata.version("pympistandard"),
        *_flags(kind),
        *choice,
        kind.exports,
    )
    digest.update("\0".join(facts).encode())
    return digest.hexdigest()[:16]


def _facts(mpi: MpiLibrary) -> tuple[str, ...]:
    """What tells an MPI from another, or from what lay in its place before."""
    libraries = [mpi.library.resolve(), *fortran.libraries(mpi)]
    return (*(f"{path} {path.stat().st_mtime_ns}" for path in libraries), *mpi.compile_flags)


def _flags(kind: _Kind) -> tuple[str, ...]:
    """The compiler's options. With COREWISE_PRELOAD_ASSERTS in the environment assertions stay."""
    if os.environ.get("COREWISE_PRELOAD_ASSERTS"):
        return (*FLAGS, *kind.flags, "-O1")  # to be looked for, not to be quick
    return (*FLAGS, "-DNDEBUG", *kind.flags)


def _compiler_version() -> str:
    """What the compiler says of itself: another one may come under the same name."""
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _generate_recording(mpi: MpiLibrary, work: Path) -> list[Path]:
    procedures = library_procedures(mpi)
    names = [procedure.name for procedure in wrappers.standard_procedures()]
    numbers = wrappers.numbered([*names, *fortran.other_names()])
    (work / "procedures.hpp").write_text(numbers + wrappers.available_macros(procedures))
    (work / "wrappers.cpp").write_text(wrappers.wrapper_source(procedures))
    if not (entries := fortran.entries(mpi)):
        return [work / "wrappers.cpp"]
    source = fortran_source.source(entries, fortran.libraries(mpi))
    (work / "fortran_wrappers.cpp").write_text(source)
    return [work / "wrappers.cpp", work / "fortran_wrappers.cpp", *_RECORDING.fortran_sources()]


def _generate_reordering(mpi: MpiLibrary, work: Path) -> list[Path]:
    procedures = reorder_wrappers.procedures(_header(mpi), mpi.library)
    (work / "reorder_wrappers.cpp").write_text(reorder_wrappers.source(procedures))
    if not (entries := fortran.entries(mpi)):
        return [work / "reorder_wrappers.cpp"]
    source = reorder_wrappers.fortran_source(entries, fortran.libraries(mpi))
    (work / "reorder_entries.cpp").write_text(source)
    return [work / "reorder_wrappers.cpp", work / "reorder_entries.cpp", *_REORDERING.fortran_sources()]


def _generate_packing(mpi: MpiLibrary, work: Path) -> list[Path]:
    procedures = library_procedures(mpi)
    (work / interposing.AVAILABLE).write_text(packing_wrappers.available_macros(procedures))
    (work / "packing_wrappers.cpp").write_text(packing_wrappers.source(procedures))
    return [work / "packing_wrappers.cpp"]


def _generate_accelerating(mpi: MpiLibrary, work: Path) -> list[Path]:
    procedures = library_procedures(mpi)
    (work / interposing.AVAILABLE).write_text(interposing.available_macros(procedures))
    (work / "accelerating_wrappers.cpp").write_text(accelerating_wrappers.source(procedures))
    return [work / "accelerating_wrappers.cpp"]


@dataclass(frozen=True)
class _Kind:
    """A library that can be built: its file, its folders, what it exports, what writes the rest of it."""

    file: str
    folder: str
    """Its folder in the preload: all sources below are its own."""
    exports: str
    generate: Callable[[MpiLibrary, Path], list[Path]]
    writer: ModuleType
    shared: tuple[str, ...] = ()
    """More sources than every library has, or folders of them."""
    below: tuple[str, ...] = ()
    """Folders of further headers that its sources may include."""
    flags: tuple[str, ...] = ()
    keeps_objects: bool = False
    """Whether another library is made of the same sources."""

    def sources(self) -> list[Path]:
        """The sources but for those of Fortran and the generated ones.

        Its own come first: one of them takes longest, and at the end would leave other processors idle.
        """
        root = source_root()
        own = [path for path in sorted((root / self.folder).rglob("*.cpp")) if path.name != _FORTRAN]
        shared = [root / name for name in (*_SHARED, *self.shared)]
        found = [sorted(path.rglob("*.cpp")) if path.is_dir() else [path] for path in shared]
        return [*own, *(path for paths in found for path in paths)]

    def fortran_sources(self) -> list[Path]:
        """The source for an MPI that has Fortran, if this library has one."""
        return sorted((source_root() / self.folder).glob(_FORTRAN))

    def headers(self) -> list[Path]:
        """The headers that its sources may include."""
        return [*self.headers_below(), *(source_root() / self.folder).rglob("*.hpp")]

    def headers_below(self) -> list[Path]:
        """Of these, those that the library shares with others."""
        root = source_root()
        folders = (root / name for name in ("base", *self.below))
        return [
            *(path for folder in folders for path in folder.rglob("*.hpp")),
            *(root / _PRELOAD).glob("*.hpp"),
        ]


_RECORDING = _Kind(
    "libcorewise-preload.so",
    "preload/recording",
    EXPORTS,
    _generate_recording,
    fortran_source,
    ("trace/codec.cpp", "trace/recorder.cpp"),
    ("trace",),
)
_REORDERING = _Kind(
    "libcorewise-reorder.so", "preload/reordering", MPI_EXPORTS, _generate_reordering, reorder_wrappers
)
_PACKING = _Kind(
    "libcorewise-packing.so",
    "preload/packing",
    PACKING_EXPORTS,
    _generate_packing,
    packing_wrappers,
    ("kernels/packing", "preload/data.cpp", "preload/described.cpp"),
    ("kernels",),
    ("-O3", "-Wl,--no-as-needed"),
)
_ACCELERATING = _Kind(
    "libcorewise-accelerate.so",
    "preload/accelerating",
    MPI_EXPORTS,
    _generate_accelerating,
    accelerating_wrappers,
    (
        "kernels/copy",
        "kernels/packing",
        "kernels/reduce",
        "pattern/schedule.cpp",
        "preload/data.cpp",
        "preload/described.cpp",
        "shm",
    ),
    ("kernels", "pattern", "port", "coll", "shm"),
    # No fused multiply-add, as in src/kernels/CMakeLists.txt: a product has the same bits on every host.
    ("-O3", "-ffp-contract=off", "-Wl,--no-as-needed"),
    keeps_objects=True,
)
_ALLOCATING = replace(
    _ACCELERATING,
    file="libcorewise-accelerate-heap.so",
    exports=ALLOCATING_EXPORTS,
    shared=(*_ACCELERATING.shared, "preload/allocating"),
)


def _compile(
    mpi: MpiLibrary,
    work: Path,
    kind: _Kind,
    generated: list[Path],
    choice: tuple[str, ...],
    force: bool,
    mpi_link: Sequence[str] = (),
) -> Path:
    root = source_root()
    output = work / kind.file
    running: set[subprocess.Popen[str]] = set()
    sources = [*generated, *kind.sources()]
    (work / "exports.map").write_text(kind.exports)
    flags = [*compiler(), *_flags(kind)]
    failure = f"building {kind.file} for {mpi.name} {mpi.version} failed"
    facts = [*flags, _compiler_version()]
    of_every_mpi = _digest(facts, kind.headers_below())
    of_this_mpi = _digest([*facts, *choice, *_facts(mpi)], [*kind.headers(), *work.glob("*.hpp")])

    def compiled(source: Path) -> str:
        if source not in generated and root / _PRELOAD not in source.parents:
            command = [*flags, f"-I{root}"]
            target = _object_in_cache(source, of_every_mpi)
        else:
            command = [*flags, *choice, f"-I{root}", f"-I{work}", *mpi.compile_flags]
            target = work / f"{sources.index(source)}-{source.stem}.o"
            if kind.keeps_objects:
                target = _object_in_cache(source, of_this_mpi)
        if force or not target.is_file():
            with staged_file(target) as staged:
                _run([*command, "-c", str(source), "-o", str(staged)], failure, running)
        return str(target)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        try:
            objects = list(workers.map(compiled, sources))
        except BaseException:  # nobody waits for the others
            for each in list(running):
                _end(each)
            raise
    # The file itself: MPICH's wheel has a linker script AS_NEEDED for libmpi.so, and a library that only asks
    # for the next MPI_X would not bring its MPI along into a program that opens its own by dlopen.
    link = [f"-Wl,--version-script={work / 'exports.map'}", *objects, "-o", str(output)]
    _run([*flags, *choice, *link, *(mpi_link or (str(mpi.library), *mpi.link_flags)), "-lpthread"], failure)
    return output


def _digest(facts: Sequence[str], files: Sequence[Path]) -> str:
    """Of words, and of files by their names below the sources, or alone, and what is in them."""
    root = source_root()
    digest = hashlib.sha256("\0".join(facts).encode())
    for path in sorted(files):
        name = path.relative_to(root) if path.is_relative_to(root) else path.name
        digest.update(str(name).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _object_in_cache(source: Path, made_with: str) -> Path:
    """Where a source's object lies that is kept."""
    folder = cache_root() / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{source.stem}-{_digest([made_with], [source])}.o"


def _run(command: list[str], failure: str, running: set[subprocess.Popen[str]] | None = None) -> str:
    """What a command prints; while it runs, `running` has it."""
    running = set() if running is None else running
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as child:
        running.add(child)
        try:
            out, err = child.communicate()
        except BaseException:
            _end(child)
            raise
        finally:
            running.discard(child)
    if child.returncode != 0:
        raise RunError(f"{failure} (exit status {child.returncode}):\n{' '.join(command)}\n{err.strip()}")
    return out


def _end(child: subprocess.Popen[str]) -> None:
    """Ends a compiler with the programs that it has started, which it would leave behind."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
