"""The installed ``corewise``, run as a user runs it: in a process of its own.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COREWISE = Path(sys.executable).with_name("corewise")


def corewise(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    before: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """The tool, run to its end; by the command `before`, where there is one."""
    command = [*before, str(COREWISE), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=900, env=env, cwd=cwd
    )  # fmt: skip


def document(*arguments: object) -> dict[str, Any]:
    """The JSON object of a command that succeeds."""
    done = corewise(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def assert_one_line_error(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """The user's input is wrong, and one line says so in these words."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("corewise: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert [word for word in words if word not in done.stderr] == [], done.stderr
