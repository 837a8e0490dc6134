"""What commands print with --json, held against the published schemas (docs/schemas).

Commands that need an MPI, or a study of their own, are held against them where they are tested (`ELSEWHERE`).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import copy
import os
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import documents
import pytest
import trace_writer as tw
import typer
from documents import SCHEMAS

import schemas
from corewise.cli.main import build_app, execute

ROOT = Path(__file__).resolve().parents[3]
# A command by its document's name, and lines of it that print different fields.
LINES = {
    "report": ["report ring.cw", "report ring.cw --machine cell-be"],
    "waits": ["waits ring.cw", "waits late.cw"],
    "matrix": ["matrix ring.cw", "matrix ring.cw --by time --heavy 2"],
    "call-graph": ["call-graph ring.cw", "call-graph ring.cw --rank 0"],
    "diff": ["diff ring.cw other.cw"],
    "export": ["export ring.cw --to csv -o rows.csv"],
    "place": ["place ring.json -m cell-be", "place ring.json -m cell-be --named --explain",
              "place ring.json tree.json -m cell-be --weight 2 --weight 1",
              "place big.json -m mesh-6x4 --set evaluations=500"],
    "certify": ["certify proof.json ring.json -m cell-be"],
    "sim": ["sim ring.json -m cell-be", "sim big.json -m mesh-6x4"],
    "collective": ["collective broadcast -m cell-be --ranks 4 --bytes 1KiB --algorithm local_store_tree",
                   "collective broadcast -m cell-be --ranks 4 -b 64 --algorithm eager_tree --cache 128:8:2"],
    "replay": ["replay ring.cw -m ring:4", "replay ring.cw -m ring:4 -p identity -p identity --validate"],
    "patterns": ["patterns"],
    "patterns make": ["patterns make ring ranks=4"],
    "patterns show": ["patterns show ring.json"],
    "patterns name": ["patterns name ring.json", "patterns name tree.json"],
    "machines": ["machines"],
    "machines show": ["machines show cell-be", "machines show mesh-6x4"],
    "machines check": ["machines check right.toml"],
    "explain collective": ["explain collective broadcast --ranks 16 --bytes 128"],
    "explain settings": ["explain settings run", "explain settings place"],
    "completion": ["completion bash"],
    "advise": ["advise ring.cw --machine ring:4 --budget 0s"],
    "build-preload": ["build-preload --include"],
    "bundle": ["bundle bundled.cw"],
    "probe": ["probe --plan --cpus 8"],
    "explore": ["explore ring ranks=4 -m cell-be --samples 4",
                "explore ring.json -m cell-be --samples 3 --runs 2"],
    "doctor": ["doctor"],
    "collective list": ["collective list"],
    "explain datatype": ["explain datatype vector(512,8,16,double)", "explain datatype contiguous(4,int)"],
    "machines from-latency": ["machines from-latency node.csv"],
    "machines from-topology": ["machines from-topology tree.conf --node core:2"],
    "bench recogniser": ["bench recogniser --quick"],
    "bench copy": ["bench copy --quick --size 300 --kernel naive"],
    "bench history": ["bench history old.json new.json"],
}  # fmt: skip
ELSEWHERE = {
    "run": "tests/mpi/test_cli_run.py", "build-preload": "tests/mpi/test_cli_run.py",
    "bench collectives": "tests/mpi/test_bench_collectives.py",
    "bench pack": "tests/python/bench/test_rows.py",
    "paper affinity": "tests/python/papers/test_affinity.py",
    "simcc": "tests/python/sim/ranks/test_ranks.py", "simrun": "tests/python/sim/ranks/test_ranks.py",
}  # fmt: skip
"""Commands that other tests let print, which are held against the schemas there."""
LATENCIES = "0,50,90,90\n50,0,90,90\n90,90,0,50\n90,90,50,0\n"
MACHINE = """
format = "corewise-machine"
version = 1
name = "mine"
[interconnect]
kind = "flat"
count = 4
unit_name = "core"
port_bandwidth = "25.6 GB/s"
hop_latency = "1 ns"
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patterns, profiles, a machine and a proof."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "right.toml").write_text(MACHINE)
    (folder / "node.csv").write_text(LATENCIES)
    (folder / "tree.conf").write_text("SwitchName=top Nodes=a[1-2]\n")
    tw.ring_run(folder / "ring.cw", 4, 3, 1_000)
    tw.ring_run(folder / "bundled.cw", 4, 3, 1_000)
    tw.ring_run(folder / "other.cw", 4, 5, 2_000)
    first, second = tw.RankTrace(0, 2), tw.RankTrace(1, 2)
    first.put(tw.RECEIVE, "MPI_Recv", peer=1, size=8, ticks=4_000)
    second.now += 3_000
    second.put(tw.SEND, "MPI_Send", peer=0, size=8, ticks=500)
    tw.write_run(folder / "late.cw", [first, second])
    before = Path.cwd()
    os.chdir(folder)
    try:
        for words in (
            "ring ranks=8 -o ring.json",
            "binomial_tree ranks=8 -o tree.json",
            "ring ranks=24 -o big.json",
        ):
            assert execute(["patterns", "make", *words.split()]) == 0, words
        for name in ("old.json", "new.json"):
            with Path(name).open("w") as file, redirect_stdout(file):
                measure = ["bench", "copy", "--quick", "--size", "300", "--kernel", "naive", "--json"]
                assert execute(measure) == 0
        proof = ["place", "ring.json", "-m", "cell-be", "--certificate", "proof.json"]
        assert execute(proof) == 0
    finally:
        os.chdir(before)
    return folder


def printed(line: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    status = execute([*line.split(), "--json"])
    shown = capsys.readouterr()
    assert status == 0, f"{line}: {shown.err}"
    return documents.read(shown.out)


@pytest.mark.parametrize("name", LINES)
def test_a_document_meets_its_schema(
    name: str, inputs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    found = [printed(line, capsys) for line in LINES[name]]
    if "COREWISE_TEST_DOCUMENTS" in os.environ:
        return
    validator = documents.validator(name)
    # It can say no: to a document that lacks a field of its rows, and to a field of another type.
    assert not validator.is_valid({key: value for key, value in found[0].items() if key != "rows"})
    wrong = copy.deepcopy(found[0])
    wrong["rows"][0] = 7
    assert not validator.is_valid(wrong)


def test_every_schema_belongs_to_a_command_that_is_tested() -> None:
    assert set(SCHEMAS.rglob("*.json")) == {schemas.file_of(SCHEMAS, name) for name in (*LINES, *ELSEWHERE)}
    for name, file in ELSEWHERE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "documents.read(" in text and all(word in text for word in name.split()), name


def test_every_command_has_a_schema() -> None:
    """Only groups have none, where they print nothing."""

    def walk(command: Any, words: list[str]) -> None:
        for name, each in getattr(command, "commands", {}).items():
            walk(each, [*words, name])
        name = " ".join(words)
        if not hasattr(command, "commands"):
            assert schemas.file_of(SCHEMAS, name).is_file(), name

    walk(typer.main.get_command(build_app()), [])


def test_a_schema_says_what_its_documents_have_in_common() -> None:
    found = schemas.schema_of([{"a": 1, "b": [1, 2.5]}, {"a": None, "c": "x"}])
    assert found["required"] == ["a"]
    assert found["properties"]["a"]["type"] == ["integer", "null"]
    assert found["properties"]["b"] == {"type": "array", "items": {"type": "number"}}
    assert schemas.schema_of([True])["type"] == "boolean"
