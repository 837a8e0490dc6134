"""What a release is made of: manual pages, citation, promises, README, the first hour, the line of progress.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import typer

import manpages
import wheel as wheel_check
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


def script() -> Any:
    """The module that takes the steps."""
    text = (ROOT / "tools" / "run" / "first_hour.py").read_text(encoding="utf-8")
    assert "HOUR = (" in text
    sys.path.insert(0, str(ROOT / "tools" / "run"))
    try:
        import first_hour
    finally:
        sys.path.pop(0)
    return first_hour


def hour() -> tuple[Any, ...]:
    """The steps of the script."""
    steps: tuple[Any, ...] = script().HOUR
    return steps


def hour_steps() -> list[str]:
    return [step.command.replace("{wheel}", "corewise-*.whl") for step in hour()]


def test_the_page_of_the_first_hour_has_its_steps() -> None:
    page = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    assert re.findall(r"^    \$ (.+)$", page, re.M) == hour_steps()
    assert "/root" not in page
    assert "/tmp" not in page


def test_paths_leave_the_page_and_tables_stay_straight() -> None:
    said = "│ in │ /made/x/env   │ yes │\n│ in │ /made/x │ /made/x/a │\nread /made/x/b\n"
    assert script().without_path(said, "/made/x") == (
        "│ in │ ~/env         │ yes │\n│ in │ ~       │ ~/a       │\nread ~/b\n"
    )


def test_the_page_of_the_first_hour_says_what_its_steps_expect() -> None:
    """Each step's answer on the page is one that the script would take, as far as the page shows it."""
    page = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^    \$ (.+)\n((?:(?:    .*)?\n)*)", page, re.M))
    asked = [step for step in hour() if step.expected]
    assert len(asked) >= 10
    cut = [step for step in asked if "    ...\n" in said[step.command]]
    for step in asked:
        shown = re.sub(r"^    ", "", said[step.command], flags=re.M)
        assert step in cut or re.search(step.expected, shown, re.S), step.command
    assert len(cut) < len(asked)
    assert any("--accelerate" in command and "--placement" in command for command in said)


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
        "checks/wheel.py",
        "--sdist",
        "twine check",
        "--without-compiler",
    ):
        assert step in text
    assert shutil.which("bash")


# --- the wheel --------------------------------------------------------------------------------------------

TAGGED = "corewise-9.9-cp311-cp311-manylinux_2_34_x86_64.whl"
SETS = [("openmpi", "4.1.8"), ("openmpi", "5.0.11"), ("mpich", "4.3.2"), ("abi", "5.0.2")]


def wheel_files() -> dict[str, bytes]:
    """A wheel that has everything, without its record."""
    rows = [{"name": name, "version": version, "folder": f"{name}-{version}"} for name, version in SETS]
    found = {
        "corewise/_core.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
        "corewise/_lab.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
        "corewise/_prebuilt/manifest.json": json.dumps({"sets": rows}).encode(),
        "corewise-9.9.data/data/share/man/man1/corewise.1": b".TH",
    }
    for row in rows:
        for library in wheel_check.LIBRARIES:
            found[f"corewise/_prebuilt/{row['folder']}/libcorewise-{library}.so"] = b"\x7fELF"
    return found


def packed(file: Path, files: dict[str, bytes], recorded: set[str] | None = None) -> Path:
    record = "corewise-9.9.dist-info/RECORD"
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        names = set(files) if recorded is None else recorded
        archive.writestr(record, "".join(f"{name},,\n" for name in [*sorted(names), record]))
    return file


def test_a_whole_wheel_has_no_fault(tmp_path: Path) -> None:
    good = packed(tmp_path / TAGGED, wheel_files())
    assert list(wheel_check.faults(good, Path("/built/here"))) == []
    assert wheel_check.main([str(good)]) == 0


def test_every_fault_of_a_wheel_is_named(tmp_path: Path) -> None:
    root = Path("/built/here")

    def found(
        change: dict[str, bytes | None], name: str = TAGGED, recorded: set[str] | None = None
    ) -> list[str]:
        files = {**wheel_files(), **change}
        kept = {each: content for each, content in files.items() if content is not None}
        return list(wheel_check.faults(packed(tmp_path / name, kept, recorded), root))

    library = "corewise/_prebuilt/abi-5.0.2/libcorewise-packing.so"
    core = "corewise/_core.cpython-311-x86_64-linux-gnu.so"
    assert found({}, "corewise-9.9-cp311-cp311-linux_x86_64.whl") == [
        "its tag is linux_x86_64, wanted: manylinux (auditwheel repair)"
    ]
    assert found({library: None}) == [f"{library} is missing"]
    assert found({library: b"text"}) == [f"{library} is no library"]
    assert found({library: b"\x7fELF /built/here/src"}) == [
        f"{library} names the folder that it was built in"
    ]
    assert found({core: None}) == ["no extension module corewise/_core"]
    assert found({core.replace("_core", "_lab"): None}) == ["no extension module corewise/_lab"]
    assert found({"corewise-9.9.data/data/share/man/man1/corewise.1": None}) == ["no manual page corewise.1"]
    assert found({}, recorded=set(wheel_files()) - {core}) == [f"{core} is not in its record"]
    assert found({}, recorded=set(wheel_files()) | {"more.py"}) == ["more.py is in its record only"]
    without = {
        "corewise/_prebuilt/manifest.json": b'{"sets": [{"name": "mpich", "version": "4", "folder": "x"}]}'
    }
    assert [each for each in found(without) if each.startswith("no set")] == [
        f"no set of preload libraries for {what}" for what in ("Open MPI 4", "Open MPI 5", "the standard ABI")
    ]
    assert found({"corewise/_prebuilt/manifest.json": None})[0].startswith("no preload libraries")
    broken = tmp_path / "broken.whl"
    broken.write_text("no archive")
    assert wheel_check.main([str(broken)]) == 2
