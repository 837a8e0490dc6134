"""``corewise bundle`` and ``run --files node``: a real run's packed profile says what the loose one said.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
from pathlib import Path

from conftest import ROOT, Mpi, find_mpi
from installed_tool import assert_one_line_error, corewise, document

RANKS = 3


def recorded(mpi: Mpi, profile: Path, *options: object) -> str:
    """The bundled ring, and what `corewise run` said when it had ended."""
    ring = ROOT / "build" / "apps" / mpi.name / "ring"
    assert ring.is_file(), f"{ring} is missing: make apps"
    run = ["run", "-n", RANKS, "--mpi", mpi.prefix, *options, "-o", profile]
    done = corewise(*run, "--", ring, "--bytes", 64, "--rounds", 20)
    assert done.returncode == 0, done.stderr
    return done.stderr


def said(profile: Path) -> dict[str, object]:
    """What every command that reads records prints or writes."""
    found: dict[str, object] = {
        name: document(name, profile) for name in ("report", "matrix", "waits", "call-graph")
    }
    table = profile.with_suffix(".csv")
    done = corewise("export", profile, "--to", "csv", "-o", table)
    assert done.returncode == 0, done.stderr
    found["export"] = table.read_text()
    return found


def kinds(profile: Path) -> dict[str, int]:
    """How many files of each kind a profile holds."""
    names = [file.suffix for file in profile.iterdir()]
    return {suffix: names.count(suffix) for suffix in names}


def test_a_packed_profile_says_the_same(tmp_path: Path) -> None:
    profile = tmp_path / "ring.cw"
    recorded(find_mpi("mpich"), profile)
    before = said(profile)
    shutil.copytree(profile, tmp_path / "loose.cw")
    (packed,) = document("bundle", profile)["rows"]
    assert packed["bytes"] == (profile / packed["file"]).stat().st_size
    assert kinds(profile) == {".cwn": 1, ".json": 1}
    assert said(profile) == before
    # Both forms side by side.
    done = corewise("diff", tmp_path / "loose.cw", profile)
    assert done.returncode == 0, done.stderr
    # Once more changes nothing.
    again = corewise("bundle", profile)
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{RANKS} rank files already bundled into 1" in again.stdout
    assert document("bundle", profile)["rows"] == [packed]


def test_a_run_packs_its_own_profile(tmp_path: Path) -> None:
    profile = tmp_path / "ring.cw"
    said_at_end = recorded(find_mpi("openmpi"), profile, "--files", "node")
    assert f"corewise: {RANKS} ranks recorded in {profile}" in said_at_end
    assert kinds(profile) == {".cwn": 1, ".json": 1}
    assert len(document("report", profile)["rank_rows"]) == RANKS


def test_what_is_no_profile_is_refused(tmp_path: Path) -> None:
    assert_one_line_error(corewise("bundle", tmp_path / "none.cw"), "none.cw", "no such folder")
    (tmp_path / "empty.cw").mkdir()
    assert_one_line_error(corewise("bundle", tmp_path / "empty.cw"), "empty.cw", "nor rank files")
