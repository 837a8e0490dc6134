"""Lays out the sources of the documentation site: `stage.py FOLDER`.

The pages of `docs/` are written to be read as they are, in the repository. The site is made from copies of
them: the list in `docs/README.md` becomes the tree of contents, a link to a folder leads to a page that
lists it, a link out of `docs/` becomes plain text. The reference of the command line is made from the
commands themselves, that of the Python interface from its docstrings, that of the regions from the header,
the status from the inventory of the tests and the results of the papers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import findings
import status

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "checks"))
import inventory  # noqa: E402 - the reader of the inventory lies beside its checks

DOCS = ROOT / "docs"
STATUS = "status/index"
FOLDERS = {"formats": "File formats", "decisions": "Decisions"}
"""Folders that `docs/README.md` names as a whole."""

_SECTION = re.compile(r"^\*\*(.+)\*\*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+?)(#[^)]*)?\)")


def main(target: Path) -> None:
    """Writes everything that the site is built from below ``target``, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns("*.ipynb", "schemas", "data"))
    for page in target.rglob("*.md"):
        page.write_text(_inside(page, target), encoding="utf-8")
    for folder, title in FOLDERS.items():
        _list_of(target / folder, title)
    (target / "README.md").unlink()
    (target / "index.md").write_text(_index(), encoding="utf-8")
    _reference(target / "reference")
    rows = inventory.load(ROOT / "tests" / "inventory.csv")
    status.write(target / "status", rows, findings.parsed(findings.FILE.read_text(encoding="utf-8")))


# --- the pages as they are --------------------------------------------------------------------------------


def _inside(page: Path, target: Path) -> str:
    """The page's text with its links as the site has them."""

    def link(found: re.Match[str]) -> str:
        path, part = found.group(1), found.group(2) or ""
        if "://" in path:
            return found.group(0)
        there = (page.parent / path).resolve()
        if not there.is_relative_to(target.resolve()) or not there.exists():  # or not copied
            return "]{.source}"
        if there.is_dir():
            return f"]({path.rstrip('/')}/index.md{part})"
        if there == target.resolve() / "README.md":
            return f"]({path.removesuffix('README.md')}index.md{part})"
        return found.group(0)

    return _LINK.sub(link, page.read_text(encoding="utf-8")).replace("```csv", "```text")


def _list_of(folder: Path, title: str) -> None:
    pages = sorted(path.stem for path in folder.glob("*.md") if path.stem != "index")
    (folder / "index.md").write_text(f"# {title}\n\n{_tree(pages)}", encoding="utf-8")


def _tree(pages: list[str], caption: str = "", *, hidden: bool = False, depth: int = 1) -> str:
    """A tree of contents."""
    lines = ["```{toctree}", f":maxdepth: {depth}"]
    if caption:
        lines.append(f":caption: {caption}")
    if hidden:
        lines.append(":hidden:")
    return "\n".join([*lines, "", *pages, "```", ""])


def _index() -> str:
    """The list of the documentation, followed by the same list as a tree."""
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    text = _LINK.sub(
        lambda found: f"]({found.group(1)}/index.md)" if found.group(1) in FOLDERS else found.group(0), text
    )
    parts = _SECTION.split(text)
    sections = list(zip(parts[1::2], parts[2::2], strict=True))
    trees = [
        _tree([path.removesuffix(".md") for path, _ in _LINK.findall(body)], title, hidden=True)
        for title, body in sections
    ]
    made = ["reference/cli", "reference/python", "reference/regions"]
    names = zip(("the command line", "Python", "regions"), made, strict=True)
    listed = f"- {', '.join(f'[{name}]({page}.md)' for name, page in names)}: made from the code\n"
    listed += f"- [status]({STATUS}.md): what is demanded and shown, and what became of the papers' claims\n"
    title = parts[0].strip().replace("# Documentation", "# corewise", 1)
    body = "\n".join(f"**{name}**\n{text}" for name, text in sections)
    return "\n".join(
        [title, "", body.rstrip(), listed, *trees, _tree([*made, STATUS], "Made from the code", hidden=True)]
    )


# --- made from the code -----------------------------------------------------------------------------------


def _reference(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    names = []
    for section, command in _commands():
        name = command.name
        names.append(f"cli/{name}")
        path = folder / "cli" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(_command(f"corewise {name}", command, "#", section)), encoding="utf-8")
    (folder / "cli.md").write_text(f"# The command line\n\n{_tree(names)}", encoding="utf-8")
    (folder / "python.md").write_text(_python(), encoding="utf-8")
    header = (ROOT / "python" / "corewise" / "include" / "corewise.h").read_text(encoding="utf-8")
    opening = header[: header.index("*/")].lstrip("/* ").replace("\n * ", "\n")
    (folder / "regions.md").write_text(
        f"# Regions of a program, from C and C++\n\n```text\n{opening.rstrip()}\n```\n", encoding="utf-8"
    )


def _commands() -> Iterator[tuple[str, Any]]:
    from corewise.cli import commands

    everything = commands.Commands(name="corewise")
    for section, listed in commands.SECTIONS.items():
        for each in listed:
            yield section, everything.commands[each.name]


def _command(title: str, command: Any, level: str, section: str = "") -> Iterator[str]:
    """A command's page, and behind it those of a group's commands."""
    yield f"{level} {title}\n"
    yield from _help(command.help or "")
    yield from _options(command)
    if section:
        yield f"In the section *{section}* of `corewise --help`.\n"
    for name, each in sorted(getattr(command, "commands", {}).items()):
        yield from _command(f"{title} {name}", each, f"{level}#")


def _help(text: str) -> Iterator[str]:
    """A help's paragraphs; what is indented is a block of commands, its title the line before."""
    for paragraph in text.replace("\b\n", "").split("\n\n"):
        lines = paragraph.splitlines()
        indented = [line.startswith("  ") for line in lines]
        if any(indented):
            first = indented.index(True)
            yield " ".join(lines[:first]) + "\n"
            yield "\n".join(["```text", *(line.removeprefix("  ") for line in lines[first:]), "```", ""])
        else:
            yield paragraph + "\n"


def _options(command: Any) -> Iterator[str]:
    """What `--help` says of each argument and option, as a table."""
    context = command.context_class(command)
    rows = [found for each in command.params if (found := each.get_help_record(context))]
    if rows:
        lines = (f"| `{_bars(name)}` | {_cell(text)} |" for name, text in rows)
        yield "\n".join(["| | |", "|---|---|", *lines, ""])


def _bars(text: str) -> str:
    return text.replace("|", r"\|")


def _cell(text: str) -> str:
    return _bars(" ".join(text.split())).replace("<", r"\<").replace("*", r"\*")


def _python() -> str:
    import corewise

    lines = [
        "# Python",
        "",
        (corewise.__doc__ or "").replace("SPDX-License-Identifier: BSD-3-Clause", ""),
        "",
    ]
    for name in corewise.__all__:
        thing = getattr(corewise, name)
        if isinstance(thing, type):
            lines += [f"```{{autoclass}} corewise.{name}", ":members:", "```", ""]
        elif callable(thing):
            lines += [f"```{{autofunction}} corewise.{name}", "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
