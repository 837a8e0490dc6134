"""Helps that fit a screen and a mood, settings behind them, completion, and what a quick command loads.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from installed_tool import COREWISE, assert_one_line_error, corewise, document

from corewise.cli.commands import find_command
from corewise.cli.explain.settings import COMMANDS as WITH_SETTINGS
from corewise.cli.main import build_app
from corewise.cli.settings import WithSettings

pytestmark = pytest.mark.first_test

MOST_OPTIONS = 15


def every_command() -> Iterator[tuple[str, Any]]:
    """Every command and group by the words that call it."""

    def walk(command: Any, words: list[str]) -> Iterator[tuple[str, Any]]:
        yield " ".join(words), command
        for name, sub in getattr(command, "commands", {}).items():
            yield from walk(sub, [*words, name])

    yield from walk(typer.main.get_command(build_app()), ["corewise"])


COMMANDS = dict(every_command())


def help_of(name: str) -> str:
    return str(typer.Context(COMMANDS[name], info_name=name).get_help())


def options_of(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "option"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_is_plain_and_fits(name: str) -> None:
    text = help_of(name)
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    cut = [line for line in text.splitlines() if line.rstrip().endswith("...")]
    assert [line for line in cut if "[" not in line] == []  # a usage's [ARGUMENT]... is none
    assert len([each for each in options_of(COMMANDS[name]) if not each.hidden]) <= MOST_OPTIONS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_begins_with_what_to_do(name: str) -> None:
    """An imperative: "Show ...", and not "Shows ..." or a noun."""
    first = (COMMANDS[name].help or "").split()[0]
    assert first in {
        "Build", "Bundle", "Check", "Compare", "Compile", "Explain", "Find", "List", "Make", "Measure",
        "Name", "Print", "Put", "Read", "Repeat", "Run", "Say", "Show", "Simulate", "Time", "Verify", "Write",
    }, f"'{first}': is it a verb that tells what to do? Then add it here"  # fmt: skip


def test_an_error_says_what_to_type_next() -> None:
    mistyped = corewise("repotr", "lbm.cw")
    assert_one_line_error(mistyped, "no command 'repotr'", "did you mean corewise report?", "corewise --help")
    assert_one_line_error(corewise("place", "ring.json"), "--machine", "see corewise place --help")
    shwo = ["shwo", "did you mean corewise machines show?", "see corewise machines --help"]
    assert_one_line_error(corewise("machines", "shwo"), *shwo)
    assert_one_line_error(corewise("bench", "nonsense"), "no command 'nonsense'", "see corewise bench --help")


# --- settings ---------------------------------------------------------------------------------------------


def test_the_commands_with_settings_are_those_that_explain_knows() -> None:
    hidden = {
        name.removeprefix("corewise ")
        for name, command in COMMANDS.items()
        if any(each.hidden for each in options_of(command))
    }
    assert hidden == set(WITH_SETTINGS)


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_explain_lists_every_setting(name: str) -> None:
    command = find_command(name)
    assert isinstance(command, WithSettings)
    rows = document("explain", "settings", name)["rows"]
    hidden = {max(each.opts, key=len) for each in options_of(command) if each.hidden}
    assert {row["option"] for row in rows} == hidden
    assert all(row["help"] and row["takes"] for row in rows)
    listed = help_of(f"corewise {name}").split("Options:")[1]
    assert not [option for option in hidden if re.search(rf"^  {option} ", listed, re.M)]
    assert f"corewise explain settings {name}" in " ".join(help_of(f"corewise {name}").split())


def test_a_setting_is_the_option_that_it_stands_for(tmp_path: Path) -> None:
    made = corewise("patterns", "make", "random", "ranks=8", "-o", "it.json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    common = ["place", "it.json", "-m", "cell-be", "--json"]
    as_options = corewise(*common, "--method", "local", "--seed", 5, "--summed", cwd=tmp_path)
    words = ["--set", "method=local", "--set=seed=5", "--set", "summed"]
    as_settings = corewise(*common, *words, cwd=tmp_path)
    assert as_options.returncode == 0, as_options.stderr
    assert as_settings.stdout == as_options.stdout
    other = json.loads(corewise(*common, "--set", "method=exhaustive", cwd=tmp_path).stdout)
    assert other["method"] != json.loads(as_settings.stdout)["method"]
    off = corewise(*common, "--set", "method=local", "--set=seed=5", "--set", "summed=no", cwd=tmp_path)
    assert off.returncode == 0, off.stderr


WRONG_SETTINGS = {
    "unknown": (["--set", "colour=blue"], ["found 'colour'", "method", "corewise explain settings place"]),
    "no value": (["--set", "seed"], ["found no value", "seed=N"]),
    "no switch": (["--set", "summed=maybe"], ["found 'maybe'", "yes or no"]),
    "not checked here": (["--set", "seed=-1"], ["--seed: found -1, allowed: a whole number, 0"]),
}


@pytest.mark.parametrize("what", WRONG_SETTINGS)
def test_a_wrong_setting_is_one_line(what: str) -> None:
    words, expected = WRONG_SETTINGS[what]
    assert_one_line_error(corewise("place", "none.json", "-m", "cell-be", *words), *expected)


def test_the_words_of_a_program_are_no_settings() -> None:
    """They stand behind the program's name, with or without ``--``."""
    for words in (["./none", "--set", "buffer=1"], ["--", "./none", "--set", "buffer=1"]):
        assert_one_line_error(corewise("run", "-n", 2, *words), "./none: no such program")


def test_a_command_with_settings_of_its_own_keeps_them() -> None:
    common = ["collective", "broadcast", "-m", "cell-be", "--ranks", 4, "--bytes", "32 KiB"]
    words = ["--algorithm", "pieces", "--set", "min_piece=2KiB", "--set", "calls=2", "--json"]
    done = corewise(*common, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["settings"]["min_piece"] in ("2KiB", "2048", 2048)
    assert done.stdout == corewise(*common, *words[:4], "--calls", 2, "--json").stdout


# --- completion -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_the_tool(shell: str) -> None:
    done = corewise("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_COREWISE_COMPLETE=complete_{shell}" in done.stdout
    assert "corewise" in done.stdout
    assert_one_line_error(corewise("completion", "cmd"), "found 'cmd'", "bash, zsh, fish")


def asked(shell: str, words: str) -> str:
    """What the tool answers a shell whose line is `words`."""
    variables = {
        "_COREWISE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return corewise(env={**os.environ, **variables}).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_completed(shell: str) -> None:
    assert re.search(r"\bplace\b", asked(shell, "corewise pl"))
    assert not re.search(r"\breport\b", asked(shell, "corewise pl"))
    assert "--objective" in asked(shell, "corewise place --obj")
    assert re.search(r"\bfrom-latency\b", asked(shell, "corewise machines fr"))


def test_bash_itself_completes() -> None:
    script = (
        'eval "$(corewise completion bash)"; COMP_WORDS=(corewise machines sh); COMP_CWORD=2; '
        '_corewise_completion corewise; echo "${COMPREPLY[@]}"'
    )
    path = f"{COREWISE.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["show"]


# --- what is loaded ---------------------------------------------------------------------------------------


HEAVY = {
    "bokeh", "elftools.elf.elffile", "jinja2", "markupsafe", "matplotlib", "networkx", "numpy", "pandas",
    "perfetto", "polars", "pyarrow", "rich.console", "rich.text", "scipy",
}  # fmt: skip
"""What takes longer to import than a help to print."""
LOOK = """
import sys
from corewise.cli.main import execute
for words in sys.argv[1:]:
    status = execute(words.split())
print("loaded", *sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""


def looked(*lines: str) -> subprocess.CompletedProcess[str]:
    """Runs commands in one process, and says on standard error which modules it has loaded."""
    done = subprocess.run([sys.executable, "-c", LOOK, *lines], capture_output=True, text=True, check=False)
    assert "loaded corewise" in done.stderr or "loaded __future__" in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("line", ["--version", "--help", "paint"])
def test_a_quick_command_loads_little(line: str) -> None:
    assert HEAVY.union({"corewise._core", "corewise._lab"}) & set(looked(line).stderr.split()) == set()


def test_no_help_waits_for_anything_heavy() -> None:
    names = [name for name in COMMANDS if name != "corewise"]
    done = looked(*(f"{name} --help".removeprefix("corewise ") for name in names))
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^Usage: (corewise(?: [a-z][a-z-]*)*)", done.stdout, re.M) == names
    assert HEAVY & set(done.stderr.split()) == set()


@pytest.mark.parametrize("line", ["place --help", "bench sim --help", "machines show --help"])
def test_a_help_converts_no_value(line: str) -> None:
    """Typer 0.29 and later import pydantic to convert a value; that takes longer than the rest of a help."""
    done = looked(line)
    assert done.stdout.startswith("Usage: corewise ")
    assert {"pydantic", "typer._adapters"} & set(done.stderr.split()) == set()


@pytest.mark.parametrize(
    "lines",
    [
        ["machines show --help", "machines show cell-be --json"],
        ["machines --help", "machines --json"],
        ["patterns make --help", "patterns --json"],
        ["explain --help", "explain collective broadcast --ranks 16 --bytes 128"],
    ],
)
def test_a_command_works_after_a_help_in_the_same_process(lines: list[str]) -> None:
    """What waited is imported before the command begins."""
    done = looked(*lines)
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr


def test_a_program_may_have_a_help_of_its_own() -> None:
    """Its word is not ours: the command runs, with all that it imports."""
    done = looked("run -n 2 ./none --help")
    assert done.returncode == 2
    assert "./none: no such program" in done.stderr


def test_stand_ins_are_replaced_by_what_they_stand_for() -> None:
    script = """
from corewise.base import late
with late.postponed():
    with late.imports():
        import json
        from collections import abc as names
        from math import pi, hypot
    assert type(pi) is not float and type(json) is not type(late)
    assert hypot(3, 4) == 5 and names.Mapping  # one that is met all the same
late.load()
import math
assert pi == math.pi and hypot is math.hypot and json.dumps([]) == "[]"
with late.imports():
    from math import tau
assert tau == math.tau
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
