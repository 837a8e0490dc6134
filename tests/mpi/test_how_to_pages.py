"""A stranger's reading: each how-to page is followed word for word, by somebody who has only what it says.

The stranger stands in an empty folder with an empty home and no variables of ours. Files that the page
prints are saved, its commands are typed one after another, and what they print is compared, numbers masked
where they are measured. What corewise once built for an MPI is not built again. Pages that record a program
are long tests.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys
from pathlib import Path

import commands
import pytest
from conftest import ROOT

pytestmark = pytest.mark.first_test

HOW_TO = ROOT / "docs" / "how-to"
QUESTIONS = {
    "slower-on-all-cores.md": "My job is slower on all cores than on half",
    "which-algorithm.md": "Which algorithm did my allreduce use?",
    "hangs.md": "My program hangs",
    "only-a-description.md": "I only have a description of the machine",
    "trust.md": "Can I trust this prediction?",
}
RECORDING = {"slower-on-all-cores.md", "which-algorithm.md", "hangs.md"}


def stand(text: str, folder: Path) -> dict[str, str]:
    """The stranger's variables, in a folder that has what the page tells to have and nothing else."""
    home = folder / "home"
    home.mkdir()
    path = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin"))
    if "`make apps`" in text:
        (folder / "build").mkdir()
        (folder / "build" / "apps").symlink_to(ROOT / "build" / "apps")
    if "mpicc" in text:
        path = f"{ROOT / 'build' / 'mpi' / 'openmpi' / 'bin'}{os.pathsep}{path}"
    for name, content in commands.saved(text).items():
        (folder / name).write_text(content, encoding="utf-8")
    built = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "XDG_CACHE_HOME": built}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long_test] * (name in RECORDING)) for name in QUESTIONS],
)
def test_a_stranger_follows_a_page(name: str, tmp_path: Path) -> None:
    text = (HOW_TO / name).read_text(encoding="utf-8")
    shown = commands.shown(text)
    assert shown
    for each, printed in commands.run(
        shown, tmp_path, str(Path(sys.executable).parent), stand(text, tmp_path)
    ):
        assert commands.missing(each, printed) == [], f"$ {each.command}\n{printed}"


def test_the_pages_are_headed_by_the_users_words_and_listed() -> None:
    assert {page.name for page in HOW_TO.glob("*.md")} == set(QUESTIONS)
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for name, question in QUESTIONS.items():
        assert (HOW_TO / name).read_text(encoding="utf-8").splitlines()[0] == f'# "{question}"'
        assert f"(how-to/{name})" in listed


def test_a_stranger_saves_the_files_that_a_page_prints() -> None:
    text = "First save this as `a.c`:\n\n```c\nint a;\n```\n\n```console\n$ cat a.c\nint a;\n```\n"
    assert commands.saved(text) == {"a.c": "int a;\n"}


def test_pages_that_record_are_the_long_ones() -> None:
    for name in QUESTIONS:
        shown = commands.shown((HOW_TO / name).read_text(encoding="utf-8"))
        records = any(each.command.startswith("corewise run") for each in shown)
        assert records == (name in RECORDING), name
