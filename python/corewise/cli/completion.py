"""`corewise completion`: the script by which a shell completes commands and options.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import sys

import typer

from corewise.cli import console
from corewise.errors import InputError, RunError

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_COREWISE_COMPLETE"

_HELP = """Print the script by which a shell completes commands and options.

\b
Example:
  eval "$(corewise completion bash)"
  corewise completion fish > ~/.config/fish/completions/corewise.fish
"""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("completion", help=_HELP)(completion)


def completion(
    shell: str = typer.Argument(..., metavar="SHELL", help=", ".join(SHELLS)),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
) -> None:
    """Prints it."""
    if shell not in SHELLS:
        raise InputError(f"shell: found '{shell}', allowed: {', '.join(SHELLS)}")
    script = _script(shell)
    if as_json:
        console.show_json("completion", None, [{"shell": shell, "script": script}])
    else:
        console.show_text(script)


def _script(shell: str) -> str:
    """As the command-line library writes it, which answers to this variable before a program runs."""
    command = [sys.executable, "-c", "from corewise.cli.main import main; main()"]
    variables = {**os.environ, _VARIABLE: f"source_{shell}"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if _VARIABLE not in done.stdout:
        raise RunError(f"completion: no script for {shell}: {done.stderr.strip() or 'no answer'}")
    return done.stdout
