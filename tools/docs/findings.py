"""What became of the papers' claims, as rows for the documentation: `findings.py RESULT.json DATE COMMAND`.

RESULT.json is what COMMAND (`corewise paper all --json`) printed on DATE (YYYY-MM-DD); the rows go to
``docs/data/findings.csv``. Owns that file's columns. A row without a verdict claims nothing and is left out.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corewise.analysis.result import Row, error_text
from corewise.data.quantities import number_text

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "data" / "findings.csv"
COLUMNS = ("study", "id", "claim", "source", "published", "ours", "error", "verdict", "why")
VERDICTS = ("holds", "refuted", "fails")
_HEAD = ("version", "commit", "date", "command")


@dataclass(frozen=True)
class Findings:
    """The rows and where they come from.

    Attributes
    ----------
    version, commit, date, command : str
        Of the run.
    rows : tuple of mapping
        By `COLUMNS`.
    """

    version: str
    commit: str
    date: str
    command: str
    rows: tuple[Mapping[str, str], ...]


def from_result(document: Mapping[str, Any], date: str, command: str) -> Findings:
    """The findings of a result of `corewise paper all --json`."""
    rows = tuple(_cells(Row(**each)) for each in document["rows"] if Row(**each).verdict)
    return Findings(document["version"], document["commit"], date, command, rows)


def _cells(row: Row) -> dict[str, str]:
    study, _, name = row.id.partition("/")
    ours = f"{number_text(row.ours)} {row.unit}".strip() if row.ours is not None else ""
    texts = (study, name, row.what, row.source, number_text(row.published), ours, error_text(row.error))
    return dict(zip(COLUMNS, (*texts, row.verdict or "", row.refuted or ""), strict=True))


def text_of(findings: Findings) -> str:
    """The file's text."""
    out = io.StringIO()
    for name in _HEAD:
        out.write(f"# {name} = {getattr(findings, name)}\n")
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(findings.rows)
    return out.getvalue()


def parsed(text: str) -> Findings:
    """What `text_of` was given.

    Raises
    ------
    ValueError
        The text is none of it.
    """
    head = dict(re.findall(r"^# (\w+) = (.*)$", text, re.MULTILINE))
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    reader = csv.DictReader(lines, strict=True)
    rows = tuple(reader)
    if tuple(reader.fieldnames or ()) != COLUMNS or set(_HEAD) - head.keys():
        raise ValueError(f"findings: must begin with {', '.join(_HEAD)}, and have the columns {COLUMNS}")
    wrong = [row["id"] for row in rows if row["verdict"] not in VERDICTS]
    if wrong:
        raise ValueError(f"findings: verdicts are {', '.join(VERDICTS)}, not those of {wrong}")
    return Findings(head["version"], head["commit"], head["date"], head["command"], rows)


def main(result: str, date: str, command: str) -> None:
    """Writes the file."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise SystemExit(f"date: found {date!r}, allowed: YYYY-MM-DD")
    document = json.loads(Path(result).read_text(encoding="utf-8"))
    FILE.write_text(text_of(from_result(document, date, command)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4])
