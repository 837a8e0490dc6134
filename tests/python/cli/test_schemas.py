"""What commands print with --json, held against the published schemas (docs/schemas).

COREWISE_TEST_DOCUMENTS names a folder into which the documents are written, for ``tools/schemas.py`` to read.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trace_writer as tw

import schemas
from corewise.cli.main import execute

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schemas"
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
    "collective": ["collective broadcast -m cell-be --ranks 4 --bytes 1KiB --algorithm local_store_tree"],
    "replay": ["replay ring.cw -m ring:4", "replay ring.cw -m ring:4 -p identity -p identity --validate"],
    "patterns": ["patterns"],
    "patterns show": ["patterns show ring.json"],
    "patterns name": ["patterns name ring.json", "patterns name tree.json"],
    "machines": ["machines"],
    "machines show": ["machines show cell-be", "machines show mesh-6x4"],
    "machines check": ["machines check right.toml"],
    "explain collective": ["explain collective broadcast --ranks 16 --bytes 128"],
    "explain settings": ["explain settings run", "explain settings place"],
    "completion": ["completion bash"],
}  # fmt: skip
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
    tw.ring_run(folder / "ring.cw", 4, 3, 1_000)
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
    document: dict[str, Any] = json.loads(shown.out)
    return document


@pytest.mark.parametrize("name", LINES)
def test_a_document_meets_its_schema(
    name: str, inputs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    documents = [printed(line, capsys) for line in LINES[name]]
    if folder := os.environ.get("COREWISE_TEST_DOCUMENTS"):
        for number, document in enumerate(documents):
            path = Path(folder) / f"{name.replace(' ', '-')}-{number}.json"
            path.write_text(json.dumps(document))
        return
    schema = json.loads(schemas.file_of(SCHEMAS, name).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    for document in documents:
        assert [error.message for error in validator.iter_errors(document)] == []
    # It can say no: to a document that lacks a field of its rows, and to a field of another type.
    assert not validator.is_valid({key: value for key, value in documents[0].items() if key != "rows"})
    wrong = copy.deepcopy(documents[0])
    wrong["rows"][0] = 7
    assert not validator.is_valid(wrong)


def test_every_schema_belongs_to_a_command_that_is_tested() -> None:
    assert {path.name for path in SCHEMAS.glob("*.json")} == {
        schemas.file_of(SCHEMAS, name).name for name in LINES
    }


def test_a_schema_says_what_its_documents_have_in_common() -> None:
    found = schemas.schema_of([{"a": 1, "b": [1, 2.5]}, {"a": None, "c": "x"}])
    assert found["required"] == ["a"]
    assert found["properties"]["a"]["type"] == ["integer", "null"]
    assert found["properties"]["b"] == {"type": "array", "items": {"type": "number"}}
    assert schemas.schema_of([True])["type"] == "boolean"
