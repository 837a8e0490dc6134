"""Programs on simulated ranks: MPI's semantics, what a run reports, and how it fails.

Conformance is shown by the programs of ``tests/mpi/conformance`` as far as the subset goes; those that it
does not compile are listed here with the name that they miss.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import documents
import pytest

from corewise.cli.main import execute
from corewise.data.patterns import load_pattern
from corewise.errors import InputError, RunError
from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program

pytestmark = pytest.mark.first_test

HERE = Path(__file__).resolve().parent
SUITE = HERE.parents[2] / "mpi" / "conformance"
RANKS = (1, 2, 3, 5, 8, 11, 16)
MISSING = {
    "intercomm": "MPI_Intercomm_create",
    "spawn": "MPI_Comm_spawn",
    "datatype": "MPI_Pack_external",
    "io": "MPI_File",
    "rma": "MPI_Win",
    "error": "MPI_Win",
    "handle": "MPI_Fint",
    "lifecycle": "MPI_T_init_thread",
    "typed_f90": "MPI_Type_create_f90_real",
}
"""Programs that use what the subset lacks, each with a name that the compiler's error must have."""
THREADED = ("thread", "init_thread", "fork")
"""They need threads; a simulated rank is one fiber and says MPI_THREAD_FUNNELED."""
HOST_TIME = ("signal",)
"""It waits for timers of the host, while simulated time passes at once."""
MPI_4 = ("session", "session_world", "partitioned", "large_count", "typed_sessions")
"""About MPI 4, which the header does not claim: they compile to nothing."""
LIMITED = {
    **{"collective": 5, "icollective": 8, "topology": 8, "communicator": 16},
    **dict.fromkeys(("many", "typed_errors", "typed_limits", "typed_matching"), 2),
}
"""Most ranks that a program is made for: its own arrays, or its two sides."""
LEAST = {"topology": 2}
BUFFERED = ("matching", "probe")
"""They rely on sends that return before they are received, so the receiver-initiated protocol stops them."""


def _name(source: Path) -> str:
    return f"typed_{source.stem}" if source.parent.name == "typed" else source.stem


PROGRAMS = {_name(source): source for source in sorted(SUITE.glob("*/*.c"))}
COVERED = [each for each in PROGRAMS if each not in (*MISSING, *THREADED, *HOST_TIME, *MPI_4)]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Compiles a program once."""
    folder = tmp_path_factory.mktemp("simulated")

    @cache
    def build(source: Path) -> Path:
        target = folder / f"{_name(source)}.sim"
        words = ["-D_GNU_SOURCE", "-O1", "-g", "-Wno-deprecated-declarations", f"-I{SUITE}"]
        assert compile_program([*words, str(source), "-o", str(target), "-lpthread", "-ldl"]) == 0
        return target

    return build


def launched(
    program: Path, ranks: int, capfd: pytest.CaptureFixture[str], *arguments: str
) -> tuple[RankRun, str]:
    capfd.readouterr()
    run = run_program(program, arguments, ranks, f"flat:{ranks}")
    return run, capfd.readouterr().out


# ---- semantics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COVERED)
def test_conformance(name: str, compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]) -> None:
    source = PROGRAMS[name]
    text = source.read_text()
    wanted = [int(word) for word in re.findall(r"^// ranks: (.*)$", text, re.M)[0].split()]
    exit_status = int((re.findall(r"^// exit: (\d+)$", text, re.M) or ["0"])[0])
    arguments = (re.findall(r"^// arguments: (.*)$", text, re.M) or [""])[0].split()
    least, most = LEAST.get(name, min(wanted)), LIMITED.get(name, max(RANKS))
    for ranks in sorted({*wanted, *(each for each in RANKS if least <= each <= most)}):
        run, said = launched(compiled(source), ranks, capfd, *arguments)
        assert (run.exit_status, run.message if exit_status == 0 else "") == (exit_status, ""), (ranks, said)
        assert f"ok {name}" in said or exit_status != 0, (ranks, said)


@pytest.mark.long_test
@pytest.mark.parametrize("name", COVERED)
def test_conformance_receiver_initiated(
    name: str, compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAMS[name].read_text()
    ranks = int(re.findall(r"^// ranks: (\d+)", text, re.M)[0])
    exit_status = int((re.findall(r"^// exit: (\d+)$", text, re.M) or ["0"])[0])
    arguments = (re.findall(r"^// arguments: (.*)$", text, re.M) or [""])[0].split()
    options = RunOptions(settings={"receiver_initiated": 1})
    run = run_program(compiled(PROGRAMS[name]), arguments, ranks, f"flat:{ranks}", options=options)
    if name in BUFFERED:
        assert "receiver_initiated: every send waits for its receive" in run.message
    else:
        assert run.exit_status == exit_status, (run.message, capfd.readouterr())


@pytest.mark.parametrize("name", MISSING)
def test_what_the_subset_lacks_fails_when_it_is_compiled(name: str, tmp_path: Path) -> None:
    words = ["-D_GNU_SOURCE", f"-I{SUITE}", str(PROGRAMS[name]), "-o", str(tmp_path / "program")]
    with pytest.raises(RunError, match=rf"simulated MPI lacks .*\b{MISSING[name]}\b") as error:
        compile_program(words)
    assert PROGRAMS[name].name in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ranks", RANKS)
def test_collectives(ranks: int, compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]) -> None:
    run, said = launched(compiled(HERE / "collectives.c"), ranks, capfd)
    assert (run.exit_status, said) == (0, "ok collectives\n"), run.message


def test_globals_are_a_ranks_own(compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]) -> None:
    run, said = launched(compiled(HERE / "globals.c"), 40, capfd)
    assert run.exit_status == 0
    expected = {f"rank {rank} leaves with {100 + (rank + 39) % 40}" for rank in range(40)}
    assert set(said.splitlines()) == expected


def test_a_thousand_ranks(compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]) -> None:
    run, _ = launched(compiled(HERE / "globals.c"), 1000, capfd)
    assert run.exit_status == 0
    assert run.ranks["ended"].all()


# ---- levels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("apart", [1, 8, 16], ids=["consecutive", "over Cells", "over blades"])
def test_collectives_by_levels(
    apart: int, ranks: int, compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    """Cells of 8 SPEs, the last one with fewer; or ranks in turn over three Cells, or three blades of 16."""
    units = [rank if apart == 1 else apart * (rank % 3) + rank // 3 for rank in range(ranks)]
    program = compiled(HERE / "collectives.c")
    runs = {}
    for level in (0, 2, 3):
        options = RunOptions(settings={"collective_level": level})
        capfd.readouterr()
        run = runs[level] = run_program(program, (), ranks, "roadrunner", units, options)
        assert (run.exit_status, capfd.readouterr().out) == (0, "ok collectives\n"), run.message
    largest = ranks if apart == 1 else (ranks + 2) // 3
    assert (runs[3].time_ns != runs[0].time_ns) == (largest > 1)


def test_a_level_that_the_machine_lacks(compiled: Callable[[Path], Path]) -> None:
    program = compiled(HERE / "globals.c")
    for level in (4, 1.5):
        options = RunOptions(settings={"collective_level": level})
        with pytest.raises(InputError, match=r"collective_level.*found .*, allowed: 0 to 3, the levels of"):
            run_program(program, (), 8, "roadrunner", options=options)


# ---- what a run reports ----------------------------------------------------------------------------------


def test_the_same_run_gives_the_same_result(
    compiled: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    runs = [launched(compiled(HERE / "collectives.c"), 11, capfd)[0] for _ in range(2)]
    assert runs[0].time_ns == runs[1].time_ns
    assert (runs[0].ranks == runs[1].ranks).all()
    assert (runs[0].traffic == runs[1].traffic).all()


def test_command_line(
    compiled: Callable[[Path], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = compiled(HERE / "globals.c")
    pattern, trace = tmp_path / "ring.json", tmp_path / "ring.pftrace"
    words = ["simrun", "-n", "6", "-m", "mesh-6x4", "--granularity", "packet", "--set", "send_ns=250"]
    assert execute([*words, "--pattern", str(pattern), "--trace", str(trace), "--json", str(program)]) == 0
    out, err = capfd.readouterr()
    found = documents.read(out)
    assert "rank 3 leaves with 102" in err
    assert found["messages"] == 6
    assert found["settings"]["send_ns"] == 250
    assert [row["rank"] for row in found["rows"]] == list(range(6))
    matrix = load_pattern(pattern).matrix()
    assert {(r, (r + 1) % 6) for r in range(6)} == set(zip(*map(list, matrix.nonzero()), strict=True))
    assert matrix.sum() == 6 * 4
    assert trace.stat().st_size > 500


def test_wrong_input(compiled: Callable[[Path], Path], tmp_path: Path) -> None:
    program = compiled(HERE / "globals.c")
    with pytest.raises(InputError, match="found 9, allowed: 1 to 8"):
        run_program(program, (), 9, "ring:8")
    with pytest.raises(InputError, match="no such file"):
        run_program(tmp_path / "nothing", (), 1, "ring:8")
    with pytest.raises(InputError, match=r"call_ns.*found 0, allowed: 0.001 to"):
        run_program(program, (), 2, "ring:8", options=RunOptions(settings={"call_ns": 0}))
    text = tmp_path / "text"
    text.write_text("no program")
    with pytest.raises(InputError, match="corewise simcc"):
        run_program(text, (), 2, "ring:8")


# ---- failures --------------------------------------------------------------------------------------------


def _program(folder: Path, body: str) -> Path:
    source = folder / "program.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdlib.h>\nint main(int argc, char** argv) {\n"
        "  int rank, size, value = 0;\n  MPI_Init(&argc, &argv);\n"
        "  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  MPI_Comm_size(MPI_COMM_WORLD, &size);\n"
        f"  {body}\n  MPI_Finalize();\n  return value;\n}}\n"
    )
    assert compile_program([str(source), "-o", str(folder / "program.sim")]) == 0
    return folder / "program.sim"


def test_a_deadlock_says_who_waits_for_whom(tmp_path: Path) -> None:
    body = "static char big[100000]; MPI_Send(big, 100000, MPI_CHAR, (rank + 1) % size, 4, MPI_COMM_WORLD);"
    run = run_program(_program(tmp_path, body), (), 3, "ring:8")
    assert (run.ok, run.exit_status) == (False, 1)
    line = "rank 1 in MPI_Send waits for rank 2 to receive 100000 bytes, tag 4, MPI_COMM_WORLD"
    assert line in run.message
    assert run.message.endswith("circle: 0 -> 1 -> 2 -> 0")


def test_members_of_a_group_that_disagree_end_the_run(tmp_path: Path) -> None:
    body = "int two[2] = {0, 0}; MPI_Bcast(two, rank == 1 ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);"
    options = RunOptions(settings={"collective_level": 2})
    run = run_program(_program(tmp_path, body), (), 3, "roadrunner", options=options)
    assert (run.ok, run.exit_status) == (False, 1)
    assert "rank 1 in MPI_Bcast: 8 bytes, where another rank of the call has 4" in run.message


def test_an_error_names_rank_procedure_and_class(tmp_path: Path) -> None:
    run = run_program(
        _program(tmp_path, "MPI_Send(&value, 1, MPI_INT, 9, 0, MPI_COMM_WORLD);"), (), 2, "ring:8"
    )
    assert run.message.startswith("rank 0 in MPI_Send on MPI_COMM_WORLD: MPI_ERR_RANK")
    assert run.exit_status == 1


def test_a_crash_is_a_failed_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="SIGABRT"):
        run_program(_program(tmp_path, "if (rank == 1) abort();"), (), 2, "ring:8")


def test_exit_statuses(tmp_path: Path) -> None:
    program = _program(tmp_path, "if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 42);")
    assert run_program(program, (), 2, "ring:8").exit_status == 42
    assert run_program(_program(tmp_path, "value = rank == 1 ? 5 : 0;"), (), 3, "ring:8").exit_status == 5


def test_a_run_ends_at_its_limit(tmp_path: Path) -> None:
    body = "int flag = 0; while (!flag) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);"
    run = run_program(_program(tmp_path, body), (), 1, "ring:8", options=RunOptions(limit_ns=10000))
    assert not run.ok
    assert "time limit of 10000.0 ns reached" in run.message


def test_simcc_is_a_compiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "two.cpp"
    source.write_text(
        "#include <mpi.h>\n#include <vector>\n"
        'extern "C" int MPI_Comm_size(MPI_Comm comm, int* size) {\n'
        "  PMPI_Comm_size(comm, size); *size += 40; return 0; }\n"
        "int main() { MPI_Init(nullptr, nullptr); int size = 0; MPI_Comm_size(MPI_COMM_WORLD, &size);\n"
        "  std::vector<int> all(size); MPI_Finalize(); return static_cast<int>(all.size()); }\n"
    )
    object_file, program = tmp_path / "two.o", tmp_path / "two.sim"
    assert execute(["simcc", "-O2", "-c", str(source), "-o", str(object_file)]) == 0
    capsys.readouterr()
    assert execute(["simcc", "--json", "--c++", str(object_file), "-o", str(program)]) == 0
    assert documents.read(capsys.readouterr().out)["status"] == 0
    assert run_program(program, (), 2, "ring:8").exit_status == 42


# ---- bundled programs ------------------------------------------------------------------------------------


def test_sweep3d_is_the_serial_sweep_on_any_number_of_ranks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = [str(each) for each in sorted((HERE.parents[3] / "apps" / "sweep3d").glob("*.cpp"))]
    program = tmp_path / "sweep3d.sim"
    assert compile_program(["-O1", "-std=c++20", *sources, "-o", str(program)]) == 0
    sums = set()
    for ranks, planes in ((1, 10), (2, 3), (6, 4), (8, 10), (16, 7), (32, 1)):
        words = ("--size", "9x8x10", "--iterations", "3", "--planes", str(planes), "--check")
        run, said = launched(program, ranks, capfd, *words)
        assert run.exit_status == 0, said
        assert "different_cells=0" in said
        sums.add(re.findall(r"flux_sum=(\S+)", said)[0])
    assert len(sums) == 1
    assert launched(program, 16, capfd, "--size", "2x2x10")[0].exit_status == 2
