"""Programs under the packing library: mpi4py-fft and Fortran; and with the library on one rank alone.

mpi4py-fft is Debian's, unmodified, in the environment ``build/fft`` that ``packing/README.md`` makes
for both MPIs; Fortran runs on Debian's MPIs. Other programs of mpi4py are in ``test_differential.py``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import fortran_runs
import packing_runs
import pytest
from conftest import ROOT
from packing_runs import FLAGS, SOURCES, launched, ran, with_variables
from test_shim import kinds, read_counts

from corewise.mpi import build

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
FFT_PYTHON = ROOT / "build" / "fft" / "bin" / "python"
NAMES = packing_runs.MPI_NAMES[:2]
# What has a rank of its own in each role: rank 0 sends, rank 1 receives, or both do both.
ALONE = ("matching", "exchange")


def packed(name: str) -> list[str]:
    """The words before a program that give its rank the packing library."""
    return with_variables(packing_runs.packing_environment(name))


@pytest.mark.parametrize("name", NAMES)
def test_mpi4py_fft(name: str) -> None:
    """The same digits with the library and without."""
    packages = (FFT_PYTHON.parents[1] / "lib").glob("python3*/site-packages")
    if not any((each / "mpi4py_fft").exists() for each in packages):
        pytest.skip("capability: no mpi4py-fft in build/fft")
    command = [str(FFT_PYTHON), str(SOURCES / "fft.py")]
    plain = launched(name, [(4, command)])
    assert plain[0].startswith("ok ")
    assert launched(name, [(4, [*packed(name), *command])]) == plain


@pytest.mark.parametrize("with_library", [0, 1])
@pytest.mark.parametrize("stem", ALONE)
@pytest.mark.parametrize("name", NAMES)
def test_one_rank_alone_has_it(name: str, stem: str, with_library: int) -> None:
    """What a rank packs, the MPI's engine on the other one takes apart, and the other way round."""
    source = CONFORMANCE / "typed" / f"{stem}.c"
    program = [str(packing_runs.program(name, source, f"-I{CONFORMANCE}", "-lpthread"))]
    groups = [(1, [*packed(name), *program] if rank == with_library else program) for rank in range(2)]
    assert launched(name, groups) == [f"ok typed_{stem}"]


@pytest.mark.both_mpis
@pytest.mark.parametrize("name", fortran_runs.NAMES)
def test_fortran(name: str, tmp_path: Path) -> None:
    """Columns, blocks, absolute addresses: the values are right, and MPICH is sent packed bytes alone."""
    fortran_runs.require(name)
    library = build.build_packing(fortran_runs.described(name))
    shim, program, stem = tmp_path / "shim.so", tmp_path / "typed", tmp_path / "counts"
    shared = [f"mpicc.{name}", *FLAGS, "-shared", "-fPIC", "-o", str(shim), str(SOURCES / "shim.c"), "-ldl"]
    modules = ["-J", str(tmp_path)]
    ran(shared, {})
    ran([f"mpif90.{name}", *fortran_runs.FLAGS, *modules, "-o", str(program), str(SOURCES / "typed.F90")], {})
    for libraries, mode in ((f"{shim}", "off"), (f"{library}:{shim}", "always")):
        words = with_variables(
            {"LD_PRELOAD": libraries, "COREWISE_PACKING": mode, "COREWISE_SHIM_OUT": str(stem)}
        )
        said = ran([f"mpiexec.{name}", "-n", "3", *words, str(program)], fortran_runs.ENVIRONMENT)
        assert said.split() == ["ok"]
        counts = kinds(read_counts(stem, ranks=3)["blocking"])
        derived = {what for what in counts if what.endswith("/derived")}
        # MPICH does not see what we pack for the program; Open MPI packs itself, by our loops.
        assert bool(derived) == (mode == "off" or name == "openmpi"), counts
        assert counts.get("MPI_Send/packed", 0) == (0 if derived else 3)
