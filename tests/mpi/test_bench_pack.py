"""apps/packing and `corewise bench pack` on real MPIs: every way moves exactly its bytes; how it is measured.

No test looks at a time: ranks may outnumber cores, and other tests run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Mpi, find_mpi

from corewise.bench.mpis import output_of
from corewise.bench.pack import results, runs, study
from corewise.bench.pack.runs import HANDS, MAPPED, STRAIGHT, WAYS, Effort
from corewise.bench.pack.study import SETS, run_bench, tune
from corewise.bench.pack.views import noise_text
from corewise.data.packing_tuning import USES, packing_tuning_text, parse_packing_tuning

pytestmark = pytest.mark.first_test

SOURCES = sorted((ROOT / "apps" / "packing").glob("*.cpp"))
TINY = Effort(1, 0.0, 0, True)
EVERY = ",".join(WAYS)
SPOIL = """
#include <mpi.h>
/* One byte of every message in MPI_BYTE is not what was sent. */
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int status;
  if (type != MPI_BYTE) return PMPI_Send(data, count, type, to, tag, comm);
  ((char*)data)[count / 2] ^= 1;
  status = PMPI_Send(data, count, type, to, tag, comm);
  ((char*)data)[count / 2] ^= 1;
  return status;
}
"""


@pytest.fixture(scope="module")
def packing(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, quickly compiled."""
    return mpi.build(tmp_path_factory.mktemp(mpi.name) / "packing", *SOURCES, flags=("-O0",))


def test_every_way_moves_exactly_its_bytes(mpi: Mpi, packing: Path) -> None:
    cases = "constant/4,constant/32,constant/2048,elements/1,columns/32,grid/512/64,sparse/512/8,mg_x/34"
    words = ["--cases", cases, "--check", "--budget", "0", "--ways", EVERY]
    directions = ["--directions", "send,receive,both,pack,unpack,mapped"]
    done = mpi.run(2, packing, [*words, *directions], mpi.yield_env)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("machine seconds=") and "wrong" not in done.stdout
    ways = {tuple(line.split()[1:4]) for line in lines if line.startswith("time ")}
    # 32 B elements: four loops, MPI_Pack, datatypes and the baseline; the engines alone have no message.
    assert sum(case == "case=constant/32" for case, _, _ in ways) == 4 * 7 + 2 * 5
    # An application has one loop.
    assert sum(case == "case=mg_x/34" for case, _, _ in ways) == 4 * 4 + 2 * 2


LARGER = "wrf_x_sa/32,milc_z/16,lu_y/102,lammps_full/1200,specfem_cm/3000,specfem_mt/96,fft2/256"


@pytest.mark.parametrize(
    ("cases", "count"), [(["--set", "applications", "--quick"], 16), (["--cases", LARGER], 7)]
)
def test_every_application_is_right(mpi: Mpi, packing: Path, cases: list[str], count: int) -> None:
    words = [*cases, "--check", "--budget", "0", "--ways", "datatype,mpi-pack,manual"]
    done = mpi.run(2, packing, words, mpi.yield_env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("direction=both") == count * 3


def test_wrong_data_are_found(mpi: Mpi, packing: Path, tmp_path: Path) -> None:
    (tmp_path / "spoil.c").write_text(SPOIL)
    spoil = mpi.build(tmp_path / "spoil.so", tmp_path / "spoil.c", flags=("-shared", "-fPIC"))
    words = ["--cases", "constant/64", "--check", "--budget", "0", "--ways", "loop,mpi-pack"]
    bad = mpi.run(2, packing, words, env={**mpi.yield_env, "LD_PRELOAD": str(spoil)})
    assert bad.returncode != 0
    # Packed messages are not touched: that way stays right.
    wrong = [line for line in bad.stdout.splitlines() if line.startswith("wrong")]
    assert wrong == ["wrong case=constant/64 direction=both way=loop"]


def test_cases_are_listed_and_not_run(mpi: Mpi, packing: Path) -> None:
    listed, quick = (
        mpi.run(2, packing, ["--set", "grid,sparse", "--list", *more], mpi.yield_env).stdout.splitlines()
        for more in ([], ["--quick"])
    )
    assert "case grid/2048/64" in quick and "case sparse/2048/16" in quick
    assert all(line.startswith(("case grid/", "case sparse/")) for line in quick)
    assert set(quick) < set(listed) and len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("words", "ranks", "said"),
    [
        (["--set", "rows"], 2, "packing: --set: found 'rows'; allowed: constant"),
        (["--cases", "constant/3"], 2, "packing: --cases: found 'constant/3'; allowed: only these"),
        (["--cpus", "1"], 2, "packing: --cpus: found '1'; allowed: processors of the two ranks"),
        ([], 3, "packing: found 3 ranks; allowed: 2"),
    ],
)
def test_wrong_arguments_end_every_rank(
    words: list[str], ranks: int, said: str, mpi: Mpi, packing: Path
) -> None:
    done = mpi.run(ranks, packing, words, mpi.yield_env)
    assert done.returncode == 2
    assert done.stderr.count("packing: ") == 1 and said in done.stderr


# ---- the method ------------------------------------------------------------------------------------------

TURNING = ("contiguous", "datatype", "mpi-pack", "loop")  # by a third of their tag


def order_of(steps: dict[str, int]) -> list[str]:
    """Three steps to see how long one takes; then turns of eight timed ones, behind one that is not."""
    order = [way for way in TURNING for _ in range(3)]
    for turn in range(max(steps.values()) // 8 + 1):
        for way in TURNING[turn:] + TURNING[:turn]:
            left = min(8, steps[way] - 8 * turn)
            order += [way] * (1 + left) if left > 0 else []
    return order


def test_sources_are_rewritten_and_the_order_rotates(mpi: Mpi, packing: Path, tmp_path: Path) -> None:
    """No 64 bytes of a message are those of the last one of its way; each turn begins with the next way."""
    witness = ROOT / "tests" / "mpi" / "packing" / "witness.c"
    library = mpi.build(tmp_path / "witness.so", witness, flags=("-shared", "-fPIC"))
    env = {**mpi.yield_env, "LD_PRELOAD": str(library), "COREWISE_WITNESS_OUT": str(tmp_path / "sent")}
    cases = ("elements/4", "elements/64", "elements/512", "columns/256")  # of different lengths
    # The shortest budget that measures at all.
    words = ["--cases", ",".join(cases), "--ways", ",".join(TURNING), "--budget", "0.001"]
    done = mpi.run(2, packing, words, env)
    assert done.returncode == 0, done.stdout + done.stderr
    steps: dict[str, dict[str, int]] = {case: {} for case in cases}
    for case, way, count in re.findall(r"^time case=(\S+) .*way=(\S+) .*n=(\d+) ", done.stdout, re.M):
        steps[case][way] = int(count)
    expected = [way for case in cases for way in order_of(steps[case])]
    for rank in range(2):
        lines = (tmp_path / f"sent.{rank}").read_text().splitlines()
        sent = [tuple(map(int, line.split())) for line in lines]
        assert [TURNING[tag // 3] for tag, *_ in sent] == expected
        compared = [(changed, windows) for _, _, changed, windows in sent if windows > 0]
        assert len(compared) == len(sent) - len(cases) * len(TURNING)
        assert all(changed == windows for changed, windows in compared)


# ---- the command -----------------------------------------------------------------------------------------


def test_the_command_measures_every_part_and_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPICH in both settings; the library's launch is the first every other time; others' share is told."""
    launched: list[tuple[bool, bool]] = []
    foreign: list[float] = []

    def recorded(words: list[str], *others: Any, **options: Any) -> str:
        said, text = output_of(words, *others, **options), " ".join(words)
        launched.append(("MPIR_CVAR_CH4_CMA_ENABLE 0" in text, "libcorewise-packing.so" in text))
        foreign.extend(float(share) for share in re.findall(r" foreign=([\d.]+)", said))
        return said

    monkeypatch.setattr(runs, "output_of", recorded)
    monkeypatch.setattr(results, "DISTANCE_LIMIT", math.inf)  # no round is left out
    monkeypatch.setattr(study, "losers_of", lambda measured: ())  # nothing is measured again
    cases = {"paper": ["constant/4", "constant/2048"], "columns": ["columns/32"], "applications": ["lu_y/33"]}
    cases["mpi-pack"] = cases["paper"]
    shares: list[float] = []
    mpich, effort = str(find_mpi("mpich").prefix), replace(TINY, rounds=2)
    result = run_bench(mpi=mpich, effort=effort, cases=cases, progress=shares.append)
    assert [each.setting.name for each in result.studies] == ["mpich", "mpich-no-cma"] * len(SETS)
    turns = [(off, library) for off in (False, True) for library in (False, True, True, False)]
    assert launched == turns * len(SETS)
    assert len(foreign) == len(launched) and result.loudest == max(foreign)
    assert f"{100 * max(foreign):.1f} % of the processors" in noise_text(result)
    assert shares == sorted(shares) and shares[-1] == 1
    ids = [row.id for row in result.rows if row.id.startswith("pack/mpich/")]
    assert ids == [
        *(f"pack/mpich/constant/{size}/{way}" for size in (4, 2048) for way in ("send", "receive", "both")),
        "pack/mpich/columns/32/both",
        "pack/mpich/lu_y/33/both",
        *(f"pack/mpich/constant/{size}/{way}" for size in (4, 2048) for way in ("pack", "unpack")),
    ]
    assert all(row.ours > 0 and row.theirs > 0 for row in result.rows)
    assert all((row.floor is None) == (row.rival == "mpi-pack") for row in result.rows)
    assert all(row.more["processor"] and str(row.mpi).startswith("mpich ") for row in result.rows)
    paper = result.studies[0]
    assert paper.time(("constant/4", "both"), results.OURS).median > 0 and paper.drift() is not None
    assert len(result.claims) >= 3 and len(result.goals) > 5


@pytest.mark.both_mpis
def test_straight_copies_take_turns_with_the_ways_of_an_mpi(mpi: Mpi) -> None:
    """One launch a round, whose data are checked; layouts differ where a block is received transposed."""
    effort, cases = replace(TINY, rounds=2), ["constant/64", "elements/2048", "fft2/256"]
    result = run_bench(mpi=str(mpi.prefix), parts=(MAPPED,), effort=effort, cases={MAPPED: cases})
    assert all(len(launches) == 1 for study in result.studies for launches in study.rounds)
    rows = [row for row in result.rows if row.id.startswith(f"pack/{mpi.name}/")]
    assert [row.id for row in rows] == [f"pack/{mpi.name}/{case}/mapped" for case in cases]
    assert all(row.ours > 0 and row.theirs > 0 and row.n == 2 for row in rows)
    assert all(row.rival != "contiguous" and row.rival in row.more["ways"] for row in rows)
    assert set(rows[0].more["ways"]) == {"contiguous", "datatype", "mpi-pack", "loop", *HANDS, *STRAIGHT}
    assert [goal.count for goal in result.goals[:4]] == [2, 2, 1, 1]


@pytest.mark.both_mpis
def test_a_tuning_has_a_row_for_every_use_and_shape(mpi: Mpi) -> None:
    cases = ["grid/512/4", "grid/512/64", "grid/131072/1024", "sparse/2048/64"]
    found = dict(tune(mpi=str(mpi.prefix), command="tune", effort=TINY, cases=cases))
    assert list(found) == (["openmpi"] if mpi.name == "openmpi" else ["mpich", "mpich-no-cma"])
    for name, tuning in found.items():
        assert tuning.mpi.split()[0] == name and parse_packing_tuning(packing_tuning_text(tuning)) == tuning
        shapes = [("dense", 512, 4), ("dense", 512, 64), ("dense", 131072, 1024), ("sparse", 2048, 64)]
        rows = [(row.use, row.lines, row.bytes, row.run) for row in tuning.rows]
        assert rows == [(use, *shape) for use in USES for shape in shapes]
        assert all(0 < row.low <= row.ratio for row in tuning.rows)
