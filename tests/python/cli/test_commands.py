"""The table of commands: each is its module's, lines fit, nothing is imported before it is needed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from corewise.cli import main
from corewise.cli.commands import SECTIONS, Command

COMMANDS = [each for section in SECTIONS.values() for each in section]


@pytest.mark.parametrize("each", COMMANDS, ids=lambda each: each.name)
def test_every_module_adds_the_command_of_its_line(each: Command) -> None:
    commands = typer.main.get_command(main.build_app()).commands  # type: ignore[attr-defined]
    assert commands[each.name].name == each.name
    assert len(commands) == len(COMMANDS) == len(set(commands))


def test_help_has_every_command_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main.execute([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for section, commands in SECTIONS.items():
        first = lines.index(f"{section}:") + 1
        shown = [line.split(maxsplit=1) for line in lines[first : first + len(commands)]]
        assert shown == [[each.name, each.summary] for each in commands]


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["nosuch"]])
def test_no_command_is_imported_before_it_is_asked_for(arguments: list[str]) -> None:
    program = (
        "import sys; from corewise.cli.main import execute; execute(sys.argv[1:]);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "corewise.cli.commands" in loaded
    assert not loaded & {
        "numpy",
        "corewise._core",
        "corewise._lab",
        "corewise.cli.run",
        "corewise.cli.place.command",
    }
