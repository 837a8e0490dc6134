"""The last place that catches: whatever a command raises becomes one line and an exit status.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from corewise import InputError, RunError
from corewise.cli import main


class WeirdError(Exception):
    """An exception that nobody expects, whose text is no line."""

    def __str__(self) -> str:
        return "two\nlines \x1b[31m" + "x" * 10**5


RAISED: dict[str, tuple[BaseException, int, str]] = {
    "input": (InputError("a.toml: field 'b': found 1, allowed: 2"), 2, "a.toml: field 'b'"),
    "long input": (InputError("a" * 10**5), 2, "aaa...aaa"),
    "run": (RunError("no launcher"), 1, "no launcher"),
    "usage": (typer.BadParameter("no such option"), 2, "no such option (see corewise now --help)"),
    "abort": (typer.Abort(), 130, "interrupted"),
    "missing": (FileNotFoundError(errno.ENOENT, "No such file", "a.json"), 1, "a.json: No such file"),
    "memory": (MemoryError(), 1, "memory of this machine does not suffice"),
    "recursion": (RecursionError("too deep"), 1, "internal error, a bug in corewise"),
    "key": (KeyError("x"), 1, "KeyError: 'x' (test_main.py:"),
    "weird": (WeirdError(), 1, "please report it; COREWISE_TRACEBACK=1 shows more"),
}


def raising(error: BaseException) -> typer.Typer:
    """An application whose only command raises."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)

    @app.command("now")
    def command() -> None:
        raise error

    return app


@pytest.mark.parametrize("name", RAISED)
def test_whatever_is_raised_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error, status, words = RAISED[name]
    monkeypatch.delenv(main.TRACEBACK, raising=False)
    monkeypatch.setattr(main, "build_app", lambda: raising(error))
    assert main.execute(["now"]) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("corewise: ") and words in err
    assert err.count("\n") == 1 and len(err) < 500 and "\x1b" not in err


def test_a_bug_shows_where_it_is_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(main.TRACEBACK, "1")
    monkeypatch.setattr(main, "build_app", lambda: raising(KeyError("x")))
    assert main.execute(["now"]) == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("corewise: internal error") and second == "Traceback (most recent call last):"


INTERRUPTED = """
import sys, typer
from corewise.cli import main
app = typer.Typer(pretty_exceptions_enable=False)
app.callback()(lambda: None)
@app.command("now")
def command() -> None:
    raise KeyboardInterrupt
main.build_app = lambda: app
sys.exit(main.execute(["now"]))
"""


def test_an_interrupted_command_has_the_status_that_shells_expect() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_a_reader_that_went_away_is_no_error() -> None:
    command = f"{sys.executable} -m corewise.cli.main machines show cell-be --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{", "")


SHOW = "-m corewise machines show cell-be"


def in_shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False)


@pytest.mark.parametrize(("closed", "said"), [(">&-", b""), ("2>&-", b"SPE7"), (">&- 2>&- <&-", b"")])
def test_a_closed_stream_is_written_to_in_vain(closed: str, said: bytes) -> None:
    done = in_shell(f"{sys.executable} {SHOW} {closed}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert said in done.stdout


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """What is said on standard output would else stand in the file that is written."""
    file = tmp_path / "ring.json"
    done = in_shell(f"{sys.executable} -m corewise patterns make ring ranks=4 -o '{file}' <&- >&- 2>&-")
    assert done.returncode == 0
    assert json.loads(file.read_text())["ranks"] == 4


CHILD = """
import subprocess, sys
from corewise.cli import console
console.open_streams()
sys.exit(subprocess.run(["/bin/sh", "-c", "echo said && echo noted >&2"]).returncode)
"""


def test_a_program_can_write_to_streams_that_were_closed() -> None:
    assert in_shell(f"{sys.executable} -c '{CHILD}' >&- 2>&-").returncode == 0


FULL = """
from corewise.cli import console, main
def noted(arguments):
    console.note("x")
    console.warn("y")
    return 0
main.execute = noted
main.main()
"""


def test_a_full_standard_error_changes_no_status() -> None:
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([sys.executable, "-c", FULL], stderr=full, check=False).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin1"])
def test_characters_that_an_encoding_lacks_are_replaced(encoding: str) -> None:
    done = in_shell(f"PYTHONIOENCODING={encoding} {sys.executable} {SHOW}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?? SPE7" in done.stdout
    done.stdout.decode(encoding)


@pytest.mark.parametrize("columns", ["0", "none"])
def test_a_width_that_is_none_is_not_taken(columns: str) -> None:
    done = in_shell(f"COLUMNS={columns} {sys.executable} {SHOW}")
    assert done.stdout == in_shell(f"env -u COLUMNS {sys.executable} {SHOW}").stdout
    assert b"SPE7" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["probe", "--time", "0"], "--time: found 0, allowed: a number, 1 to 86400"),
        (["probe", "--time", "1h"], "--time: found 1h, allowed: a number, 1 to 86400"),
        (["call-graph", "x.cw", "--depth", "0"], "--depth: found 0, allowed: a whole number, 1 or more"),
        (["sim", "ring", "-m", "ring:4", "--repeat", "0"], "--repeat: found 0, allowed: a whole number, 1 "),
        (["place", "x.json", "--rounds", "-1"], "--rounds: found -1, allowed: a whole number"),
        (["waits", "x.cw", "--top", "many"], "--top: found many, allowed: a whole number"),
    ],
)
def test_a_number_that_cannot_be_names_what_is_found_and_allowed(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute(words) == 2
    assert capsys.readouterr().err.startswith(f"corewise: {said}")
