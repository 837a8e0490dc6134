"""Hostile input: whatever a file or an option holds, a command ends soon, with a clear line and status 2.

Every option of every command meets every text of `TEXTS`; every kind of file is replaced by everything of
`CONTENTS`; every field of every document gets every value of `VALUES`. A command may take what it is given
(status 0), or refuse it: status 2, one short line, no traceback, nothing on standard output.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import copy
import json
import os
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trace_writer as tw
import typer

from corewise.cli import main

SECONDS = 20
"""A command that takes longer, here where everything is small, was led to."""
MEMORY_BYTES = 2 << 30
"""That a command may take beyond what the tests have."""
LONGEST = 500

COMMANDS: dict[str, list[str]] = {
    "report": ["report", "ring.cw"],
    "call-graph": ["call-graph", "ring.cw"],
    "matrix": ["matrix", "ring.cw"],
    "waits": ["waits", "ring.cw"],
    "diff": ["diff", "ring.cw", "ring.cw"],
    "export": ["export", "ring.cw", "--to", "csv", "-o", "out.csv"],
    "place": ["place", "ring.json", "-m", "cell-be"],
    "certify": ["certify", "proof.json", "ring.json", "-m", "cell-be"],
    "explore": ["explore", "ring.json", "-m", "cell-be", "--samples", "2", "--runs", "9"],
    "sim": ["sim", "ring.json", "-m", "cell-be"],
    "collective": ["collective", "broadcast"],
    "run": ["run", "./none"],
    "bundle": ["bundle", "ring.cw"],
    "explain collective": ["explain", "collective", "broadcast"],
    "explain datatype": ["explain", "datatype", "vector(4,1,2,double)"],
    "machines show": ["machines", "show", "cell-be"],
    "machines check": ["machines", "check", "machine.toml"],
    "patterns make": ["patterns", "make", "ring", "ranks=4"],
    "patterns show": ["patterns", "show", "ring.json"],
    "patterns name": ["patterns", "name", "ring.json"],
    "advise": ["advise", "-n", "2", "--", "./none"],
    "simrun": ["simrun", "-n", "2", "-m", "ring:4", "./none"],
    "machines from-latency": ["machines", "from-latency", "latencies.csv", "-o", "out.toml"],
    "probe": ["probe", "--plan", "--cpus", "4"],
    "bench fft": ["bench", "fft", "--mpi", "none"],
    "bench node": ["bench", "node", "--cases", "none"],
    "bench simmpi": ["bench", "simmpi", "--rounds", "1"],
    "paper sensitivity": ["paper", "sensitivity", "--paper", "none"],
    "paper all": ["paper", "all", "--html", "none/none.html"],
}
"""Each command with its arguments; those that measure or launch for long have one that is wrong."""

TEXTS = (
    "",
    "nan",
    "1e999",
    "-1",
    "18446744073709551616",
    "[" * 50_000,
    "a\nb\x1b[31m",
    "\udcff",
    "/dev/zero",
)

MACHINE = """
format = "corewise-machine"
version = 1
name = "ring of four"
[interconnect]
kind = "ring"
stops = ["a", "b", "c", "d"]
units = ["a", "b", "c", "d"]
rings_per_direction = 1
ring_bandwidth = "25.6 GB/s"
hop_latency = "1 ns"
"""


LATENCIES = "0,10,40,40\n10,0,40,40\n40,40,0,10\n40,40,10,0\n"


class LateError(BaseException):
    """Raised in a command that takes too long."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands of the table read."""
    path = tmp_path_factory.mktemp("hostile")
    here = Path.cwd()
    os.chdir(path)
    try:
        tw.ring_run(path / "ring.cw")
        (path / "machine.toml").write_text(MACHINE)
        (path / "latencies.csv").write_text(LATENCIES)
        assert main.execute(["patterns", "make", "ring", "ranks=8", "-o", "ring.json"]) == 0
        search = ["place", "ring.json", "-m", "cell-be", "-o", "best.json", "--certificate", "proof.json"]
        assert main.execute(search) == 0
    finally:
        os.chdir(here)
    return path


@pytest.fixture
def judge(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """Runs a command in the folder, bounded; returns what is wrong with how it ended, or nothing."""
    monkeypatch.chdir(folder)
    app = main.build_app()
    monkeypatch.setattr(main, "build_app", lambda: app)

    def late(*_: object) -> None:
        raise LateError

    def run(arguments: Sequence[str], allowed: Sequence[int] = (0, 2)) -> str:
        capfd.readouterr()
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        status = main.execute(arguments)
        signal.setitimer(signal.ITIMER_REAL, 0)
        out, err = capfd.readouterr()
        wrong = [] if status in allowed else [f"status {status}"]
        if status == 2 and (err.count("\n") != 1 or len(err) > LONGEST or not err.startswith("corewise: ")):
            wrong.append("not one short line")
        if status == 2 and out:
            wrong.append("output")
        words = " ".join(word[:30] for word in arguments)
        return f"{words!r}: {', '.join(wrong)}: {err[:300]!r}" if wrong else ""

    limits = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY_BYTES, limits[1]))
    yield run
    resource.setrlimit(resource.RLIMIT_AS, limits)
    signal.signal(signal.SIGALRM, before)


def command_of(words: Sequence[str]) -> Any:
    """The command object that the words name."""
    command: Any = typer.main.get_command(main.build_app())
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_meets_every_hostile_text(name: str, judge: Callable[..., str]) -> None:
    words = COMMANDS[name]
    options = [
        each.opts[0]
        for each in command_of(name.split()).params
        if each.param_type_name == "option" and not getattr(each, "is_flag", False)
    ]
    before = len(name.split())
    hostile = [[*words[:before], option, text, *words[before:]] for option in options for text in TEXTS]
    hostile += [[*words[:before], text, *words[before + 1 :]] for text in TEXTS]
    assert [wrong for arguments in hostile if (wrong := judge(arguments))] == []


# --- files ------------------------------------------------------------------------------------------------

FILES: dict[str, list[str]] = {
    "machine, TOML": ["machines", "check", "{}.toml"],
    "machine, JSON": ["machines", "check", "{}.json"],
    "machine, hwloc": ["machines", "check", "{}.xml"],
    "pattern": ["place", "{}.json", "-m", "cell-be"],
    "pattern, by its generator": ["patterns", "make", "file", "path={}.csv"],
    "profile": ["report", "{}.cw"],
    "placement": ["place", "ring.json", "-m", "cell-be", "--placement", "{}.json"],
    "placement of a simulation": ["sim", "ring.json", "-m", "cell-be", "-p", "{}.json"],
    "placement of a run": ["run", "--placement", "{}.json", "./none"],
    "order of a run": ["run", "--reorder", "{}.json", "./none"],
    "packing tuning": ["run", "--packing-tuning", "{}.toml", "./none"],
    "certificate": ["certify", "{}.json", "ring.json", "-m", "cell-be"],
    "copy tuning": ["bench", "copy", "--quick", "--tuning", "{}.toml"],
    "monitoring": ["matrix", "ring.cw", "--physical", "{}.0.prof"],
    "machine of a launch that is advised": ["advise", "-m", "{}.toml", "-n", "2", "--", "./none"],
    "program of simulated ranks": ["simrun", "-n", "2", "-m", "ring:4", "{}"],
    "placement of simulated ranks": ["simrun", "-n", "2", "-m", "ring:4", "-p", "{}.json", "./none"],
    "latencies": ["machines", "from-latency", "{}.csv", "-o", "out.toml"],
    "tuning of collectives": ["explain", "collective", "broadcast", "-m", "{}.csv"],
}
CONTENTS: dict[str, bytes | None] = {
    "empty": b"",
    "blank": b" \n\n",
    "binary": bytes(range(256)) * 16,
    "zeros": b"\0" * 4096,
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "brackets": b"[" * 50_000,
    "objects": b'{"a":' * 50_000,
    "keys": b"a" + b".a" * 50_000 + b" = 1",
    "digits": b'{"a": ' + b"9" * 100_000 + b"}",
    "a long line": b"x" * 100_000,
    "a long name": b'{"' + b"n" * 100_000 + b'": 1}',
    "a long header": b"from,to," + b"b" * 100_000 + b"\n",
    "no number": b'{"a": NaN, "b": Infinity}',
    "twice": b'{"format": "corewise-pattern", "format": "corewise-pattern"}',
    "mark": b"\xef\xbb\xbf{}",
    "another": b'format = "corewise-another"\r\nversion = 99999999999999999999\r\n',
    "folder": None,
    "pipe": None,
    "device": None,
    "missing": None,
}


def put(kind: str, path: Path) -> None:
    """Puts one of `CONTENTS` at a path."""
    content = CONTENTS[kind]
    if content is not None:
        path.write_bytes(content)
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("name", FILES)
def test_every_file_may_be_anything(name: str, judge: Callable[..., str], tmp_path: Path) -> None:
    wrong = []
    for number, kind in enumerate(CONTENTS):
        words = [word.replace("{}", str(tmp_path / f"f{number}")) for word in FILES[name]]
        (path,) = (Path(word.rpartition("=")[2]) for word in words if str(tmp_path) in word)
        put(kind, path)
        wrong.append(judge(words, (2,)))
    assert [each for each in wrong if each] == []


def test_the_counts_of_a_run_may_be_anything(judge: Callable[..., str], tmp_path: Path) -> None:
    wrong = []
    for number, kind in enumerate(CONTENTS):
        profile = tw.ring_run(tmp_path / f"f{number}.cw", size=2)
        put(kind, profile / "accelerate.0.csv")
        wrong.append(judge(["report", str(profile)], (0,) if kind == "missing" else (2,)))
    assert [each for each in wrong if each] == []


def test_the_file_of_an_unfinished_sweep_may_be_anything(judge: Callable[..., str], tmp_path: Path) -> None:
    wrong = []
    for number, kind in enumerate(CONTENTS):
        path = tmp_path / f"f{number}"
        put(kind, path)
        status = 0 if kind == "missing" else 2
        wrong.append(judge([*COMMANDS["explore"], "--resume", str(path)], (status,)))
    assert [each for each in wrong if each] == []


# --- fields -----------------------------------------------------------------------------------------------

DOCUMENTS: dict[str, tuple[str, list[str]]] = {
    "pattern": ("ring.json", ["patterns", "show", "{}"]),
    "placement": ("best.json", ["place", "ring.json", "-m", "cell-be", "--placement", "{}"]),
    "certificate": ("proof.json", ["certify", "{}", "ring.json", "-m", "cell-be"]),
    "machine": ("machine.toml", ["machines", "check", "{}"]),
}
VALUES: tuple[Any, ...] = (None, True, -1, 1 << 64, 10**400, "x" * 100_000, [[]], {"a": 1})


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of a document's fields; of a list, only the first element."""
    if path:
        yield path
    inside = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, each in inside:
        yield from leaves(each, (*path, key))


def changed(document: Any, path: Sequence[Any], value: Any) -> Any:
    """The document with one field replaced."""
    result = copy.deepcopy(document)
    place = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def read(path: Path) -> Any:
    """A document; the machine's TOML as the JSON that it stands for."""
    if path.suffix == ".json":
        return json.loads(path.read_text())
    lines = [line for line in MACHINE.splitlines() if " = " in line]
    fields = {name: json.loads(value) for name, value in (line.split(" = ") for line in lines)}
    head = {name: fields.pop(name) for name in ("format", "version", "name")}
    return {**head, "interconnect": fields}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_may_be_anything(
    name: str, judge: Callable[..., str], folder: Path, tmp_path: Path
) -> None:
    source, words = DOCUMENTS[name]
    document = read(folder / source)
    target = tmp_path / "changed.json"
    arguments = [word.replace("{}", str(target)) for word in words]
    wrong = []
    target.write_text(json.dumps(document))
    assert judge(arguments, (0,)) == ""
    for path in leaves(document):
        for value in VALUES:
            target.write_text(json.dumps(changed(document, path, value)))
            wrong.append(judge(arguments, (0, 1, 2) if name == "certificate" else (0, 2)))
    target.write_text(json.dumps({**document, "more": 1}))
    wrong.append(judge(arguments, (2,)))
    assert [each for each in wrong if each] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_name_may_stand_twice(name: str, judge: Callable[..., str], folder: Path, tmp_path: Path) -> None:
    source, words = DOCUMENTS[name]
    document = read(folder / source)
    target = tmp_path / "changed.json"
    arguments = [word.replace("{}", str(target)) for word in words]
    named = [path for path in leaves(document) if isinstance(path[-1], str)]
    wrong = []
    for path in named:
        *above, last = path
        value = document
        for key in path:
            value = value[key]
        # Python's own dictionaries hold a name once: the second one gets its name in the text.
        text = json.dumps(changed(document, [*above, f"{last}@2"], value)).replace(f"{last}@2", last)
        assert text.count(f'"{last}":') > json.dumps(document).count(f'"{last}":')
        target.write_text(text)
        wrong.append(judge(arguments, (2,)))
    assert named and [each for each in wrong if each] == []


CELLS = ("", "\N{SUPERSCRIPT TWO}", "-1", "1e3", "4", "9" * 400, "x" * 100_000, "many bytes", "\x1b[31m")


@pytest.mark.parametrize("column", range(5))
def test_every_cell_of_a_monitoring_file_may_be_anything(
    column: int, judge: Callable[..., str], tmp_path: Path
) -> None:
    for rank in range(4):
        (tmp_path / f"mon.{rank}.prof").write_text("")
    arguments = ["matrix", "ring.cw", "--physical", str(tmp_path / "mon")]
    good = ["E", "0", "1", "8 bytes", "1 msgs sent"]
    wrong = []
    for cell in (good[column], *CELLS):
        cells = [*good[:column], cell, *good[column + 1 :]]
        (tmp_path / "mon.0.prof").write_text("\t".join(cells) + "\n")
        wrong.append(judge(arguments, (0,) if cell == good[column] else (2,)))
    assert [each for each in wrong if each] == []
