"""Validate tests/inventory.csv and hold its rows against the results of a test run.

The inventory has a row for every item that the issues, the papers and the roadmap name. ``what`` states the
demand in our own words; paper numbers are those of the issues (000 affinity, 001 collectives, 002 mapping,
003 profiling, 004 node). State "here" means that ``command`` shows it and ``test`` holds it; "later" names
the issue (or roadmap item) that owes it. A test is a pytest node id, or cpp:ROOM, or cpp:ROOM/Suite.Case.

Owns the schema of the inventory. Without ``--junit`` the rows are checked and that the sources have their
tests; with it, a must row in state "here" fails unless it has a command and its test passed in the given
files. A test that was skipped has not passed. Prints counts per state and level.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from results import Outcome, State, read_outcomes

ROOT = Path(__file__).resolve().parents[2]
FIELDS = ("id", "level", "state", "issue", "real_mpi", "what", "where", "command", "test")
ALLOWED = {"level": ("must", "aim"), "state": ("here", "later"), "real_mpi": ("true", "false")}
_SLUG = re.compile(r"^[a-z0-9][a-z0-9.-]*$")
_TEST = re.compile(r"^(?:cpp:\w+(?:/\w+\.\w+)?|tests/[\w/]+\.py(?:::\w+)+)$")
_ISSUE = re.compile(r"^(?:[1-9][0-9]*|roadmap [1-9][0-9]*)$")

Row = Mapping[str, str]


def load(path: Path) -> list[Row]:
    """Read the rows of an inventory file.

    Raises
    ------
    ValueError
        If the file is missing, has another header than `FIELDS`, or a row with more or fewer fields.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from error
    header = tuple(lines[0]) if lines else ()
    if header != FIELDS:
        raise ValueError(f"{path}: the header is {','.join(header)!r}, must be {','.join(FIELDS)!r}")
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(FIELDS):
            raise ValueError(f"{path}: row {number} has {len(line)} fields, must have {len(FIELDS)}")
    return [dict(zip(FIELDS, line, strict=True)) for line in lines[1:]]


def check_rows(rows: Iterable[Row]) -> list[str]:
    """Return one message per mistake in the rows themselves."""
    messages: list[str] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        name = row["id"] or f"row {number}"
        messages += [f"{name}: {message}" for message in _check_row(row)]
        if name in seen:
            messages.append(f"{name}: this id is taken by an earlier row")
        seen.add(name)
    return messages


def _check_row(row: Row) -> Iterator[str]:
    if not _SLUG.match(row["id"]):
        yield f"id is {row['id']!r}, must be a slug of lower-case letters, digits, '-' and '.'"
    for field in ("what", "where"):
        if not row[field]:
            yield f"field '{field}' is empty"
    for field, allowed in ALLOWED.items():
        if row[field] not in allowed:
            yield f"{field} is {row[field]!r}; allowed: {', '.join(allowed)}"
    if row["test"] and not _TEST.match(row["test"]):
        yield f"test is {row['test']!r}; allowed: tests/FILE.py::NAME, cpp:ROOM, cpp:ROOM/Suite.Case"
    if row["issue"] and not _ISSUE.match(row["issue"]):
        yield f'issue is {row["issue"]!r}; allowed: a number, or "roadmap N"'
    if row["state"] == "later" and not row["issue"]:
        yield "a later row names its issue"
    if _is_owed(row):
        yield from (f"has no {field} that shows it" for field in ("command", "test") if not row[field])


def check_sources(rows: Iterable[Row]) -> list[str]:
    """Return one message per test that the sources do not have; its results would tell it an hour later."""
    return [
        f"{row['id']}: no source has its test: {row['test']}" for row in rows if not _has_source(row["test"])
    ]


def _has_source(test: str) -> bool:
    if test.startswith("cpp:"):
        room, _, case = test.removeprefix("cpp:").partition("/")
        paths = sorted((ROOT / "tests" / "cpp" / room).rglob("*.cpp"))
        patterns = [r"TEST(?:_F|_P)?\(" + case.replace(".", r",\s*") + r"\)"] if case else [r"\bTEST"]
    else:
        path, *names = test.split("::")
        paths = [ROOT / path] if path.endswith(".py") and (ROOT / path).is_file() else []
        patterns = [rf"\b(?:def|class) {name}\b" for name in names]
    return not test or all(any(re.search(pattern, _text(path)) for path in paths) for pattern in patterns)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _is_owed(row: Row) -> bool:
    return row["level"] == "must" and row["state"] == "here"


def check_results(rows: Iterable[Row], outcomes: Iterable[Outcome]) -> list[str]:
    """Return one message per must row in state "here" that is not shown and held."""
    states = _states_by_test(outcomes)
    return [f"{row['id']}: {message}" for row in rows if _is_owed(row) for message in _unmet(row, states)]


def _unmet(row: Row, states: Mapping[str, set[State]]) -> Iterator[str]:
    found = states.get(row["test"], set())
    if not found:
        yield f"its test did not run: {row['test']}"
    elif "failed" in found:
        yield f"its test failed: {row['test']}"
    elif "passed" not in found:
        yield f"its test was skipped: {row['test']}"


def _states_by_test(outcomes: Iterable[Outcome]) -> dict[str, set[State]]:
    """Collect states under a test's own name and, for one case of many, under the name of the whole."""
    states: dict[str, set[State]] = {}
    for outcome in outcomes:
        names = {outcome.test, outcome.test.split("[", 1)[0]}
        if outcome.test.startswith("cpp:"):
            names |= {outcome.test.split("/", 1)[0], _without_parameters(outcome.test)}
        for name in names:
            states.setdefault(name, set()).add(outcome.state)
    return states


def _without_parameters(test: str) -> str:
    """``cpp:room/Prefix/Suite.Case/3``, a case of a value-parameterised test, as ``cpp:room/Suite.Case``."""
    room, _, case = test.partition("/")
    suite, _, name = case.partition(".")
    return f"{room}/{suite.split('/')[-1]}.{name.split('/')[0]}"


def counts(rows: Iterable[Row]) -> str:
    """Describe how many rows there are per state and level."""
    table = Counter((row["state"], row["level"]) for row in rows)
    parts = [f"{state}: {table[state, 'must']} must, {table[state, 'aim']} aim" for state in ALLOWED["state"]]
    return f"inventory: {table.total()} rows; " + "; ".join(parts)


def owed(rows: Iterable[Row]) -> list[str]:
    """Return one line per must row that lacks a command or a test."""
    lacks = {row["id"]: [field for field in ("command", "test") if not row[field]] for row in rows}
    return [
        f"{row['id']} (issue {row['issue']}): no {' and no '.join(lacks[row['id']])}: {row['what']}"
        for row in rows
        if row["level"] == "must" and lacks[row["id"]]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Check the inventory; exit status 1: a row is wrong or unmet, 2: a file cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inventory", type=Path, default=ROOT / "tests" / "inventory.csv")
    parser.add_argument("--owed", action="store_true", help="list the must rows without a command or a test")
    parser.add_argument("--junit", type=Path, nargs="+", default=None, help="JUnit files, or folders of them")
    options = parser.parse_args(arguments)
    try:
        rows = load(options.inventory)
        messages = check_rows(rows)
        if not messages and options.junit is None:
            messages = check_sources(rows)
        elif not messages:
            messages = check_results(rows, read_outcomes(options.junit))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    for message in messages:
        print(f"{options.inventory}: {message}")
    if not messages and options.owed:
        for line in owed(rows):
            print(line)
    if not messages:
        print(counts(rows))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
