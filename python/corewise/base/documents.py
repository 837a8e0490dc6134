"""The one reader of documents: TOML, JSON and CSV texts as `Fields`, which hand out checked values.

Owns what every format shares: how deep a document may nest, that a number is finite, that a name stands
once in a table, and the words of an error: source, the field's path (``row[3].bytes``), what was found and
what is allowed. It knows no format. Invariants: a text that is no document gives one short `InputError`,
never another exception; a value that `Fields` hands out has the type and the range that were asked for.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corewise.base.files import read_text
from corewise.errors import InputError, bad_field, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_LEVELS = 32
"""How deep tables and lists may lie in each other, as in ``base/json.cpp``."""
MOST_WHOLE = 2**63 - 1
"""The largest whole number of a document; the core counts in 64 bits."""

_MOST_TOML_BYTES = 1 << 24  # the standard library reads about a MiB a second
_MOST_JSON_BYTES = 1 << 26  # an object takes up to thirty times its text
# The standard library's time grows with the square of a dotted key's parts.
_KEY_PART = r"""\s*\.\s*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?:{_KEY_PART}){{{MOST_LEVELS}}}")
_WHOLE = re.compile(r"[+-]?\d{1,19}")


# ---- texts to fields -------------------------------------------------------------------------------------


def read_toml(path: Path) -> Fields:
    """The document of a TOML file."""
    return parse_toml(read_text(path, _MOST_TOML_BYTES), str(path))


def parse_toml(text: str, source: str = "") -> Fields:
    """The document of a TOML text; `source` begins every message."""
    try:
        if _LONG_KEY.search(text):
            raise ValueError(f"a key has more than {MOST_LEVELS} parts")
        return _document(tomllib.loads(text), source)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise _no_document(source, "TOML", error) from None


def read_json(path: Path) -> Fields:
    """The document of a JSON file."""
    return parse_json(read_text(path, _MOST_JSON_BYTES), str(path))


def parse_json(text: str, source: str = "") -> Fields:
    """The document of a JSON text, which is an object; `source` begins every message."""
    try:
        parsed = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        return _document(parsed, source)
    except (ValueError, RecursionError) as error:  # JSONDecodeError is a ValueError
        raise _no_document(source, "JSON", error) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {shown(twice)} stands twice in an object")
    return table


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _document(document: object, source: str) -> Fields:
    if not isinstance(document, dict):
        raise bad_field(source, "(document)", shown(document), "an object")
    if _levels_over(document, MOST_LEVELS):
        raise ValueError(f"tables and lists lie in each other more than {MOST_LEVELS} deep")
    return Fields(source, "", document)


def _levels_over(document: dict[str, Any], most: int) -> bool:
    """Whether containers nest deeper; level by level, since a call per level would itself go too deep."""
    level: list[Any] = [document]
    for _ in range(most):
        inside = [value for each in level for value in (each.values() if isinstance(each, dict) else each)]
        level = [value for value in inside if isinstance(value, (dict, list))]
        if not level:
            return False
    return True


def _no_document(source: str, kind: str, error: Exception) -> InputError:
    why = "brackets lie in each other too deep" if isinstance(error, RecursionError) else str(error)
    prefix = f"{source}: " if source else ""
    return InputError(f"{prefix}not {kind}: {why if len(why) <= 200 else why[:200] + '...'}")


@dataclass(frozen=True)
class Csv:
    """A CSV text: what its comments ``# NAME = VALUE`` say, and its rows."""

    head: Fields
    rows: Sequence[Fields]


def read_csv(path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> Csv:
    """The rows of a CSV file."""
    return parse_csv(read_text(path), str(path), columns, optional)


def parse_csv(text: str, source: str, columns: Sequence[str], optional: Sequence[str] = ()) -> Csv:
    """The rows of a CSV text; the first line that is no comment names its columns.

    Parameters
    ----------
    text : str
    source : str
        Begins every message, with the number of the line.
    columns, optional : sequence of str
        Columns that must be there, and those that may. An empty cell counts as absent.
    """
    lines = text.split("\n")
    head: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith("#") and "=" in line:
            name, _, value = line[1:].partition("=")
            if name.strip() in head:
                raise bad_field(f"{source}:{number}", name.strip(), "the name a second time", "once")
            head[name.strip()] = value.strip()
    return Csv(Cells(source, "", head), _csv_rows(lines, source, columns, optional))


def _csv_rows(
    lines: Sequence[str], source: str, columns: Sequence[str], optional: Sequence[str]
) -> list[Fields]:
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip() and line[0] != "#"]
    cells = csv.reader((lines[number - 1] for number in numbers), strict=True)
    names: list[str] = []
    rows: list[Fields] = []
    for number in numbers:
        try:
            row = [cell.strip() for cell in next(cells)]
        except (csv.Error, StopIteration) as error:  # a quote that stays open reads the lines that follow
            raise InputError(f"{source}:{number}: not CSV: {error or 'a quote stays open'}") from None
        if not names:
            names = _columns(row, f"{source}:{number}", columns, optional)
            continue
        if len(row) != len(names):
            raise bad_field(
                f"{source}:{number}", "row", f"{len(row)} cells", f"{len(names)}, as in the header"
            )
        rows.append(Cells(f"{source}:{number}", "", dict(zip(names, row, strict=True))))
    if not names:
        raise bad_field(source, "header", "nothing", ",".join(columns))
    return rows


def _columns(row: list[str], source: str, columns: Sequence[str], optional: Sequence[str]) -> list[str]:
    known = (*columns, *optional)
    for index, name in enumerate(row):
        if name not in known or name in row[:index]:
            problem = "an unknown column" if name not in known else "a column a second time"
            raise bad_field(source, name, problem, ", ".join(known))
    for name in columns:
        if name not in row:
            raise bad_field(source, name, "no such column", ", ".join(known))
    return row


# ---- fields ----------------------------------------------------------------------------------------------


class Fields:
    """The fields of one table of a document.

    Each getter returns a value of the type and range that it names, or raises an `InputError` with the
    source, the field's path, what was found and what is allowed. An absent field, or JSON's null, takes the
    `default`; where that is None the field is required.
    """

    def __init__(self, source: str, path: str, table: Mapping[str, Any]) -> None:
        self.source, self.path, self._table = source, path, table

    def __contains__(self, field: str) -> bool:
        return self.value(field) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def value(self, field: str) -> Any:
        """The value as it was read, None where there is none."""
        return self._table.get(field)

    def raw(self) -> Mapping[str, Any]:
        """The whole table as it was read, for a reader that checks it itself."""
        return self._table

    def name(self, field: str) -> str:
        """The path of a field, for a message."""
        return f"{self.path}.{field}" if self.path else field

    def wrong(self, field: str, allowed: str) -> InputError:
        """The error of a field whose value is not allowed."""
        value = self.value(field)
        return bad_field(self.source, self.name(field), "nothing" if value is None else shown(value), allowed)

    def only(self, known: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Refuses unknown fields, and absent ones that are not in `optional`."""
        for field in self._table:
            if field not in known and field not in optional:
                allowed = ", ".join(dict.fromkeys((*known, *optional)))
                raise bad_field(self.source, self.name(field), "an unknown field", allowed)
        for field in known:
            if field not in optional and field not in self:
                raise self.wrong(field, "required")

    def header(self, format: str, newest: int) -> None:
        """The two fields that open every document of ours."""
        self.one_of("format", (format,))
        if self._whole(self.value("version")) != newest:
            raise self.wrong("version", str(newest))

    # A value of one kind.

    def text(self, field: str, default: str | None = None) -> str:
        """A text that is not blank."""
        value = self._given(field, default)
        if not isinstance(value, str) or (not value.strip() and value != default):
            raise self.wrong(field, "a text")
        return value

    def one_of(self, field: str, allowed: Sequence[str], default: str | None = None) -> str:
        """One of some words."""
        value = self._given(field, default)
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(field, (" or " if len(allowed) == 2 else ", ").join(allowed))
        return value

    def flag(self, field: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._flag(self._given(field, default))
        if value is None:
            raise self.wrong(field, "true or false")
        return value

    def whole(self, field: str, least: int, most: int = MOST_WHOLE, default: int | None = None) -> int:
        """A whole number from `least` to `most`."""
        value = self._whole(self._given(field, default))
        if value is None or (not least <= value <= most and value != default):
            raise self.wrong(field, f"a whole number from {least}{_to(most)}")
        return value

    def number(
        self, field: str, least: float, most: float = sys.float_info.max, default: float | None = None
    ) -> float:
        """A finite number from `least` to `most`."""
        value = self._number(self._given(field, default))
        if value is None or (not least <= value <= most and value != default):
            raise self.wrong(field, f"a number from {least:g}{_to(most)}")
        return value

    def positive(self, field: str) -> float:
        """A finite number over 0."""
        value = self._number(self.value(field))
        if value is None or value <= 0:
            raise self.wrong(field, "a positive number")
        return value

    # Lists.

    def texts(
        self, field: str, default: tuple[str, ...] | None = None, *, may_be_blank: bool = False
    ) -> tuple[str, ...]:
        """Texts that are not blank, unless they may be."""
        values = self._list(field, default, "texts")
        if not all(isinstance(each, str) and (may_be_blank or each.strip()) for each in values):
            raise self.wrong(field, "texts")
        return tuple(values)

    def wholes(
        self, field: str, least: int, most: int = MOST_WHOLE, *, may_be_empty: bool = False
    ) -> tuple[int, ...]:
        """One or more whole numbers."""
        allowed = f"{'' if may_be_empty else 'one or more '}whole numbers from {least}{_to(most)}"
        values = self._list(field, None, allowed)
        inside = self._wholes_inside(values, least, most)
        if inside is None or not (values or may_be_empty):
            raise self.wrong(field, allowed)
        return inside

    def lists_of_wholes(self, field: str, least: int, most: int = MOST_WHOLE) -> tuple[tuple[int, ...], ...]:
        """Lists of whole numbers; each of them, and the whole, may be empty."""
        allowed = f"lists of whole numbers from {least}{_to(most)}"
        found = [self._wholes_inside(each, least, most) for each in self._list(field, None, allowed)]
        inside = tuple(each for each in found if each is not None)
        if len(inside) < len(found):
            raise self.wrong(field, allowed)
        return inside

    def _wholes_inside(self, values: Any, least: int, most: int) -> tuple[int, ...] | None:
        if not isinstance(values, (list, tuple)):
            return None
        wholes = [self._whole(each) for each in values]
        inside = tuple(value for value in wholes if value is not None and least <= value <= most)
        return inside if len(inside) == len(wholes) else None

    def positives(self, field: str, count: int, one_per: str) -> tuple[float, ...]:
        """`count` finite numbers over 0, one per what `one_per` says."""
        allowed = f"{count} positive numbers, one per {one_per}"
        values = [self._number(each) for each in self._list(field, None, allowed)]
        inside = tuple(value for value in values if value is not None and value > 0)
        if len(values) != count or len(inside) < count:
            raise self.wrong(field, allowed)
        return inside

    # Tables.

    def table(self, field: str, default: Mapping[str, Any] | None = None) -> Fields:
        """The fields of a table inside this one."""
        value = self._given(field, default)
        if not isinstance(value, Mapping):
            raise self.wrong(field, "a table")
        return Fields(self.source, self.name(field), value)

    def tables(self, field: str) -> list[Fields]:
        """The tables of a list; none where the field is absent."""
        values = self._list(field, (), "tables")
        if not all(isinstance(each, Mapping) for each in values):
            raise self.wrong(field, "tables")
        return [
            Fields(self.source, f"{self.name(field)}[{index}]", each) for index, each in enumerate(values)
        ]

    # What a value must look like; `Cells` reads texts instead.

    def _given(self, field: str, default: Any) -> Any:
        value = self.value(field)
        return default if value is None else value

    def _list(self, field: str, default: Sequence[Any] | None, allowed: str) -> Sequence[Any]:
        value = self._given(field, default)
        if not isinstance(value, (list, tuple)):
            raise self.wrong(field, allowed)
        return value

    def _whole(self, value: Any) -> int | None:
        return value if type(value) is int else None

    def _number(self, value: Any) -> float | None:
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
            return None
        return float(value)

    def _flag(self, value: Any) -> bool | None:
        return value if type(value) is bool else None


class Cells(Fields):
    """The cells of one CSV row: every value is a text; the elements of a list are separated by blanks."""

    def value(self, field: str) -> Any:
        """The cell's text, None where it is empty."""
        return self._table.get(field) or None

    def _list(self, field: str, default: Sequence[Any] | None, allowed: str) -> Sequence[Any]:
        value = self._given(field, default)
        return super()._list(field, default, allowed) if value is None or value is default else value.split()

    def _whole(self, value: Any) -> int | None:
        if isinstance(value, str):
            return int(value) if _WHOLE.fullmatch(value) else None
        return super()._whole(value)

    def _number(self, value: Any) -> float | None:
        try:
            return super()._number(float(value) if isinstance(value, str) else value)
        except ValueError:
            return None

    def _flag(self, value: Any) -> bool | None:
        return {"true": True, "false": False}.get(value) if isinstance(value, str) else super()._flag(value)


def _to(most: float) -> str:
    """The upper end of a range, where it is one that a user would meet."""
    if most == MOST_WHOLE or most == sys.float_info.max or math.isinf(most):
        return ""
    return f" to {most:g}" if isinstance(most, float) else f" to {most}"
