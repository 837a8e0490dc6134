"""What every user meets first: the installed command, its helps, its one-line errors, its documents.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trace_writer as tw
import typer
from installed_tool import COREWISE, assert_one_line_error, corewise

from corewise.cli.commands import find_command
from corewise.cli.main import build_app
from corewise.cli.settings import WithSettings
from corewise.trials import host

ROOT = Path(__file__).resolve().parents[2]


def commands() -> Iterator[tuple[list[str], str]]:
    """Every command and subcommand with its help, as Typer knows them."""

    def walk(command: object, words: list[str]) -> Iterator[tuple[list[str], str]]:
        for name, sub in getattr(command, "commands", {}).items():
            yield from walk(sub, [*words, name])
        if words:
            context = typer.Context(command, info_name=" ".join(["corewise", *words]))  # type: ignore[arg-type]
            yield words, context.get_help()

    yield from walk(typer.main.get_command(build_app()), [])


COMMANDS = {" ".join(words): help for words, help in commands()}


# --- the installed command --------------------------------------------------------------------------------


def test_the_installed_command_works_away_from_its_source(tmp_path: Path) -> None:
    """Version, bundled machines, C++ rooms and the preload's sources came along; an empty home is enough."""
    stated = re.search(r"project\(corewise VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert stated is not None
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    version = corewise("--version", env=environment, cwd=tmp_path)
    assert (version.returncode, version.stdout) == (0, f"corewise {stated[1]}\n")
    ring = corewise("patterns", "make", "ring", "ranks=8", "-o", "ring.json", env=environment, cwd=tmp_path)
    assert ring.returncode == 0, ring.stderr
    command = ["place", "ring.json", "--machine", "cell-be", "--json"]
    placed = corewise(*command, env=environment, cwd=tmp_path)
    assert json.loads(placed.stdout)["proven_optimal"] is True
    where = "from corewise.mpi.build import source_root; print(source_root())"
    sources = subprocess.run(
        [sys.executable, "-c", where], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    packed, checkout = Path(sources.stdout.strip()), ROOT / "src"
    for room in ("base", "trace", "preload"):
        names = {path.name for path in (checkout / room).glob("*.[ch]pp")}
        assert names <= {path.name for path in (packed / room).iterdir()}, room


def test_the_commands_are_those_promised() -> None:
    assert {name.split()[0] for name in COMMANDS} >= {
        "run", "report", "place", "sim", "machines", "patterns", "build-preload", "doctor",
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_a_worked_example(command: str) -> None:
    _, found, example = COMMANDS[command].partition("Example:")
    assert found
    # Of this very command, with something to type after it.
    assert f"corewise {command.split()[0]}" in example


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(command: str) -> None:
    assert "--json" in COMMANDS[command]


def test_progress_is_shown_on_a_terminal_and_only_there(tmp_path: Path) -> None:
    made = corewise("patterns", "make", "halo_3d", "ranks=48", "-o", "halo.json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    command = ["place", "halo.json", "--machine", "mesh-6x4", "--json"]
    piped = corewise(*command, cwd=tmp_path)
    assert (piped.returncode, piped.stderr) == (0, "")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [COREWISE, *command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = read_all(ours)
        assert process.stdout is not None
        out = process.stdout.read().decode()
    assert process.returncode == 0
    assert b"searching placements" in shown
    # A clock ends the search, so not all that is found need be the same.
    names = [[row["placement"] for row in json.loads(text)["rows"]] for text in (out, piped.stdout)]
    assert names[0] == names[1]


def read_all(descriptor: int) -> bytes:
    """What a terminal was written until nobody holds it any more."""
    shown = b""
    try:
        while more := os.read(descriptor, 65536):
            shown += more
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(descriptor)
    return shown


# --- wrong input ------------------------------------------------------------------------------------------

MACHINE = """
format = "corewise-machine"
version = 1
name = "mine"
colour = "blue"
[interconnect]
kind = "flat"
count = 4
unit_name = "core"
port_bandwidth = "25.6 GB/s"
hop_latency = "1 ns"
"""
# What is wrong, the command, and what its one line must name: what was found and what is allowed.
WRONG = {
    "missing profile": (["report", "none.cw"], ["none.cw", "found nothing", "allowed: a profile folder"]),
    "missing pattern": (["place", "none.json", "--machine", "cell-be"], ["none.json", "No such file"]),
    "missing machine": (["machines", "show", "none.toml"], ["none.toml", "No such file"]),
    "missing placement": (
        ["run", "-n", "2", "--placement", "none.json", "--", "true"],
        ["none.json", "No such file"],
    ),
    "missing program": (["run", "-n", "2", "--", "./none"], ["./none", "no such program"]),
    "unknown field": (
        ["machines", "show", "wrong.toml"],
        ["wrong.toml", "colour", "allowed", "interconnect"],
    ),
    "not square": (["patterns", "show", "oblong.mtx"], ["oblong.mtx", "2", "3", "square"]),
    "too many ranks": (
        ["place", "nine.json", "--machine", "cell-be"],
        ["nine.json", "found 9", "at most 8", "'cell-be'"],
    ),
    "no MPI in prefix": (
        ["run", "-n", "2", "--mpi", "./empty", "--", "true"],
        ["empty", "no MPI here", "bin/mpiexec is missing"],
    ),
    "no MPI of that name": (
        ["run", "-n", "2", "--mpi", "lammpi", "--", "true"],
        ["--mpi lammpi", "found here: ", "name a prefix or a launcher"],
    ),
    "more ranks than a trace": (
        ["run", "-n", "99999999", "--", "true"],
        ["-n", "found 99999999", "1 to 8388608"],
    ),
    "no ranks": (["run", "--", "true"], ["-n", "found nothing", "1 or more"]),
    "buffer without unit": (
        ["run", "-n", "1", "--buffer", "4096", "--", "true"],
        ["--buffer", "'4096'", "KiB"],
    ),
    "buffer too large": (
        ["run", "-n", "1", "--buffer", "1 GiB", "--", "true"],
        ["--buffer", "'1 GiB'", "4 KiB to 64 MiB"],
    ),
    "unknown clock": (["run", "-n", "1", "--clock", "sun", "--", "true"], ["'sun'", "auto, tsc, os"]),
    "empty pattern": (["patterns", "show", "nothing.json"], ["nothing.json: the file is empty"]),
    "dims that are not the ranks": (
        ["patterns", "make", "halo_2d", "ranks=8", "dims=4x4"],
        ["dims", "8"],
    ),
    "seed below zero": (
        ["place", "none.json", "-m", "cell-be", "--seed", "-1"],
        ["--seed", "found -1", "a whole number, 0 "],
    ),
    "seed too large": (
        ["place", "none.json", "-m", "cell-be", "--seed", str(2**64)],
        ["--seed", f"{2**64 - 1}"],
    ),
    "folder as output": (
        ["patterns", "make", "ring", "ranks=4", "-o", "empty.json"],
        ["empty.json", "found a folder", "allowed: a file"],
    ),
    "output in no folder": (
        ["patterns", "make", "ring", "ranks=4", "-o", "none/ring.json"],
        ["none/ring.json", "no folder"],
    ),
    "unknown command": (["paint"], ["paint", "--help"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_clear_line_and_status_2(name: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(MACHINE)
    (tmp_path / "oblong.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 2 5\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.json").mkdir()
    (tmp_path / "nothing.json").write_text("\n")
    if name == "too many ranks":
        assert (
            corewise("patterns", "make", "ring", "ranks=9", "-o", "nine.json", cwd=tmp_path).returncode == 0
        )
    arguments, words = WRONG[name]
    assert_one_line_error(corewise(*arguments, cwd=tmp_path), *words)


@pytest.mark.parametrize("arguments", [["machines"], ["machines", "--json"], ["--help"], ["--version"]])
def test_an_output_that_is_full_is_one_line_and_status_1(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [str(COREWISE), *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "corewise: standard output: cannot be written: No space left on device\n"


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    """The limit lets less than the new text be written, as a disk does that is about to be full."""
    assert corewise("patterns", "make", "ring", "ranks=4", "-o", "it.json", cwd=tmp_path).returncode == 0
    before = (tmp_path / "it.json").read_text()
    (tmp_path / "it.json").chmod(0o640)
    command = ["patterns", "make", "random", "ranks=64", "-o", "it.json"]
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
        "from corewise.cli.main import execute; sys.exit(execute(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "it.json: cannot be written: File too large" in done.stderr
    assert (tmp_path / "it.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["it.json"]
    assert corewise(*command, cwd=tmp_path).returncode == 0
    assert (tmp_path / "it.json").read_text() != before
    assert (tmp_path / "it.json").stat().st_mode & 0o777 == 0o640


def test_a_file_can_be_standard_output(tmp_path: Path) -> None:
    (tmp_path / "out.json").symlink_to("/dev/stdout")
    done = corewise("patterns", "make", "ring", "ranks=4", "-o", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"corewise-pattern"' in done.stdout


def test_without_the_wrong_field_the_machine_is_right(tmp_path: Path) -> None:
    (tmp_path / "right.toml").write_text(MACHINE.replace('colour = "blue"\n', ""))
    assert corewise("machines", "check", "right.toml", cwd=tmp_path).returncode == 0


def test_a_profile_without_events_is_said_loudly(tmp_path: Path) -> None:
    (tmp_path / "silent.cw").mkdir()
    tw.write_meta(tmp_path / "silent.cw")
    assert_one_line_error(corewise("report", "silent.cw", cwd=tmp_path), "silent.cw", "0 events seen")


# --- doctor -----------------------------------------------------------------------------------------------


def test_doctor_says_what_is_there() -> None:
    done = corewise("doctor", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["name"], document["machine"]) == ("doctor", "host")
    rows = {row["id"]: row for row in document["rows"]}
    assert rows["cores allowed"]["found"] == ",".join(map(str, sorted(os.sched_getaffinity(0))))
    compiler = next(
        filter(None, map(shutil.which, filter(None, (os.environ.get("CXX"), "g++", "c++")))), None
    )
    assert rows["C++ compiler"]["found"] == compiler
    flags = Path("/proc/cpuinfo").read_text()
    for name in ("avx2", "avx512f", "asimd"):
        assert (name in rows["instruction sets"]["found"].split()) == bool(re.search(rf"\b{name}\b", flags))
    assert {"hwloc", "CMA", "huge pages", "invariant cycle counter"} <= set(rows)
    assert all(row["therefore"] for row in rows.values())


def test_doctor_says_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.find, "find_all", lambda: [])
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(host.prebuilt, "sets", lambda _: ())
    rows = {finding.what: finding for finding in host.examine()}
    assert not rows["MPI"].present
    assert "corewise run is off" in rows["MPI"].therefore
    assert not rows["C++ compiler"].present
    assert "no preload can be built" in rows["C++ compiler"].therefore
    assert "none came with this installation" in rows["prebuilt preloads"].found


# --- documents --------------------------------------------------------------------------------------------


def test_every_format_has_a_page() -> None:
    """Each format that the sources name, with the version they write."""
    sources = [*(ROOT / "src").rglob("*.[ch]pp"), *(ROOT / "python").rglob("*.py")]
    named = {name for path in sources for name in re.findall(r'"(corewise-[a-z]+)"', path.read_text())}
    formats = named & {"corewise-machine", "corewise-pattern", "corewise-placement", "corewise-profile"}
    assert len(formats) == 4
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "formats").glob("*.md")]
    for name in formats:
        assert [page for page in pages if f'"{name}"' in page and "version" in page], name
    trace = (ROOT / "docs" / "formats" / "trace.md").read_text(encoding="utf-8")
    version = re.search(r"kVersion = (\d+)", (ROOT / "src" / "trace" / "format.hpp").read_text())
    assert version is not None
    assert f"version {version[1]}" in trace


def test_every_option_of_run_is_explained() -> None:
    page = (ROOT / "docs" / "recording" / "run.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ .*?(--[a-z-]+) ", COMMANDS["run"].split("Options:")[1], re.M))
    run = find_command("run")
    assert isinstance(run, WithSettings)
    options = listed | {each.option for each in run.settings()}
    assert {"--placement", "--flight-recorder", "--buffer", "--clock", "--mpi"} <= options
    obvious = {"--help", "--json", "--ranks", "--output", "--set"}
    assert [option for option in sorted(options - obvious) if f"`{option}`" not in page] == []


def test_architecture_has_a_heading_per_room_and_the_life_of_a_message() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    headings = re.findall(r"^### (.+)$", text, re.M)
    told = {room for room in rooms for heading in headings if re.search(rf"\b{room}\b", heading)}
    assert rooms - told == set()
    story = text.split("## The life of a message")[1].split("\n## ")[0]
    stations = re.findall(r"`((?:src|python)/[\w/]+\.\w+)`", story)
    assert len(stations) >= 8
    assert [station for station in stations if not (ROOT / station).is_file()] == []
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_the_licence_is_bsd_3_clause_everywhere() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    clauses = (
        "Redistributions of source code must retain",
        "Redistributions in binary form must reproduce",
        "Neither the name",
    )
    assert [clause for clause in clauses if clause not in text] == []
    folders = [ROOT / name for name in ("src", "python", "apps", "bench", "tools")]
    endings = {".py", ".cpp", ".hpp", ".c", ".h", ".sh"}
    sources = [path for folder in folders for path in folder.rglob("*") if path.suffix in endings]
    assert len(sources) > 100
    sworn = "SPDX-License-Identifier: BSD-3-Clause"
    assert [path for path in sources if sworn not in path.read_text(encoding="utf-8")] == []
