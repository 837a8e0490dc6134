"""The last place that catches: whatever a command raises becomes one line and an exit status.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
import subprocess
import sys

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
