"""The pages `status/` of the documentation: what is demanded and shown, and what became of claims.

Made from ``tests/inventory.csv`` and ``docs/data/findings.csv`` by `stage.py`; nobody edits them. A page
per issue and per paper lists every must row with its command and its test; a row that is still owed says
so.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import findings as what_was_found

PAPERS = {
    "000": "assignment of threads to SPEs",
    "001": "collectives inside a Cell",
    "002": "mapping of a ring of tasks",
    "003": "what recording costs",
    "004": "non-contiguous data",
}
Row = Mapping[str, str]


def write(folder: Path, rows: Sequence[Row], findings: what_was_found.Findings) -> None:
    """Writes all pages.

    Parameters
    ----------
    folder : Path
    rows : sequence of mapping
        Of the inventory.
    findings : Findings
    """
    folder.mkdir(parents=True, exist_ok=True)
    groups = {f"issue-{name.replace(' ', '-')}": _of_issue(rows, name) for name in _issues(rows)}
    papers = {f"paper-{number}": _of_paper(rows, number) for number in PAPERS}
    for name, (title, chosen) in {**groups, **papers}.items():
        (folder / f"{name}.md").write_text("\n".join(_page(title, chosen)), encoding="utf-8")
    (folder / "findings.md").write_text("\n".join(_findings(findings)), encoding="utf-8")
    index = _index(rows, findings, groups, papers)
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")


def _issues(rows: Sequence[Row]) -> list[str]:
    """Issues that rows belong to, by number; the roadmap's items behind them."""

    def order(name: str) -> tuple[bool, int]:
        return name.startswith("roadmap"), int(name.split()[-1])

    return sorted({row["issue"] for row in rows if row["issue"]}, key=order)


def _of_issue(rows: Sequence[Row], name: str) -> tuple[str, list[Row]]:
    title = name.capitalize() if name.startswith("roadmap") else f"Issue {name}"
    return title, [row for row in rows if row["issue"] == name]


def _of_paper(rows: Sequence[Row], number: str) -> tuple[str, list[Row]]:
    named = re.compile(rf"\bpaper {number}\b")
    chosen = [row for row in rows if named.search(row["where"]) or named.search(row["what"])]
    return f"Paper {number}, {PAPERS[number]}", chosen


def _index(
    rows: Sequence[Row],
    findings: what_was_found.Findings,
    groups: Mapping[str, tuple[str, list[Row]]],
    papers: Mapping[str, tuple[str, list[Row]]],
) -> Iterator[str]:
    must = [row for row in rows if row["level"] == "must"]
    here = sum(row["state"] == "here" for row in must)
    yield "# Status\n"
    yield (
        f"{here} of {len(must)} must rows of the inventory are shown by a command and held by a test. "
        f"{_verdicts(findings.rows)} of the papers' claims ([findings](findings.md)).\n"
    )
    yield "These pages are made from `tests/inventory.csv` and `docs/data/findings.csv`.\n"
    for heading, pages in (("By issue", groups), ("By paper", papers)):
        yield f"## {heading}\n"
        lines = [
            (f"[{title}]({name}.md)", *(str(count) for count in _counts(chosen)))
            for name, (title, chosen) in pages.items()
        ]
        yield from _table(("", "must, shown", "must, owed", "aim, shown", "aim, owed"), lines)
    yield from ("```{toctree}", ":hidden:", "", "findings", *groups, *papers, "```", "")


def _counts(rows: Sequence[Row]) -> list[int]:
    found = Counter((row["level"], row["state"]) for row in rows)
    return [found[level, state] for level in ("must", "aim") for state in ("here", "later")]


def _page(title: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"# {title}\n"
    for heading, level, state in (
        ("Must, shown", "must", "here"),
        ("Must, owed", "must", "later"),
        ("Aims", "aim", None),
    ):
        chosen = [row for row in rows if row["level"] == level and state in (row["state"], None)]
        if not chosen:
            continue
        yield f"## {heading}\n"
        yield from _table(
            ("what", "where", "command", "test", "on a real MPI"),
            [
                (
                    _plain(row["what"]) + (" (owed)" if state is None and row["state"] == "later" else ""),
                    _plain(row["where"]),
                    _code(row["command"]),
                    _code(row["test"]),
                    "yes" if row["real_mpi"] == "true" else "",
                )
                for row in chosen
            ],
        )


def _findings(findings: what_was_found.Findings) -> Iterator[str]:
    yield "# Findings\n"
    yield (
        f"What `{findings.command}` found: corewise {findings.version}, commit {findings.commit[:10]}, "
        f"{findings.date}. A published number holds where ours is within 15 % of it. Refuted: the claim "
        "does not hold, and the reason is known.\n"
    )
    studies = list(dict.fromkeys(row["study"] for row in findings.rows))
    yield from _table(
        ("study", *what_was_found.VERDICTS),
        [(name, *_by_verdict(findings.rows, name)) for name in studies],
    )
    for name in studies:
        yield f"## {name}\n"
        yield f"The command is `corewise paper {name}`.\n"
        yield from _table(
            ("claim", "source", "published", "ours", "error", "verdict"),
            [
                (
                    _plain(row["claim"]),
                    _plain(row["source"]),
                    *(_plain(row[field]) for field in ("published", "ours", "error")),
                    f"**{row['verdict']}**" + (f": {_plain(row['why'])}" if row["why"] else ""),
                )
                for row in findings.rows
                if row["study"] == name
            ],
        )


def _by_verdict(rows: Sequence[Row], study: str) -> list[str]:
    found = Counter(row["verdict"] for row in rows if row["study"] == study)
    return [str(found[verdict]) for verdict in what_was_found.VERDICTS]


def _verdicts(rows: Sequence[Row]) -> str:
    """``90 hold, 3 are refuted, 12 fail``."""
    found = Counter(row["verdict"] for row in rows)
    return f"{found['holds']} hold, {found['refuted']} are refuted, {found['fails']} fail"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _plain(text: str) -> str:
    """Text in a cell, in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^&])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """A command or a test in a cell."""
    return f"`{' '.join(text.split())}`".replace("|", r"\|") if text else ""
