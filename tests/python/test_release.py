"""What a release is made of: manual pages, citation, promises, README, the first hour, the line of progress.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import manpages
from corewise.cli.main import build_app

ROOT = Path(__file__).resolve().parents[2]


# --- manual pages -----------------------------------------------------------------------------------------


def test_every_command_has_a_manual_page() -> None:
    app = typer.main.get_command(build_app())
    found = {
        "-".join(words): manpages.page(words, each) for words, each in manpages.commands(app, ["corewise"])
    }
    assert {"corewise", "corewise-place", "corewise-machines-show", "corewise-bench-pack"} <= set(found)
    for name, text in found.items():
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
            assert f".SH {heading}\n" in text, (name, heading)
        # A line that begins with a dot is a request; only ours may be there.
        requests = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".B", ".TP", ".PP", ".nf", ".fi"}, name
    assert "\\-\\-objective" in found["corewise-place"]
    assert "corewise place ring.json" in found["corewise-place"].split(".SH EXAMPLES")[1]


def test_roff_shows_text_as_it_is() -> None:
    assert manpages.escaped(".so\n'x -n \\b") == "\\&.so\n\\&'x \\-n \\eb"


# --- documents --------------------------------------------------------------------------------------------


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = re.search(r"project\(corewise VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert version is not None
    assert re.search(r"^version: (.+)$", text, re.M)[1] == version[1]  # type: ignore[index]
    required = {"cff-version", "message", "title", "authors", "license"}
    assert required <= set(re.findall(r"^([\w-]+):", text, re.M))


def test_the_policy_speaks_of_every_format() -> None:
    text = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    words = (
        "machines",
        "patterns",
        "placements",
        "profiles",
        "tunings",
        "certificates",
        "--set",
        "COREWISE_",
    )
    assert [word for word in words if word not in text] == []


def test_the_readme_is_short_and_whole() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text) < 6_000
    assert re.search(r"!\[.+\]\(docs/images/\S+\.png\)", text)
    for heading in ("Two commands", "Five tasks", "When not to use it", "More"):
        assert f"## {heading}\n" in text
    tasks = text.split("## Five tasks")[1].split("\n## ")[0]
    assert len(re.findall(r"^\*\*.+?\*\*", tasks, re.M)) == 5
    opening = text.split("\n\n")[1]
    assert len(re.findall(r"\.(?:\s|$)", opening)) == 3


# --- progress ---------------------------------------------------------------------------------------------


def progress(script: str, log: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "run" / "progress.py"), "--log", str(log), "compiling"]
    return subprocess.run(
        [*command, "--", "bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )


def test_a_build_says_how_far_it_is(tmp_path: Path) -> None:
    done = progress("echo '[1/2] one'; echo '[2/2] two'", tmp_path / "log" / "it")
    assert done.returncode == 0
    assert re.fullmatch(r"compiling: starting, 0 s\n(compiling: .*\n)*compiling: done, \d+ s\n", done.stdout)
    assert (tmp_path / "log" / "it").read_text() == "[1/2] one\n[2/2] two\n"


def test_a_build_that_fails_shows_why(tmp_path: Path) -> None:
    done = progress("echo '[1/9] one'; echo 'error: no such header' >&2; exit 4", tmp_path / "it")
    assert done.returncode == 4
    assert "compiling: FAILED" in done.stdout
    assert "error: no such header" in done.stderr


# --- the first hour ---------------------------------------------------------------------------------------


def hour_steps() -> list[str]:
    text = (ROOT / "tools" / "run" / "first_hour.py").read_text(encoding="utf-8")
    assert "HOUR = (" in text
    sys.path.insert(0, str(ROOT / "tools" / "run"))
    try:
        import first_hour
    finally:
        sys.path.pop(0)
    return [step.command.replace("{wheel}", "corewise-*.whl") for step in first_hour.HOUR]


def test_the_page_of_the_first_hour_has_its_steps() -> None:
    page = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    assert re.findall(r"^    \$ (.+)$", page, re.M) == hour_steps()
    assert "/root" not in page
    assert "/tmp" not in page


@pytest.mark.long_test
def test_the_first_hour_goes_as_its_page_says(tmp_path: Path) -> None:
    """From the wheel of `make release`, in an empty environment, where compilers are hidden."""
    wheels = sorted((ROOT / "dist").glob("corewise-*.whl"))
    if not wheels:
        pytest.skip("capability: no wheel in dist/ (make release makes one)")
    command = [str(ROOT / "tools" / "run" / "bare.sh"), "--without-compiler", sys.executable]
    script = [
        str(ROOT / "tools" / "run" / "first_hour.py"),
        "--wheel",
        str(wheels[-1]),
        "--work",
        str(tmp_path),
    ]
    done = subprocess.run([*command, *script], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode == 3:
        pytest.skip("capability: this host grants no mount namespace")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


def test_the_release_goes_through_its_steps() -> None:
    """A dry look: every tool that it calls exists, and bash reads it."""
    script = ROOT / "tools" / "release.sh"
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    text = script.read_text(encoding="utf-8")
    for called in re.findall(r"tools/[\w/.-]+\.(?:py|sh|txt)", text):
        assert (ROOT / called).is_file(), called
    for step in (
        "prebuild.py",
        "manpages.py",
        "auditwheel repair",
        "--sdist",
        "twine check",
        "--without-compiler",
    ):
        assert step in text
    assert shutil.which("bash")
