"""The library of one-dimensional transforms behind apps/fft2d: FFTW, or DUCC where FFTW is absent.

DUCC is compiled from its sources, which pip fetches once from the package index into the cache: the archive
that ``bench/fft/requirements-ducc.txt`` names by its hash. Nothing of it is installed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from corewise.base import late
from corewise.bench.peers import Peer
from corewise.errors import InputError, RunError

with late.imports():
    from corewise.bench.programs import folder_of, has_header
    from corewise.bench.rows import Listener
    from corewise.mpi.build import cache_root

FFTW = Peer("FFTW", "apt install libfftw3-dev (Debian)")
_KEPT = ("fft", "infra", "math")
"""Folders of DUCC that its transforms need."""
_LIMIT_S = 300.0


@dataclass(frozen=True)
class Engine:
    """What a build of apps/fft2d needs more: sources, and words for the compiler before and after them."""

    name: str
    sources: tuple[str, ...]
    flags: tuple[str, ...]
    libraries: tuple[str, ...]


FFTW_ENGINE = Engine("FFTW", (), ("-DFFT2D_FFTW",), ("-lfftw3",))


def ducc_engine(sources: Path) -> Engine:
    """DUCC from its unpacked sources, without threads of its own."""
    flags = ("-DFFT2D_DUCC", "-DDUCC0_NO_LOWLEVEL_THREADING", "-isystem", str(sources))
    return Engine("DUCC", (str(sources / "ducc0" / "infra" / "threading.cc"),), flags, ())


def has_fftw() -> bool:
    """Whether the compiler finds it."""
    return has_header("fftw3.h")


def engine_here(listener: Listener) -> Engine:
    """FFTW where it is, else DUCC.

    Raises
    ------
    InputError
        Neither is here, and DUCC cannot be fetched.
    """
    if has_fftw():
        return FFTW_ENGINE
    try:
        return ducc_engine(ducc_sources(listener))
    except RunError as error:
        raise InputError(
            f"bench fft: found no fftw3.h and no sources of DUCC ({error}), needed: one of them: "
            f"{FFTW.get}, or an index of Python packages that pip reaches"
        ) from None


def lacks_engine(listener: Listener) -> str | None:
    """What is missing where neither is here, in a few words."""
    try:
        engine_here(listener)
    except InputError:
        return f"neither FFTW ({FFTW.get}) nor the sources of DUCC (pip download)"
    return None


def ducc_sources(listener: Listener) -> Path:
    """The folder above ``ducc0``, fetched where it is not in the cache.

    Raises
    ------
    RunError
        pip is not here, or does not reach its index, or the archive is another one.
    """
    requirements = folder_of("fft") / "requirements-ducc.txt"
    version = requirements.read_text(encoding="utf-8").split("==")[1].split()[0]
    target = cache_root() / "sources" / f"ducc0-{version}"
    if (target / "ducc0").is_dir():
        return target
    listener.note(f"fetching the sources of DUCC {version}, once")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetching-") as scratch:
        archive = _downloaded(requirements, Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        unpack(archive, unpacked)
        try:
            unpacked.replace(target)
        except OSError:  # another process was quicker
            if not (target / "ducc0").is_dir():
                raise
    return target


def _downloaded(requirements: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--retries", "1", "--timeout", "20", "--no-deps", "--no-binary", "ducc0"]
    command += ["--dest", str(folder), "-r", str(requirements)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise RunError(f"pip download: no end after {_LIMIT_S:g} s") from None
    found = list(folder.glob("ducc0-*.tar.gz"))
    if done.returncode != 0 or not found:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise RunError(f"pip download: {said[-1].strip() if said else 'brought no archive'}")
    return found[0]


def unpack(archive: Path, target: Path) -> None:
    """The folders that are needed, as ``TARGET/ducc0/...``; what lies elsewhere is left."""
    with tarfile.open(archive) as files:
        for member in files:
            parts = PurePosixPath(member.name).parts
            if parts[1:3] != ("src", "ducc0") or parts[3:4] == () or parts[3] not in _KEPT or ".." in parts:
                continue
            content = files.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            path = target.joinpath(*parts[2:])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
    if not (target / "ducc0" / "fft" / "fft1d_impl.h").is_file():
        raise RunError(f"{archive.name}: found no src/ducc0/fft/fft1d_impl.h in it")
