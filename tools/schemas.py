"""Writes the JSON schemas of what commands print with --json, from documents that they printed.

    schemas.py FOLDER DOCUMENTS        FOLDER/COMMAND.json for every command among a folder's documents

That of a subcommand is FOLDER/GROUP/COMMAND.json. `bench` and `paper` have one schema each for the commands
that print alike.

A schema says which fields a document has and of which types they are. A field that some document lacks is not
required. It leaves room for more fields: a minor version may add some (docs/versions.md).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAPS = frozenset({"parameters", "settings", "algorithms", "numbers", "relabelling"})
"""Fields whose names are data."""
GROUPS = ("bench", "paper")
_UNLIKE = frozenset({"bench copy", "bench history", "bench pack"})
"""Commands of these groups that print fields of their own."""
_ENVELOPE = {
    "name": "The command.",
    "version": "The version of corewise that printed this.",
    "machine": "The machine that the rows are about; null where there is none.",
    "rows": "The result, an object per row.",
}
_NAMES: Sequence[tuple[type, str]] = (
    (type(None), "null"), (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"),
    (list, "array"), (dict, "object"),
)  # fmt: skip


def type_name(value: object) -> str:
    """The type of a value, as a schema says it."""
    return next(name for kind, name in _NAMES if isinstance(value, kind))


def schema_of(values: Sequence[Any], *, is_map: bool = False) -> dict[str, Any]:
    """The schema that all values meet; the names in a map are data, and no part of it."""
    types = sorted({type_name(value) for value in values})
    if "number" in types and "integer" in types:
        types.remove("integer")  # 2.0 may be printed as 2
    schema: dict[str, Any] = {}
    if types not in ([], ["null"]):  # nothing is known of what was never there
        schema["type"] = types[0] if len(types) == 1 else types
    inside = [each for value in values if isinstance(value, list) for each in value]
    if inside:
        schema["items"] = schema_of(inside)
    objects = [value for value in values if isinstance(value, dict)]
    if objects and not is_map:
        schema |= _of_objects(objects)
    return schema


def _of_objects(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    fields: dict[str, list[Any]] = defaultdict(list)
    for each in objects:
        for name, value in each.items():
            fields[name].append(value)
    required = sorted(name for name, values in fields.items() if len(values) == len(objects))
    properties = {name: schema_of(values, is_map=name in MAPS) for name, values in fields.items()}
    return {"properties": properties, **({"required": required} if required else {})}


def command_schema(name: str, documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The schema of one command's documents."""
    found = schema_of(documents)
    for field, meaning in _ENVELOPE.items():
        found["properties"][field]["description"] = meaning
    found["properties"]["name"] |= {"pattern": f"^{name} "} if name in GROUPS else {"const": name}
    found["properties"]["machine"]["type"] = ["null", "string"]
    title = f"corewise {name} COMMAND --json" if name in GROUPS else f"corewise {name} --json"
    return {"$schema": DIALECT, "title": title, **found}


def schema_name(command: str) -> str:
    """The command, or its group, whose schema a command's documents meet."""
    group = command.partition(" ")[0]
    return group if group in GROUPS and command not in _UNLIKE else command


def file_of(folder: Path, command: str) -> Path:
    """Where the schema of a command is."""
    return folder / f"{schema_name(command).replace(' ', '/')}.json"


def main() -> None:
    """Writes the schemas of all documents that the command line names."""
    folder = Path(sys.argv[1])
    documents: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(Path(sys.argv[2]).glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        documents[schema_name(document["name"])].append(document)
    for name, found in documents.items():
        text = json.dumps(command_schema(name, found), indent=1)
        file = file_of(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
