"""Preloads that come with a wheel: built for an ABI, bound to a host's MPI, and taken only where they fit.

The loader's own view of a bound library (its dynamic section) is held against the MPI, and what it
records against what the program does.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from preload_runs import assert_known_calls, described, launcher_options, library, program
from trace_decoder import decode_folder

from corewise.errors import RunError
from corewise.mpi import build, elf, prebuilt

FILE = "libcorewise-preload.so"


def write_sets(folder: Path, mpi_name: str, **changes: object) -> Path:
    """A package's folder of prebuilt libraries: the manifest with one set, for this MPI."""
    mpi = described(mpi_name)
    row = {
        "name": mpi.name,
        "version": mpi.version,
        "folder": "one",
        "wrapped": sorted(each.name for each in build.library_procedures(mpi)),
        "exported": sorted(prebuilt.exported_procedures(mpi)),
        "fortran": sorted(prebuilt.fortran_names(mpi)),
        **changes,
    }
    (folder / "one").mkdir(parents=True)
    document = {"format": prebuilt.FORMAT, "version": prebuilt.VERSION, "sets": [row]}
    (folder / prebuilt.MANIFEST).write_text(json.dumps(document))
    return folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the package's own would be, and a cache of the test's own."""
    monkeypatch.setattr(prebuilt, "root", lambda: tmp_path / "package")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "package"


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build.shutil, "which", lambda *_, **__: None)


def dynamic_texts(path: Path) -> dict[str, list[str]]:
    """What the loader reads in a library."""
    found: dict[str, list[str]] = {}
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            for tag in section.iter_tags() if isinstance(section, DynamicSection) else ():
                for field in ("needed", "rpath", "runpath"):
                    if hasattr(tag, field):
                        found.setdefault(field, []).append(getattr(tag, field))
    return found


@pytest.mark.parametrize("name", [pytest.param("openmpi", marks=pytest.mark.long_test), "mpich"])
def test_a_program_is_recorded_without_a_compiler(
    name: str, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")  # objects that know no MPI may lie in the usual cache
    write_sets(package, name)
    (made,) = build.build_portable(described(name), package / "one", [FILE])
    here = program(name, "ends")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    without_compiler(monkeypatch)
    taken = build.build_preload(described(name))
    assert taken.is_relative_to(tmp_path / "cache")
    assert build.is_built(described(name))
    # The loader sees this host's MPI where the package's library has the two texts.
    assert prebuilt.NAME_PLACE in dynamic_texts(made)["needed"]
    texts = dynamic_texts(taken)
    real = [path for path in described(name).library.parent.glob("libmpi.so.*") if elf.is_elf(path)]
    assert {elf.soname(path) for path in real} & set(texts["needed"])
    assert str(described(name).library.parent) in [*texts.get("rpath", []), *texts.get("runpath", [])]
    monkeypatch.undo()
    variables = {"LD_PRELOAD": str(taken), "COREWISE_TRACE_DIR": str(tmp_path / "it.cw")}
    (tmp_path / "it.cw").mkdir()
    done = library(name).run(1, here, ["fork"], launcher_args=launcher_options(library(name), variables))
    assert done.returncode == 0, done.stderr
    (trace,) = decode_folder(tmp_path / "it.cw").values()
    assert_known_calls(trace)


def test_without_prebuilt_libraries_a_compiler_is_asked_for(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiler(monkeypatch)
    with pytest.raises(RunError, match=r"no C\+\+ compiler found.*no prebuilt preload"):
        build.build_preload(described("mpich"))


def test_an_mpi_that_lacks_a_procedure_is_not_given_the_set(package: Path) -> None:
    """The loader would end every program with an unresolved symbol."""
    names = sorted(prebuilt.exported_procedures(described("mpich")))
    write_sets(package, "mpich", wrapped=[*names, "MPI_Of_a_later_standard"])
    assert prebuilt.fitting(described("mpich"), prebuilt.sets(package)) is None


def test_an_mpi_with_more_is_served_only_where_nothing_can_be_built(package: Path, tmp_path: Path) -> None:
    names = sorted(prebuilt.exported_procedures(described("mpich")))
    write_sets(package, "mpich", exported=[name for name in names if name != "MPI_Ibarrier"])
    fit = prebuilt.fitting(described("mpich"), prebuilt.sets(package))
    assert fit is not None
    assert fit.unknown == ("MPI_Ibarrier",)
    places = prebuilt.NAME_PLACE.encode() + b"\0" + prebuilt.FOLDER_PLACE.encode() + b"\0"
    (package / "one" / FILE).write_bytes(b"before\0" + places + b"after")
    assert prebuilt.bound(described("mpich"), FILE, tmp_path, whole=True) is None
    found = prebuilt.bound(described("mpich"), FILE, tmp_path, whole=False)
    assert found is not None
    data = found.read_bytes()
    assert len(data) == len(b"before\0" + places + b"after")
    assert (data[:7], data[-5:]) == (b"before\0", b"after")
    assert str(described("mpich").library.parent).encode() + b"\0" in data


def test_the_set_that_knows_most_is_taken(package: Path) -> None:
    mpi = described("mpich")
    write_sets(package, "mpich")
    (newest,) = prebuilt.sets(package)
    old = replace(newest, version="3.4", exported=newest.exported - {"MPI_Session_init"})
    other_kind = replace(newest, name="openmpi", version="3.4")
    fit = prebuilt.fitting(mpi, (old, newest, other_kind))
    assert fit is not None
    assert fit.chosen == newest
    assert fit.unknown == ()


def test_open_mpi_of_another_major_version_gets_none(package: Path) -> None:
    write_sets(package, "openmpi", version="3.1.6")
    assert prebuilt.fitting(described("openmpi"), prebuilt.sets(package)) is None


def test_a_damaged_library_is_refused(package: Path, tmp_path: Path) -> None:
    write_sets(package, "mpich")
    (package / "one" / FILE).write_bytes(b"no places")
    with pytest.raises(RunError, match="damaged: reinstall corewise"):
        prebuilt.bound(described("mpich"), FILE, tmp_path, whole=True)
