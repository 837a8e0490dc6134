"""Launchers are known by a good answer alone; what failed, or what the system refused, is said.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
import shutil
import subprocess
from pathlib import Path

import pytest

from corewise.errors import InputError, RunError
from corewise.mpi import elf, find

NO_HOME = """[node:12] Error: Unable to get the user home directory
--------------------------------------------------------------------------
It looks like opal_init failed for some reason (an Open MPI developer may know):
  mca_base_var_init failed
  --> Returned value -1 instead of OPAL_SUCCESS
"""
MPICH = "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: today\n"


def launcher(folder: Path, said: str, status: int = 0) -> Path:
    """A program that answers whatever it is asked."""
    path = folder / "bin" / "mpiexec"
    path.parent.mkdir(parents=True)
    (folder / "said").write_text(said)
    path.write_text(f"#!/bin/sh\ncat '{folder}/said'\nexit {status}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The prefix of the one MPI that is looked at."""
    monkeypatch.setattr(find, "search_launchers", lambda: [tmp_path / "mpi" / "bin" / "mpiexec"])
    return tmp_path / "mpi"


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("mpiexec (Open MPI) 5.0.11\n\nReport bugs to ...\n", ("openmpi", "5.0.11")),
        ("mpirun (Open MPI) 4.1.7a1\n", ("openmpi", "4.1.7a1")),
        ("mpiexec.openmpi (OpenRTE) 4.1.4\n", ("openmpi", "4.1.4")),
        ("prterun (PRRTE) 3.0.5\n", ("openmpi", "3.0.5")),
        (MPICH, ("mpich", "4.0.2")),
    ],
)
def test_a_launcher_is_known_by_its_version(said: str, facts: tuple[str, str], tmp_path: Path) -> None:
    assert find.launcher_facts(launcher(tmp_path, said)) == facts


@pytest.mark.parametrize("said", [NO_HOME, MPICH])
def test_an_answer_with_a_bad_status_is_none(said: str, tmp_path: Path) -> None:
    first = said.splitlines()[0]
    with pytest.raises(RunError, match="exit status 1") as caught:
        find.launcher_facts(launcher(tmp_path, said, 1))
    assert str(caught.value).endswith(f"it said '{first}'") and "\n" not in str(caught.value)


def test_a_number_in_a_launchers_words_is_no_version(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a launcher of Open MPI or MPICH"):
        find.launcher_facts(launcher(tmp_path, NO_HOME))


def test_a_launcher_that_failed_is_said(only: Path) -> None:
    launcher(only, NO_HOME, 1)
    with pytest.raises(InputError, match=r"no such MPI found; found here: none; .*home directory'$"):
        find.find("openmpi")
    shutil.rmtree(only / "bin")
    with pytest.raises(InputError, match="or install one"):
        find.find("openmpi")


def test_what_the_system_refused_is_said(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    launcher(only, MPICH)
    monkeypatch.setattr(subprocess, "run", refused)
    with pytest.raises(InputError, match=r"found here: none; .*bin/mpiexec: .*: Too many open files$"):
        find.find("mpich")


def test_a_program_gets_no_other_mpi_than_its_own_that_failed(
    only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher(only, NO_HOME, 1)
    library = only / "lib" / "libmpi.so.40"
    monkeypatch.setattr(elf, "loaded_files", lambda program: [library])
    with pytest.raises(RunError, match="home directory"):
        find.of_program(Path("program"))
    monkeypatch.setattr(elf, "loaded_files", lambda program: [Path("/elsewhere/lib/libmpi.so.40")])
    assert find.of_program(Path("program")) is None


def test_a_prefix_in_the_home_of_nobody(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no MPI here"):
        find.from_prefix(Path("~no-user-has-this-name/mpi"))


def test_a_program_may_be_named_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = shutil.which("true")
    assert true is not None
    shutil.copy(true, tmp_path / "-v")
    monkeypatch.chdir(tmp_path)
    libraries = elf.loaded_libraries(Path(true))
    assert libraries and elf.loaded_libraries(Path("./-v")) == libraries
