"""Where this repository is, and results of tests as its runners write them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def junit(folder: Path, body: str, name: str = "pytest-python.xml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<testsuites><testsuite>{body}</testsuite></testsuites>", encoding="utf-8")
    return path


def case(state: str = "", name: str = "test_it", group: str = "tests.python.test_thing") -> str:
    return f'<testcase classname="{group}" name="{name}">{state}</testcase>'


FAILURE = '<failure message="no"/>'
SKIPPED = '<skipped message="capability: none here"/>'
