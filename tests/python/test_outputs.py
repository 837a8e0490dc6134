"""What every command writes is there as a whole or not at all, also where the disk is full.

A limit on the size of files stands for the full disk: what is written fails in the middle, as it does there.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trace_writer as tw

import corewise
from corewise.cli.main import execute

EXPLORE = ["explore", "{in}/ring.json", "-m", "cell-be", "--samples", "4"]
WRITERS: dict[str, list[str]] = {
    "pattern, JSON": ["patterns", "make", "random", "ranks=64", "-o", "{out}.json"],
    "pattern, CSV": ["patterns", "make", "random", "ranks=64", "-o", "{out}.csv"],
    "pattern, Matrix Market": ["patterns", "make", "random", "ranks=64", "-o", "{out}.mtx"],
    "relabelling": ["patterns", "name", "{in}/ring.json", "--save-relabelling", "{out}.json"],
    "placement": ["place", "{in}/ring.json", "-m", "cell-be", "-o", "{out}.json"],
    "certificate": ["place", "{in}/ring.json", "-m", "cell-be", "--certificate", "{out}.json"],
    "report": ["report", "{in}/ring.cw", "--html", "{out}.html"],
    "call graph, SVG": ["call-graph", "{in}/ring.cw", "--svg", "{out}.svg"],
    "call graph, HTML": ["call-graph", "{in}/ring.cw", "--html", "{out}.html"],
    "call graph, DOT": ["call-graph", "{in}/ring.cw", "--dot", "{out}.dot"],
    "matrix, SVG": ["matrix", "{in}/ring.cw", "--svg", "{out}.svg"],
    "matrix, CSV": ["matrix", "{in}/ring.cw", "--csv", "{out}.csv"],
    "difference": ["diff", "{in}/ring.cw", "{in}/ring.cw", "--svg", "{out}.svg"],
    "events, CSV": ["export", "{in}/ring.cw", "--to", "csv", "-o", "{out}.csv"],
    "events, Perfetto": ["export", "{in}/ring.cw", "--to", "perfetto", "-o", "{out}.pftrace"],
    "events, Parquet": ["export", "{in}/ring.cw", "--to", "parquet", "-o", "{out}.parquet"],
    "events, Arrow": ["export", "{in}/ring.cw", "--to", "arrow", "-o", "{out}.arrow"],
    "events, OTF2": ["export", "{in}/ring.cw", "--to", "otf2", "-o", "{out}"],
    "machine": ["machines", "from-latency", "{in}/latencies.csv", "-o", "{out}.toml"],
    "placement, HTML": ["place", "{in}/ring.json", "-m", "cell-be", "--html", "{out}.html"],
    "simulation, trace": ["sim", "{in}/ring.json", "-m", "cell-be", "--trace", "{out}.pftrace"],
    "simulation, SVG": ["sim", "{in}/ring.json", "-m", "cell-be", "--svg", "{out}.svg"],
    "exploration, SVG": [*EXPLORE, "-o", "{out}.svg"],
    "exploration, PNG": [*EXPLORE, "-o", "{out}.png"],
    "copies": ["bench", "copy", "--quick", "--size", "4096", "-o", "{out}.svg"],
}
"""A command for each kind of output; `{in}` has the inputs, `{out}` lies in a folder of its own."""

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
from corewise.cli.main import execute
sys.exit(execute(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a profile and a pattern."""
    folder = tmp_path_factory.mktemp("inputs")
    tw.ring_run(folder / "ring.cw")
    (folder / "latencies.csv").write_text("0,10,40,40\n10,0,40,40\n40,40,0,10\n40,40,10,0\n")
    command = ["patterns", "make", "ring", "ranks=8", "-o", str(folder / "ring.json")]
    subprocess.run([sys.executable, "-m", "corewise.cli.main", *command], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_left_on_a_full_disk(name: str, inputs: Path, tmp_path: Path) -> None:
    words = [
        word.replace("{in}", str(inputs)).replace("{out}", str(tmp_path / "target")) for word in WRITERS[name]
    ]
    command = [sys.executable, "-c", LIMITED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1:]
    assert done.returncode == 1, done.stderr
    assert last and last[0].startswith("corewise: ") and "target" in last[0], done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []
    # What took long to measure is shown before the error.
    assert "GB/s copied" in done.stdout or words[0] != "bench"


def test_no_output_replaces_what_the_command_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["patterns", "make", "ring", "ranks=4", "-o", "ring.json"]) == 0
    assert execute(["place", "ring.json", "-m", "cell-be", "-o", "placed.json"]) == 0
    (tmp_path / "link.json").symlink_to("ring.json")
    shutil.copy(Path(corewise.__file__).parent / "machines" / "cell-be.toml", "own.toml")
    (tmp_path / "latencies.csv").write_text("0,1\n1,0\n")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    profile = tw.ring_run(tmp_path / "ring.cw", size=4)
    for words in (
        ["place", "ring.json", "-m", "cell-be", "-o", "ring.json"],
        ["place", "ring.json", "-m", "cell-be", "-o", "link.json"],
        ["place", "ring.json", "-m", "cell-be", "--html", "./ring.json"],
        ["place", "ring.json", "-m", "own.toml", "--certificate", "own.toml"],
        ["place", "ring.json", "-m", "cell-be", "--placement", "placed.json", "-o", "placed.json"],
        ["sim", "ring.json", "-m", "cell-be", "--trace", "ring.json"],
        ["sim", "ring.json", "-m", "own.toml", "--trace", "own.toml"],
        ["explore", "ring.json", "-m", "cell-be", "-o", "ring.json"],
        ["patterns", "name", "ring.json", "--save-relabelling", "ring.json"],
        ["replay", "ring.cw", "-m", "own.toml", "-o", "own.toml"],
        ["report", "ring.cw", "-m", "own.toml", "--html", "own.toml"],
        ["machines", "from-latency", "latencies.csv", "-o", "latencies.csv"],
    ):
        assert execute(words) == 2, words
        said = capsys.readouterr().err
        assert "found a file that this command reads, allowed: another file to write" in said, words
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert profile.is_dir()


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["probe", "-o", "host.json"], ".toml"),
        (["probe", "--plot", "host.png"], ".svg"),
        (["machines", "from-latency", "latencies.csv", "-o", "host.json"], ".toml"),
        (["sim", "ring", "ranks=4", "-m", "ring:4", "--svg", "machine.png"], ".svg"),
        (["matrix", "none.cw", "--svg", "matrix.png"], ".svg"),
        (["call-graph", "none.cw", "--svg", "graph.png"], ".svg"),
        (["diff", "none.cw", "none.cw", "--svg", "difference.png"], ".svg"),
    ],
)
def test_an_ending_that_says_another_form_is_refused_at_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    allowed: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(words) == 2
    ending = Path(words[-1]).suffix
    assert f"{words[-1]}: found the ending '{ending}', allowed: {allowed}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
