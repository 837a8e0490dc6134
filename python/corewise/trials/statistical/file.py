"""Statistical models as files: JSON, read strictly (docs/placing/explore.md has the fields).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from corewise.data.files import read_text, write_text
from corewise.errors import bad_field
from corewise.trials.statistical.model import StatisticalModel, UnseenError

FORMAT = "corewise-statistical-model"
VERSION = 1
_TEXTS = ("machine", "source")
_COUNTS = ("units", "links", "ranks", "fitted_on")
_NUMBERS = ("intercept", "strength")
_TEXT_LISTS = ("patterns", "names", "groups")
_NUMBER_LISTS = ("mean", "scale", "weight")


def save_model(model: StatisticalModel, path: Path) -> None:
    """Writes the JSON file."""
    document = {"format": FORMAT, "version": VERSION, **asdict(model)}
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def load_model(path: Path) -> StatisticalModel:
    """Reads the JSON file; refuses what it does not know, naming the field."""
    source = str(path)
    document = _document(read_text(path), source)
    known = [each.name for each in fields(StatisticalModel)]
    for name in document:
        if name not in (*known, "format", "version"):
            raise bad_field(source, name, "an unknown field", ", ".join(known))
    for name in known:
        if name not in document:
            raise bad_field(source, name, "nothing", "a value")
    for name in (*_TEXTS, *_COUNTS, *_NUMBERS):
        _check(document[name], name, source)
    for name in (*_TEXT_LISTS, *_NUMBER_LISTS):
        _check_list(document[name], name, source)
    for name in _NUMBER_LISTS:
        if len(document[name]) != len(document["names"]):
            raise bad_field(
                source, name, f"{len(document[name])} numbers", f"{len(document['names'])}, one per name"
            )
    if any(each <= 0 for each in document["scale"]):
        raise bad_field(source, "scale", min(document["scale"]), "numbers over 0")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    values["errors"] = _errors(document["errors"], source)
    return StatisticalModel(**{name: values[name] for name in known})


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_field(
            source, "document", "no JSON", f"a model of corewise explore --fit ({error})"
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise bad_field(source, "format", repr(found), f"'{FORMAT}'")
    if document.get("version") != VERSION:
        raise bad_field(source, "version", document.get("version"), str(VERSION))
    return document


def _is_number(value: object) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    # An integer too large for a number of the model is none.
    return abs(value) <= sys.float_info.max


def _check(value: object, name: str, source: str) -> None:
    if name in _TEXTS and not isinstance(value, str):
        raise bad_field(source, name, repr(value), "a text")
    if name in _COUNTS and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise bad_field(source, name, repr(value), "a whole number, 0 or more")
    if name in _NUMBERS and not _is_number(value):
        raise bad_field(source, name, repr(value), "a number")


def _check_list(value: object, name: str, source: str) -> None:
    texts = name in _TEXT_LISTS
    right = isinstance(value, list) and all(
        isinstance(each, str) if texts else _is_number(each) for each in value
    )
    if not right:
        raise bad_field(source, name, repr(value)[:60], f"a list of {'texts' if texts else 'numbers'}")


def _errors(given: object, source: str) -> tuple[UnseenError, ...]:
    names = [each.name for each in fields(UnseenError)]
    if not isinstance(given, list):
        raise bad_field(source, "errors", repr(given)[:60], "a list")
    for each in given:
        if not isinstance(each, dict) or sorted(each) != sorted(names):
            raise bad_field(source, "errors", repr(each)[:60], f"objects with {', '.join(names)}")
    return tuple(UnseenError(**each) for each in given)
