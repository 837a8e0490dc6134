"""`corewise machines`, and what holds for every command: help, version, one-line errors, exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from corewise import __version__
from corewise.cli.main import build_app, execute
from corewise.data.machines import bundled_machines, machine_directory

HELPED = [
    [],
    ["machines"],
    ["machines", "show"],
    ["machines", "check"],
    ["patterns"],
    ["patterns", "make"],
    ["patterns", "show"],
    ["place"],
]


@pytest.mark.parametrize("command", HELPED)
def test_help_has_a_worked_example(command: list[str]) -> None:
    done = CliRunner().invoke(build_app(), [*command, "--help"])
    assert done.exit_code == 0
    assert not command or "Example:\n    corewise " in done.output


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out == f"corewise {__version__}\n"


def test_as_a_program_a_wrong_input_is_one_line_and_status_2() -> None:
    command = [sys.executable, "-m", "corewise.cli.main", "machines", "show", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("corewise: machine 'nonsense' is unknown, allowed: cell-be, ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["nonsense"], ["machines", "show"], ["machines", "--nonsense"]])
def test_usage_errors_are_one_line_too(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("corewise: ")
    assert captured.err.count("\n") == 1


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in bundled_machines())
    assert execute(["machines", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["name"], document["version"]) == ("machines", __version__)
    cell = next(row for row in document["rows"] if row["name"] == "cell-be")
    assert (cell["kind"], cell["units"], cell["stops"], cell["links"]) == ("ring", 8, 12, 24)


def test_show_draws_the_ring_in_its_physical_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines", "show", "cell-be"]) == 0
    out = capsys.readouterr().out
    assert "╭─ (PPE) ── SPE1 ── SPE3 ── SPE5 ── SPE7 ── (IOIF1) ─╮" in out
    assert "╰─ (MIC) ── SPE0 ── SPE2 ── SPE4 ── SPE6 ── (IOIF0) ─╯" in out


def test_show_draws_meshes_trees_and_bridged_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines", "show", "mesh:2x2 core:2"]) == 0
    assert "[core0 1]───[core2 3]\n    │           │\n[core4 5]───[core6 7]\n" in capsys.readouterr().out
    assert execute(["machines", "show", "pack:2 l3:1 core:2"]) == 0
    assert "│   └── l3-0\n│       └── core0 core1\n" in capsys.readouterr().out
    assert execute(["machines", "show", "cell-blade"]) == 0
    out = capsys.readouterr().out
    assert out.count("── SPE1 ── SPE3 ── SPE5 ── SPE7 ──") == 2
    assert "cell0.IOIF0 ══ 25.6 GB/s ══> cell1.IOIF0" in out


def test_show_as_json_has_units_and_links(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines", "show", "ps3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["unit"] for row in document["rows"]] == [f"SPE{index}" for index in range(6)]
    assert document["rows"][0]["os_index"] is None
    first = next(link for link in document["links"] if link["link"] == "cw:PPE>SPE1")
    # Two rings of 16 bytes per bus cycle, at half of 3.192 GHz.
    assert (first["from"], first["to"], first["bandwidth_gb_per_s"]) == ("PPE", "SPE1", 51.072)


def test_links_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines", "show", "flat"]) == 0
    without = capsys.readouterr().out
    assert execute(["machines", "show", "flat", "--links"]) == 0
    assert "GB/s" not in without
    assert "GB/s" in capsys.readouterr().out


def test_check_accepts_the_bundled_files(capsys: pytest.CaptureFixture[str]) -> None:
    for name in bundled_machines():
        assert execute(["machines", "check", str(machine_directory() / f"{name}.toml")]) == 0
        assert f"ok: '{name}'" in capsys.readouterr().out


def test_check_names_file_field_found_and_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.toml"
    text = (machine_directory() / "cell-be.toml").read_text()
    file.write_text(text + '\ncolour = "blue"\n')
    assert execute(["machines", "check", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"corewise: {file}: field ")
    assert "colour" in error
    assert "allowed: " in error
    assert error.count("\n") == 1


def test_a_large_tree_is_drawn_with_a_line_per_domain(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines", "show", "epyc-7773x"]) == 0
    drawing = capsys.readouterr().out.split("┏")[0]
    assert len(drawing.splitlines()) < 40
    assert "core0[pu0,1]" in drawing
    assert "core63[pu126,127]" in drawing
    assert "latency: measured; bandwidth: nominal, measured on nothing" in drawing
    assert "nviennot/core-to-core-latency (MIT)" in drawing
