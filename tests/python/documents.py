"""What commands print with --json, held against the published schemas (docs/schemas), in whichever test.

COREWISE_TEST_DOCUMENTS names a folder into which documents are written instead, for ``tools/schemas.py``.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

import schemas

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"


@cache
def validator(name: str) -> Any:
    """What checks the documents of a command."""
    path = schemas.file_of(SCHEMAS, name)
    assert path.is_file(), f"corewise {name} --json has no schema in docs/schemas"
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def read(text: str) -> dict[str, Any]:
    """The document that a command printed; fails where it is not as its schema says."""
    document: dict[str, Any] = json.loads(text)
    if folder := os.environ.get("COREWISE_TEST_DOCUMENTS"):
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        (Path(folder) / f"{document['name'].replace(' ', '-')}-{digest}.json").write_text(text)
        return document
    errors = list(validator(document["name"]).iter_errors(document))
    assert errors == [], f"{document['name']}: {errors[0].json_path}: {errors[0].message}"
    return document
