"""`corewise run`: the program's own exit status and output, a profile that says what ran, and clear refusals.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from conftest import ROOT
from preload_runs import COREWISE, MPI_NAMES, described, library, preload, program
from trace_decoder import decode_folder

from corewise.errors import InputError, RunError
from corewise.mpi import launch


def corewise(
    name: str, folder: Path, *arguments: object, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, with only this MPI's quiet environment added."""
    environment = {**os.environ, **library(name).env, **variables}
    command = [*COREWISE, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, cwd=folder, env=environment
    )


def run(name: str, folder: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """`corewise run` with one MPI."""
    return corewise(name, folder, "run", "--mpi", library(name).prefix, *arguments, **variables)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what is wrong with the input."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_run(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, "-n", 2, "-o", "it.cw", "--", program(name, "ends"), "fork")
    assert (done.returncode, done.stdout) == (0, "ok ends\n")
    assert "2 ranks recorded in it.cw" in done.stderr
    meta = json.loads((tmp_path / "it.cw" / "meta.json").read_text())
    assert (meta["format"], meta["version"]) == ("corewise-profile", 1)
    assert meta["mpi"]["name"] == name
    assert meta["mpi"]["version"] == described(name).version
    assert (meta["ranks"], meta["exit_status"]) == (2, 0)
    assert 0 < meta["wall_s"] < 600
    assert meta["command"][0] == str(library(name).mpiexec)
    assert meta["command"][-2:] == [str(program(name, "ends")), "fork"]
    assert not any("LD_PRELOAD" in word for word in meta["command"])
    traces = decode_folder(tmp_path / "it.cw")
    assert [t.count("MPI_Send", "send") for t in traces.values()] == [5000, 5000]
    assert sorted(p.name for p in (tmp_path / "it.cw").iterdir()) == [
        "meta.json",
        "rank-00000.cwt",
        "rank-00001.cwt",
    ]


@pytest.mark.parametrize(("how", "status"), [("abort", 9), ("exit", 3)])
def test_exit_status_is_the_launchers(name: str, how: str, status: int, tmp_path: Path) -> None:
    arguments = ("-n", 1 if how == "exit" else 2, "--", program(name, "ends"), how)
    done = run(name, tmp_path, *arguments)
    assert done.returncode == status
    folder = tmp_path / f"{program(name, 'ends').stem}.cw"
    assert json.loads((folder / "meta.json").read_text())["exit_status"] == status
    assert decode_folder(folder)


ON_A_FULL_DISK = """
import os, resource, sys
from pathlib import Path
from corewise.cli.main import execute
from corewise.mpi import build, find
build.build_preload(find.find(sys.argv[2]))
Path("tool.pid").write_text(str(os.getpid()))
if sys.argv[1] == "before":
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
sys.exit(execute(["run", "--mpi", *sys.argv[2:]]))
"""
"""A limit on the size of files stands for the full disk, in the tool alone: its children write as before."""
FILLING = """
import os, resource, sys
from pathlib import Path
resource.prlimit(int(Path("tool.pid").read_text()), resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
os.execv(sys.argv[1], sys.argv[1:])
"""


def run_on_a_full_disk(
    name: str, when: str, folder: Path, *arguments: object
) -> subprocess.CompletedProcess[str]:
    """`corewise run` that can write no file, from the start or when the program says so."""
    command = [sys.executable, "-c", ON_A_FULL_DISK, when, library(name).prefix, *arguments]
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=600, cwd=folder,
        env={**os.environ, **library(name).env},
    )  # fmt: skip


@pytest.mark.parametrize("there", [False, True])
def test_nothing_is_left_where_a_run_cannot_be_described(name: str, there: bool, tmp_path: Path) -> None:
    target = tmp_path / "new" / "it.cw"
    if there:
        target.mkdir(parents=True)
    done = run_on_a_full_disk(name, "before", tmp_path, "-n", 1, "-o", target, "--", "touch", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"corewise: {target}/meta.json: cannot be written: File too large\n"
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "new").exists() is there and (not there or list(target.iterdir()) == [])
    done = run_on_a_full_disk(name, "before", tmp_path, "-n", 1, "--", "touch", "ran")
    assert done.returncode == 1 and not list(tmp_path.glob("*.cw"))


@pytest.mark.parametrize("there", [False, True])
def test_nothing_is_left_where_the_launcher_cannot_be_started(name: str, there: bool, tmp_path: Path) -> None:
    target = tmp_path / "new" / "it.cw"
    if there:
        target.mkdir(parents=True)
    decided = launch.plan(["/bin/true"], ranks=1, mpi=str(library(name).prefix))
    decided = replace(decided, command=(str(tmp_path / "gone"), *decided.command[1:]))
    with pytest.raises(RunError, match="gone: cannot be started: No such file"):
        launch.record(decided, target, launch.RecordOptions())
    assert (tmp_path / "new").exists() is there and (not there or list(target.iterdir()) == [])


def test_what_was_recorded_is_kept_where_the_end_cannot_be_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "filling.py").write_text(FILLING)
    command = [sys.executable, "filling.py", program(name, "ends"), "fork"]
    done = run_on_a_full_disk(name, "after", tmp_path, "-n", 2, "-o", "it.cw", "--", *command)
    assert (done.returncode, done.stdout) == (1, "ok ends\n")
    assert done.stderr == (
        "corewise: it.cw/meta.json: cannot be written: File too large; "
        "the program ended with exit status 0, and its records are kept\n"
    )
    names = sorted(path.name for path in (tmp_path / "it.cw").iterdir())
    assert names == ["meta.json", "rank-00000.cwt", "rank-00001.cwt"]
    assert json.loads((tmp_path / "it.cw" / "meta.json").read_text())["exit_status"] is None
    traces = decode_folder(tmp_path / "it.cw")
    assert [t.count("MPI_Send", "send") for t in traces.values()] == [5000, 5000]


def test_the_programs_status_is_told_where_its_profile_is_gone(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, "-n", 1, "-o", "it.cw", "--", "/bin/sh", "-c", "rm -rf it.cw; exit 3")
    assert done.returncode == 1 and "the program ended with exit status 3" in done.stderr, done.stderr
    assert "its records are kept" not in done.stderr


LIMITED = """
import os, resource, sys
if os.environ["OMPI_COMM_WORLD_RANK"] in sys.argv[1].split(","):
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("ranks", ["0,1", "1"])
def test_ranks_without_space_for_their_files_are_named(ranks: str, tmp_path: Path) -> None:
    name = "openmpi"  # MPICH itself needs files that are larger
    command = [sys.executable, "-c", LIMITED, ranks, program(name, "ends"), "fork"]
    done = run(name, tmp_path, "-n", 2, "-o", "it.cw", "--", *command)
    count = 2 if ranks == "0,1" else 1
    named = f"corewise: it.cw: {count} of the ranks recorded nothing: there was no space for their files"
    assert named in done.stderr and "no rank called" not in done.stderr
    assert done.stdout == "ok ends\n"
    if count == 2:
        assert (done.returncode, (tmp_path / "it.cw").exists()) == (1, False)
        return
    assert done.returncode == 0 and "1 of 2 ranks recorded in it.cw" in done.stderr
    assert sorted(path.name for path in (tmp_path / "it.cw").iterdir()) == ["meta.json", "rank-00000.cwt"]
    assert [t.count("MPI_Send", "send") for t in decode_folder(tmp_path / "it.cw").values()] == [5000]


def test_profiles_are_never_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / "old.cw").mkdir()
    (tmp_path / "old.cw" / "precious").write_text("data")
    done = run(name, tmp_path, "-n", 1, "-o", "old.cw", "--", program(name, "ends"), "fork")
    assert "old.cw: exists and is not empty" in refusal(done)
    assert [p.name for p in (tmp_path / "old.cw").iterdir()] == ["precious"]
    stem = program(name, "ends").stem
    with ThreadPoolExecutor(3) as pool:  # each takes a number of its own
        ends = pool.map(lambda _: run(name, tmp_path, "-n", 1, "--", program(name, "ends"), "fork"), range(3))
        assert [done.returncode for done in ends] == [0, 0, 0]
    for expected in (f"{stem}.cw", f"{stem}-2.cw", f"{stem}-3.cw"):
        assert (tmp_path / expected / "meta.json").is_file()


def test_profile_that_cannot_be_made(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(name, tmp_path, "-n", 1, "-o", "file", "--", program(name, "ends"), "fork")
    assert "file: cannot be made: File exists" in refusal(done)


def test_program_without_mpi(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, "-n", 1, "-o", "none.cw", "--", "/bin/echo", "hello")
    assert (done.returncode, done.stdout) == (1, "hello\n")
    assert "none.cw: 0 events seen" in done.stderr
    assert "The profile was removed" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_left_no_trace_are_counted(name: str, tmp_path: Path) -> None:
    """The second of two ranks starts itself again without the preload."""
    (tmp_path / "one.c").write_text(
        "#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int argc, char** argv) {\n"
        "  if (argc == 2 && getenv(argv[1])[0] != '0') {\n"
        '    unsetenv("LD_PRELOAD");\n    execl(argv[0], argv[0], argv[1], "again", (char*)NULL);\n  }\n'
        "  MPI_Init(&argc, &argv);\n  MPI_Finalize();\n  return 0;\n}\n"
    )
    one = library(name).build(tmp_path / "one", tmp_path / "one.c")
    variable = "OMPI_COMM_WORLD_RANK" if name == "openmpi" else "PMI_RANK"
    done = run(name, tmp_path, "-n", 2, "-o", "it.cw", "--", one, variable)
    assert "1 of 2 ranks recorded in it.cw" in done.stderr


def test_the_profile_of_a_script_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text("import ctypes\n")
    shutil.copy(program("mpich", "ends"), tmp_path / "python3")
    done = run("mpich", tmp_path, "-n", 1, "--", "./python3", "fork", "flow.py")
    assert "recorded in flow.cw" in done.stderr, done.stderr


def test_program_of_the_other_mpi(name: str, tmp_path: Path) -> None:
    other = next(each for each in MPI_NAMES if each != name)
    done = run(name, tmp_path, "-n", 1, "--", program(other, "ends"), "fork")
    assert f"is linked to {other}, but --mpi" in refusal(done)
    done = corewise(
        name, tmp_path, "run", "--", library(name).mpiexec, "-n", "1", program(other, "ends"), "fork"
    )
    assert f"is linked to {other}, but {library(name).mpiexec} belongs to {name}" in refusal(done)
    assert list(tmp_path.iterdir()) == []


def test_program_whose_library_uses_the_other_mpi(name: str, tmp_path: Path) -> None:
    """A solver library stands between the program and MPI."""
    other = next(each for each in MPI_NAMES if each != name)
    (tmp_path / "solver.c").write_text(
        "#include <mpi.h>\nint solve(void) { int n; return MPI_Initialized(&n); }\n"
    )
    (tmp_path / "main.c").write_text("int solve(void);\nint main(void) { return solve(); }\n")
    solver, main = tmp_path / "libsolver.so", tmp_path / "main"
    library(other).build(solver, tmp_path / "solver.c", flags=["-shared", "-fPIC"])
    subprocess.run(
        ["gcc", "-o", str(main), str(tmp_path / "main.c"), str(solver), "-Wl,--allow-shlib-undefined"],
        check=True,
    )
    with pytest.raises(InputError, match=f"is linked to {other}"):
        launch.plan([str(main)], ranks=1, mpi=str(library(name).prefix))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "2", "--", "./no-such-program"], "no such program"),
        (["-n", "0", "--", "/bin/echo"], "-n: found 0"),
        (["--", "/bin/echo"], "-n: found nothing"),
        ([], "no program to run: corewise run -n 4 -- ./program"),
        (["-n", "1", "--", ""], "no program to run"),
        (["-n", "1", "--", "/tmp"], "/tmp: found a folder, allowed: a program"),
        (["--", "srun", "-n", "2", "/bin/echo"], "srun: corewise run starts mpiexec and its like only"),
        (
            ["--", "timeout", "9", "mpiexec", "-n", "2", "/bin/echo"],
            "timeout: stands before the launcher mpiexec",
        ),
        (["--", "/none/mpiexec", "-n", "2", "/bin/echo"], "/none/mpiexec: no such launcher; found here: "),
        (["-n", "1", "--mpi", "/nowhere", "--", "/bin/echo"], "no MPI here"),
        (["-n", "1", "--mpi", "otherpi", "--", "/bin/echo"], "no such MPI found"),
        (["-n", "1", "--buffer", "12", "--", "/bin/echo"], "--buffer"),
        (["-n", "1", "--buffer", "1 KiB", "--", "/bin/echo"], "--buffer: found '1 KiB'"),
        (["-n", "1", "--clock", "sun", "--", "/bin/echo"], "--clock: found 'sun'"),
        (["-n", "1", "--record", "", "--", "/bin/echo"], "--record: found '', allowed: calls, "),
        (
            ["-n", "1", "--timeout", "0 s", "--", "/bin/echo"],
            "--timeout: found '0 s', allowed: more than 0 s",
        ),
        (["-n", "1", "--timeout", "", "--", "/bin/echo"], "'--timeout': found ''"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert message in refusal(corewise("mpich", tmp_path, "run", *arguments))
    assert list(tmp_path.iterdir()) == []


def test_a_script_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print()")
    assert "not executable" in refusal(corewise("mpich", tmp_path, "run", "-n", 1, "--", "./program.py"))


def test_the_users_own_launcher_line(name: str, tmp_path: Path) -> None:
    """Two programs on one line: every rank is recorded."""
    ends = program(name, "ends")
    line = [library(name).mpiexec, "-n", 1, ends, "fork", ":", "-n", 2, ends, "fork"]
    done = corewise(name, tmp_path, "run", "-o", "own.cw", "--", *line)
    assert (done.returncode, done.stdout) == (0, "ok ends\n"), done.stderr
    assert sorted(decode_folder(tmp_path / "own.cw")) == [0, 1, 2]
    meta = json.loads((tmp_path / "own.cw" / "meta.json").read_text())
    assert meta["command"] == [str(word) for word in line]
    assert meta["ranks"] is None
    assert "give the number of ranks there" in refusal(corewise(name, tmp_path, "run", "-n", 2, "--", *line))


@pytest.fixture
def preloaded(name: str, tmp_path: Path) -> tuple[Path, Path]:
    """A library with another rand(), and an MPI program that prints what rand() gives."""
    (tmp_path / "other.c").write_text(
        "#include <stdlib.h>\n#include <stdio.h>\nint rand(void) { return 4711; }\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <mpi.h>\n#include <stdlib.h>\n#include <stdio.h>\n"
        'int main(void) { MPI_Init(NULL, NULL); printf("%d\\n", rand()); MPI_Finalize(); return 0; }\n'
    )
    other, main = tmp_path / "other.so", tmp_path / "main"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(other), str(tmp_path / "other.c")], check=True)
    library(name).build(main, tmp_path / "main.c")
    return other, main


def test_a_preload_that_is_already_there_stays(
    name: str, preloaded: tuple[Path, Path], tmp_path: Path
) -> None:
    other, main = preloaded
    done = run(name, tmp_path, "-n", 1, "--", main, LD_PRELOAD=str(other))
    assert (done.returncode, done.stdout) == (0, "4711\n")
    assert list(decode_folder(tmp_path / "main.cw")) == [0]


@pytest.mark.both_mpis
def test_a_preload_on_the_launchers_line_stays(
    name: str, preloaded: tuple[Path, Path], tmp_path: Path
) -> None:
    """It would replace corewise's, or be replaced by it; in the environment it is as good."""
    other, main = preloaded
    setting = f"LD_PRELOAD={other}"
    ways = [["-x", setting], ["--x", setting]]
    if name == "mpich":
        words = ["LD_PRELOAD", other]
        ways = [["-genv", *words], ["-genv", setting], ["-n", 1, "-env", *words], ["-env", setting]]
    for number, way in enumerate(ways):
        count = [] if "-n" in way else ["-n", 1]
        line = [library(name).mpiexec, *way, *count, main]
        done = corewise(name, tmp_path, "run", "-o", f"{number}.cw", "--", *line)
        assert (done.returncode, done.stdout) == (0, "4711\n"), done.stderr
        assert list(decode_folder(tmp_path / f"{number}.cw")) == [0]
        meta = json.loads((tmp_path / f"{number}.cw" / "meta.json").read_text())
        assert meta["command"] == [str(word) for word in line]
    line = [library(name).mpiexec, "-n", 1, main]
    done = corewise(name, tmp_path, "run", "-o", "e.cw", "--", *line, LD_PRELOAD=str(other))
    assert (done.returncode, done.stdout) == (0, "4711\n"), done.stderr
    assert list(decode_folder(tmp_path / "e.cw")) == [0]


@pytest.mark.parametrize("launcher", [True, False])
def test_a_programs_own_words_stay(
    name: str, launcher: bool, preloaded: tuple[Path, Path], tmp_path: Path
) -> None:
    """Also where they look like a launcher's: of a script, or behind a program that PATH has."""
    _, main = preloaded
    script = tmp_path / "script.sh"
    script.write_text('#!/bin/sh\necho "$@"\nexec "$1"\n')
    script.chmod(0o755)
    words = [main, "-x", "LD_PRELOAD=a", "-env", "LD_PRELOAD=b"]
    line = [library(name).mpiexec, "-n", 1, "sh", script] if launcher else [script]
    ranks = [] if launcher else ["-n", 1, "--mpi", library(name).mpiexec]
    done = corewise(name, tmp_path, "run", *ranks, "--", *line, *words)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, " ".join(map(str, words))), done.stderr


@pytest.mark.both_mpis
def test_a_preload_on_the_launchers_line_that_cannot_be_joined(
    name: str, preloaded: tuple[Path, Path], tmp_path: Path
) -> None:
    other, main = preloaded
    setting, program = [f"LD_PRELOAD={other}"], ["-n", 1, main]
    option = "-x" if name == "openmpi" else "-env"
    another = ["--mca", "mca_base_env_list", *setting] if name == "openmpi" else [f"-genv={setting[0]}"]
    lines = {
        "more than once": [option, *setting, option, *setting, *program],
        "for one program of several": [*program, ":", option, *setting, *program],
        f"as '{another[0]}'": [*another, *program],
    }
    before = set(tmp_path.iterdir())
    for said, words in lines.items():
        done = corewise(name, tmp_path, "run", "--", library(name).mpiexec, *words)
        assert f"LD_PRELOAD: found in the launcher's line {said}, allowed: " in refusal(done)
    words = [library(name).mpiexec, option, *setting, *program]
    done = corewise(name, tmp_path, "run", "--", *words, LD_PRELOAD=str(other))
    assert "found in the launcher's line and in the environment, allowed: " in refusal(done)
    assert set(tmp_path.iterdir()) == before


def test_options_reach_the_recorder(name: str, tmp_path: Path) -> None:
    options = ("--buffer", "8 KiB", "--flight-recorder", "--clock", "os")
    done = run(name, tmp_path, "-n", 1, "-o", "it.cw", *options, "--", program(name, "ends"), "fork")
    assert done.returncode == 0
    (trace,) = decode_folder(tmp_path / "it.cw").values()
    assert (trace.number("half_bytes"), trace.number("mode"), trace.number("clock")) == (8192, 1, 1)


def test_json_for_programs(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, "-n", 2, "-o", "it.cw", "--json", "--", program(name, "ends"), "exec")
    assert "ok ends" in done.stderr.splitlines()
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["profile"], row["ranks_seen"], row["exit_status"]) == ("it.cw", 2, 0)


def test_build_is_reused(name: str) -> None:
    from corewise.mpi import build

    def changed() -> bool:
        before = preload(name).stat().st_mtime_ns
        assert build.build_preload(described(name)) == preload(name)
        return preload(name).stat().st_mtime_ns != before

    # Tests beside this one may build it for the first time meanwhile.
    assert not changed() or not changed()


FAKE_COMPILER = """#!/bin/sh
case " $* " in
*" -E "*) exec g++ "$@" ;;
*" --version "*) echo "$FAKE_VERSION"; exit ;;
esac
while [ $# -gt 0 ]; do
  case "$1" in
  -c) echo "$2" >> "$FAKE_LOG" ;;
  -o) : > "$2" ;;
  esac
  shift
done
"""


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Path]], list[Path]]:
    """What a build compiles, in a cache of its own, by a compiler that writes nothing."""
    log, fake = tmp_path / "log", tmp_path / "fake"
    fake.write_text(FAKE_COMPILER)
    fake.chmod(0o755)
    for variable, value in {
        "CXX": str(fake),
        "FAKE_LOG": str(log),
        "FAKE_VERSION": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(variable, value)

    def compiled(make: Callable[[], Path]) -> list[Path]:
        log.write_text("")
        assert make().is_file()
        return [Path(line) for line in log.read_text().splitlines()]

    return compiled


def test_a_second_mpi_takes_the_objects_that_know_none(
    compiled: Callable[[Callable[[], Path]], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corewise.mpi import build

    def rooms(name: str, *, force: bool = False) -> dict[str, int]:
        """Sources that a build compiles, by their room; those of this build alone are ``own``."""
        sources = compiled(lambda: build.build_packing(described(name), force=force))
        root = build.source_root()
        inside = [each.relative_to(root).parts[0] if each.is_relative_to(root) else "own" for each in sources]
        return {room: inside.count(room) for room in sorted(set(inside))}

    everything = rooms("openmpi")
    assert set(everything) == {"base", "kernels", "own", "preload"}
    of_the_mpi = {room: everything[room] for room in ("own", "preload")}
    assert rooms("mpich") == of_the_mpi
    assert rooms("mpich") == {}
    assert rooms("mpich", force=True) == everything
    monkeypatch.setenv("FAKE_VERSION", "2")
    assert rooms("mpich") == everything
    assert not list((tmp_path / "cache").rglob("*.tmp"))


def test_the_library_with_a_heap_takes_the_objects_of_the_one_without(
    compiled: Callable[[Callable[[], Path]], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from corewise.mpi import build

    def names(name: str, *, allocating: bool, force: bool = False) -> list[str]:
        made = partial(build.build_accelerate, described(name), allocating=allocating, force=force)
        return [each.name for each in compiled(made)]

    everything = sorted(names("mpich", allocating=False))
    assert "accelerating_wrappers.cpp" in everything
    assert names("mpich", allocating=True) == ["malloc.cpp"]
    assert names("openmpi", allocating=True).count("calls.cpp") == 1  # which knows its MPI
    assert sorted(names("mpich", allocating=True, force=True)) == sorted([*everything, "malloc.cpp"])
    monkeypatch.setenv("COREWISE_PRELOAD_ASSERTS", "1")
    assert sorted(names("mpich", allocating=False)) == everything


# ---- one program, two libraries ------------------------------------------------------------------------


def recorded_matrix(folder: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """(from, to) -> bytes and messages."""
    matrix: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, trace in decode_folder(folder).items():
        assert (trace.state, trace.losses()) == ("finalized", {})
        for each in trace.records:
            if each.role == "send" and each.peer >= 0:
                size, count = matrix.get((rank, each.peer), (0, 0))
                matrix[rank, each.peer] = (size + each.bytes, count + 1)
    return matrix


def received_matrix(folder: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """The same as the receivers saw it."""
    matrix: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, trace in decode_folder(folder).items():
        for each in trace.records:
            if each.role in ("receive", "arrival") and each.peer >= 0:
                size, count = matrix.get((each.peer, rank), (0, 0))
                matrix[each.peer, rank] = (size + each.bytes, count + 1)
    return matrix


def test_lattice_boltzmann_has_one_matrix(tmp_path: Path) -> None:
    found = {}
    for name in MPI_NAMES:
        folder = tmp_path / name
        folder.mkdir()
        lbm = folder / "lbm"
        library(name).build(lbm, *sorted((ROOT / "apps" / "lbm").glob("*.cpp")), flags=["-O0"])
        arguments = ("--size", "12x12x12", "--steps", "6", "--count-file", "counts.csv")
        done = run(name, folder, "-n", 8, "-o", "lbm.cw", "--", lbm, *arguments)
        assert done.returncode == 0, done.stderr
        with (folder / "counts.csv").open(newline="") as file:
            counted = {
                (int(row["from"]), int(row["to"])): (int(row["bytes"]), int(row["count"]))
                for row in csv.DictReader(file)
            }
        found[name] = recorded_matrix(folder / "lbm.cw")
        assert found[name] == {pair: sent for pair, sent in counted.items() if sent != (0, 0)}
        assert received_matrix(folder / "lbm.cw") == found[name]
    assert found["openmpi"] == found["mpich"]
    assert len(found["mpich"]) > 8
