"""The documents name what exists, lead somewhere, and are all in their list.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from this_repository import ROOT

import folders as check_folders


def maps() -> list[Path]:
    """The pages that say where things are."""
    pages = [
        ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "tests/mpi/README.md")
    ]
    return [*pages, *sorted((ROOT / "src").glob("*/README.md"))]


@pytest.mark.parametrize("page", maps(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_map_names_only_what_exists(page: Path) -> None:
    """A name with a slash in backquotes is a path or the end of one, its suffix may be left out."""
    text = page.read_text(encoding="utf-8")
    there = "".join(f"/{path}\n" for root in check_folders.ROOTS for path in (ROOT / root).rglob("*"))
    named = re.findall(r"`((?!build/)[a-z0-9_][a-z0-9_./-]*/[a-z0-9_./-]*)`", text)
    assert [name for name in named if not re.search(rf"/{name.strip('/')}(?=[/.\n])", there)] == []


def test_links_of_the_documents_lead_somewhere() -> None:
    pages = [*maps(), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([\w-]*[./][\w./-]*)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_every_page_of_the_documents_is_in_their_list() -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*/*.md")}
    by_folder = ("decisions/", "formats/")
    assert [
        page for page in sorted(pages) if not page.startswith(by_folder) and f"({page})" not in listed
    ] == []


def test_documents_exist() -> None:
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "README.md"):
        assert (ROOT / name).is_file(), name
    assert "BSD 3-Clause" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_packing_stays_small() -> None:
    """By the command of its page; decision 0010 says what went to get there."""
    page = (ROOT / "docs" / "packing" / "packing.md").read_text(encoding="utf-8")
    command = page.split("## How much of corewise this is")[1].split("`")[1].replace("\n", " ")
    counted = subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, capture_output=True, text=True)
    assert 10_000 < int(counted.stdout) <= 14_000
