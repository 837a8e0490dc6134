"""The page `docs/comparison.md`, made from rows: `comparison.py [add RESULT.json DATE COMMAND]`.

Without arguments the page is written anew from ``docs/data/features.csv`` (what each side has) and
``docs/data/measured.csv`` (ratios of benchmarks, each with its command, processor and date). With `add` the
compared rows of a benchmark's ``--json`` join the second file; what the same command gave on the same
processor before goes. Nobody edits the page; a test holds it against the rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
import math
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from corewise.data.quantities import number_text, time_text

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "comparison.md"
FEATURES = ROOT / "docs" / "data" / "features.csv"
MEASURED = ROOT / "docs" / "data" / "measured.csv"
FEATURE_COLUMNS = ("topic", "rival", "better", "what", "corewise", "others", "command")
MEASURED_COLUMNS = (
    "question", "id", "what", "unit", "ours", "rival", "theirs", "ratio", "spread", "n",
    "processor", "version", "date", "command",
)  # fmt: skip
TOPICS = {
    "Recording": ("profiler",),
    "Placement": ("mapping",),
    "Simulation": ("sim", "simmpi"),
    "Messages": ("collectives", "pack", "port"),
    "The node": ("fft", "node", "copy"),
}
"""Headings, and the benchmarks below each."""
RIVALS = (
    "mpiP", "EZTrace", "Score-P", "Extrae", "IPM", "TALP", "TreeMatch", "Scotch", "SharedMap", "SimGrid",
    "Dimemas", "Open MPI", "MPICH", "FFTW MPI",
)  # fmt: skip
"""Who must be on the page."""
SINGLE = 3
"""Up to so many rows of one comparison are shown one by one."""
BETTER = ("ours", "theirs", "both")
Row = Mapping[str, str]


def load(path: Path, columns: Sequence[str]) -> list[Row]:
    """The rows of a file.

    Raises
    ------
    ValueError
        It has other columns, or a row of another length.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, strict=True))
    if not lines or tuple(lines[0]) != tuple(columns):
        raise ValueError(f"{path}: the columns must be {','.join(columns)}")
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(columns):
            raise ValueError(f"{path}: row {number} has {len(line)} fields, must have {len(columns)}")
    return [dict(zip(columns, line, strict=True)) for line in lines[1:]]


def mistakes(features: Sequence[Row], measured: Sequence[Row]) -> Iterator[str]:
    """What is wrong with the rows."""
    for row in features:
        if row["topic"] not in TOPICS or row["better"] not in BETTER or not row["what"]:
            yield f"features: {row['what']!r}: topic of {', '.join(TOPICS)}, better of {', '.join(BETTER)}"
    known = {question for questions in TOPICS.values() for question in questions}
    for row in measured:
        empty = [name for name in ("rival", "ratio", "processor", "date", "command") if not row[name]]
        if empty:
            yield f"measured: {row['id']}: no {', '.join(empty)}"
        elif row["question"] not in known or not re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]):
            yield f"measured: {row['id']}: question of {', '.join(sorted(known))}, date YYYY-MM-DD"
    there = " ".join(row["rival"] for row in [*features, *measured])
    yield from (f"no row is about {rival}" for rival in RIVALS if rival not in there)


# ---- rows of a benchmark ---------------------------------------------------------------------------------


def rows_of(document: Mapping[str, object], date: str, command: str) -> list[Row]:
    """The compared rows of what a benchmark's ``--json`` printed."""
    question = str(document["name"]).removeprefix("bench ")
    found: list[Row] = []
    rows = document["rows"]
    assert isinstance(rows, list)
    for row in rows:
        if row.get("rival") is None or row.get("ratio") is None:
            continue
        numbers = {name: _number(row.get(name)) for name in ("ours", "theirs", "ratio", "spread")}
        texts = {name: str(row.get(name) or "") for name in ("id", "what", "unit", "rival", "n")}
        rival = f"{texts['rival']} ({row['mpi']})" if row.get("mpi") else texts["rival"]
        found.append(
            {
                **texts,
                **numbers,
                "question": question,
                "rival": rival,
                "processor": str(row.get("processor") or document["machine"]),
                "version": f"{document['version']} {str(document.get('commit', ''))[:7]}".strip(),
                "date": date,
                "command": command,
            }
        )
    return found


def _number(value: object) -> str:
    return number_text(value, 4) if isinstance(value, (int, float)) else ""


def added(rows: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """The rows with new ones in the place of what the same command gave on the same processor."""
    again = {(row["command"], row["processor"]) for row in new}
    return [row for row in rows if (row["command"], row["processor"]) not in again] + list(new)


# ---- the page --------------------------------------------------------------------------------------------


def page(features: Sequence[Row], measured: Sequence[Row]) -> str:
    """The page's text."""
    return "\n".join(_page(features, measured))


def _page(features: Sequence[Row], measured: Sequence[Row]) -> Iterator[str]:
    yield "# corewise beside what people use now\n"
    yield (
        "What others do better stands first. A ratio is taken within rounds in which both took turns; above\n"
        "1 corewise is better. Each comes with its command, processor and date; where the processor was not\n"
        "noted, it was two virtual cores, some of them under load. Measure yours before you rely on one.\n"
    )
    yield "This page is made from `docs/data/features.csv` and `docs/data/measured.csv`.\n"
    yield "## Where others are the better choice\n"
    for row in features:
        if row["better"] == "theirs":
            yield _loss(row)
    losing = [[row] for row in measured if float(row["ratio"]) < 1]
    if losing:
        yield "\nRows of benchmarks in which a rival is better:\n"
        yield from _measured(losing)
    for topic, questions in TOPICS.items():
        chosen = [row for row in features if row["topic"] == topic and row["better"] != "theirs"]
        groups = [group for group in _groups(measured) if group[0]["question"] in questions]
        yield f"\n## {topic}\n"
        if chosen:
            yield "| | corewise | others |\n|---|---|---|"
            for row in chosen:
                own = f"{row['corewise']}{_by(row['command'])}"
                yield f"| {row['what']} | {own} | {row['rival']}: {row['others']} |"
            yield ""
        yield from _measured(groups)


def _loss(row: Row) -> str:
    """What a rival does better; without a rival, what corewise lacks."""
    if not row["rival"]:
        return f"- **{row['what']}**: {row['corewise']}{_by(row['command'])}."
    own = (
        row["corewise"][:1].upper() + row["corewise"][1:]
        if row["corewise"][:8] != "corewise"
        else row["corewise"]
    )
    return f"- **{row['rival']}**, {row['what']}: {row['others']}. {own}{_by(row['command'])}."


def _by(command: str) -> str:
    return f" (`{command}`)" if command else ""


def _groups(measured: Sequence[Row]) -> list[list[Row]]:
    """Rows of one comparison: the same command, rival, processor and date."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in measured:
        key = tuple(row[name] for name in ("question", "command", "rival", "processor", "date"))
        found.setdefault(key, []).append(row)
    return list(found.values())


def _ratios(group: Sequence[Row]) -> list[float]:
    return [float(row["ratio"]) for row in group]


def _measured(groups: Sequence[Sequence[Row]]) -> Iterator[str]:
    if not groups:
        return
    yield "| compared | rival | ratio | command | processor, date |\n|---|---|---|---|---|"
    for group in groups:
        first = group[0]
        origin = f"`{first['command']}` | {first['processor']}, {first['date']} |"
        if len(group) <= SINGLE:
            for row in group:
                yield f"| {_compared(row)} | {row['rival']} | {float(row['ratio']):.2f} | {origin}"
            continue
        ratios = _ratios(group)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        least = min(group, key=lambda row: float(row["ratio"]))
        text = f"{mean:.2f}, from {min(ratios):.2f} ({least['what']}) to {max(ratios):.2f}"
        yield f"| geometric mean of {len(group)} rows | {first['rival']} | {text} | {origin}"
    yield ""


def _compared(row: Row) -> str:
    if not (row["ours"] and row["theirs"]):
        return row["what"]
    if row["unit"] == "ns":
        ours, theirs = (time_text(float(row[name]), 4) for name in ("ours", "theirs"))
        return f"{row['what']}: {ours} against {theirs}"
    return f"{row['what']}: {row['ours']} against {row['theirs']} {row['unit']}".rstrip()


def main(arguments: Sequence[str]) -> None:
    """Writes the page, or adds rows and then writes it."""
    measured = load(MEASURED, MEASURED_COLUMNS)
    if arguments[:1] == ["add"]:
        result, date, command = arguments[1:4]
        new = rows_of(json.loads(Path(result).read_text(encoding="utf-8")), date, command)
        measured = added(measured, new)
        with MEASURED.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, MEASURED_COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(measured)
    features = load(FEATURES, FEATURE_COLUMNS)
    wrong = list(mistakes(features, measured))
    if wrong:
        raise SystemExit("\n".join(wrong))
    PAGE.write_text(page(features, measured), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
