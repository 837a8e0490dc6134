"""`corewise place --spare`: what it says of an idle core, and when it says nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corewise.analysis.noise.spare import cores_of
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.noise import Interruptions, NoiseRecord, save_noise


@pytest.fixture
def ring(tmp_path: Path) -> str:
    """A pattern of four ranks."""
    file = tmp_path / "ring.json"
    assert execute(["patterns", "make", "ring", "ranks=4", "-o", str(file)]) == 0
    return str(file)


def spare(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    """The part of the answer."""
    capsys.readouterr()
    assert execute(["place", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["spare"]
    assert isinstance(found, dict)
    return found


def test_a_described_noise_says_when_an_idle_core_pays(ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = spare(capsys, ring, "-m", "flat:8", "--spare", "rate=20,length=1ms")
    rows = found["rows"]
    assert isinstance(rows, list) and {row["nodes"] for row in rows} == {1, 16, 128}
    assert all(row["gain"] == pytest.approx(row["all_cores_us"] / row["one_idle_us"]) for row in rows)
    says = found["says"]
    assert isinstance(says, list)
    assert any("128 nodes (1024 or 896 ranks) an idle core pays up to" in line for line in says)
    assert execute(["place", ring, "-m", "flat:8", "--spare", "rate=20,length=1ms"]) == 0
    assert "(a prediction)" in capsys.readouterr().out


def test_nothing_is_claimed_under_eight_cores(
    ring: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for machine in ("flat:7", "core:4 pu:2"):
        found = spare(capsys, ring, "-m", machine, "--spare", "auto")
        assert found["rows"] == [] and "nothing is claimed of a node of" in str(found["says"])
    kind = Interruptions(20.0, (1000000,))
    save_noise(NoiseRecord("P 1", 2, kind, kind), tmp_path / "two.json")
    found = spare(capsys, ring, "-m", "flat:8", "--spare", str(tmp_path / "two.json"))
    assert found["rows"] == [] and "noise that was measured on 2 processors" in str(found["says"])
    save_noise(NoiseRecord("P 1", 16, kind, kind), tmp_path / "many.json")
    found = spare(capsys, ring, "-m", "flat:8", "--spare", str(tmp_path / "many.json"))
    assert "measured on 16 processors of P 1" in str(found["noise"])
    assert len(found["rows"]) == 21  # type: ignore[arg-type]


def test_hardware_threads_of_a_core_count_once() -> None:
    assert cores_of(load_machine("core:4 pu:2")) == 4
    assert cores_of(load_machine("flat:12")) == 12


@pytest.mark.parametrize("text", ["auto", "none.json", "rate=1"])
def test_what_cannot_be_is_refused(ring: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["place", ring, "-m", "flat:8", "--spare", text]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ("--spare" in error or "none.json" in error)
