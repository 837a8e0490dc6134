"""Read the JUnit files of every test runner into one list of outcomes.

Owns the mapping from a runner's names to the names that the inventory uses: a pytest node id, or
``cpp:ROOM/Suite.Case`` for a GoogleTest case and ``cpp:ROOM`` for a whole test program as ctest ran it.
GoogleTest's own files are preferred over ctest's, which counts a whole program as one test; a program that
failed without a failing case (a crash, a sanitizer report) is kept, so nothing red gets lost.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """What one test case did, in one run."""

    test: str
    state: State
    reason: str
    source: Path

    @property
    def is_program(self) -> bool:
        """Whether this is a whole C++ test program rather than one of its cases."""
        return self.test.startswith("cpp:") and "/" not in self.test


def junit_files(paths: Iterable[Path]) -> list[Path]:
    """Expand folders to the XML files below them, sorted."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    return files


def read_outcomes(paths: Iterable[Path]) -> list[Outcome]:
    """Read every JUnit file in `paths` (files or folders).

    Raises
    ------
    ValueError
        If a file cannot be read or is no JUnit file; the message names it.
    """
    outcomes: list[Outcome] = []
    for path in junit_files(paths):
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            raise ValueError(f"{path}: not a JUnit file: {error}") from error
        outcomes += [_outcome(path, case) for case in root.iter("testcase")]
    return outcomes


def counted(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return what counts as one test each.

    A program counts only where its cases do not tell the same. A skip does not count where the same test ran
    later, when what it lacked had been installed.
    """
    everything = list(outcomes)
    cases = _without_answered_skips([outcome for outcome in everything if not outcome.is_program])
    told: dict[tuple[Path, str], set[State]] = {}
    for case in cases:
        if case.test.startswith("cpp:"):
            told.setdefault((_run_of(case), case.test.split("/")[0]), set()).add(case.state)
    programs = [
        outcome
        for outcome in everything
        if outcome.is_program and not _is_told(outcome, told.get((_run_of(outcome), outcome.test), set()))
    ]
    return cases + programs


def _without_answered_skips(cases: list[Outcome]) -> list[Outcome]:
    """Leave one outcome of each skipped pytest test, and none where it ran as well."""
    answered = {case.test for case in cases if case.state != "skipped"}
    kept: list[Outcome] = []
    for case in cases:
        if case.state == "skipped" and case.test.startswith("tests/"):
            if case.test in answered:
                continue
            answered.add(case.test)
        kept.append(case)
    return kept


def _is_told(program: Outcome, cases: set[State]) -> bool:
    return "failed" in cases if program.state == "failed" else bool(cases)


def _run_of(outcome: Outcome) -> Path:
    """Name the run that an outcome belongs to: ctest's file lies beside the folder of its programs' files."""
    parent = outcome.source.parent
    return parent if outcome.is_program else parent.parent


def _outcome(path: Path, case: ElementTree.Element) -> Outcome:
    state, reason = _state(case)
    return Outcome(test=_test_name(path, case), state=state, reason=reason, source=path)


def _test_name(path: Path, case: ElementTree.Element) -> str:
    name, group = case.get("name", ""), case.get("classname", "")
    if path.name == "ctest.xml":
        return f"cpp:{name}"
    if path.name.startswith("test_"):
        return f"cpp:{path.stem.removeprefix('test_')}/{group}.{name}"
    return _node_id(group, name)


def _node_id(group: str, name: str) -> str:
    """Turn pytest's dotted class name back into a node id: module parts are lower case, classes are not."""
    if not group:  # a module that could not be collected: pytest gives its dotted name alone
        return name.replace(".", "/") + ".py"
    parts = group.split(".")
    classes = [part for part in parts if part[:1].isupper()]
    module = "/".join(part for part in parts if not part[:1].isupper())
    return "::".join([f"{module}.py", *classes, name])


def _state(case: ElementTree.Element) -> tuple[State, str]:
    for child in case:
        if child.tag in ("failure", "error"):
            return "failed", _reason(child)
    skipped = case.find("skipped")
    if skipped is not None:
        return "skipped", _reason(skipped)
    if case.get("status") in ("notrun", "disabled"):
        return "skipped", "disabled"
    return "passed", ""


def _reason(element: ElementTree.Element) -> str:
    """Return the first line that tells something: GoogleTest's first line is the place in the source."""
    lines = (element.get("message") or (element.text or "").strip()).splitlines()
    if len(lines) > 1 and re.fullmatch(r"\S+:\d+", lines[0]):
        return lines[1]
    return lines[0] if lines else ""
