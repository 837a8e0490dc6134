"""The page around its sections: styles, scripts, packed data, one file.

Invariants: whatever comes from data is escaped, in text, in attributes and in JSON alike; scripts are put in
only where a section needs them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from numpy.typing import NDArray

from corewise import __version__
from corewise.data.quantities import (
    bytes_text,
    count_text,
    number_text,
    share_text,
    size_range_text,
    time_text,
)
from corewise.report.terminal import library_text, reasons_text

_ALIGNMENT = 8
"""Of a packed column, in bytes: views of the browser demand it."""
_KINDS = {"u1": np.uint8, "u2": np.uint16, "i4": np.int32, "u4": np.uint32, "f8": np.float64}


@dataclass(frozen=True)
class Section:
    """A tab of the page.

    Attributes
    ----------
    name : str
        In the page's address behind ``#``.
    title : str
    body : Markup
    scripts : tuple of str
        Files of the templates' folder that it needs, without ``.js``.
    data : mapping
        Id of an element to the JSON in it, from `packed` or `as_json`.
    """

    name: str
    title: str
    body: Markup
    scripts: tuple[str, ...] = ()
    data: Mapping[str, Markup] = field(default_factory=dict)


@dataclass(frozen=True)
class Badge:
    """One line on how it ended."""

    text: str
    good: bool


@dataclass(frozen=True)
class Page:
    """What stands above and below the sections.

    Attributes
    ----------
    kind : str
        What it is, for the window's title: ``report``.
    title : str
    facts : tuple of str
        Below the title; empty ones are left out.
    sections : tuple of Section
        The first one is open.
    badges : tuple of Badge
    warnings : tuple of str
    written : str
        When.
    remark : str
        A sentence at the end.
    """

    kind: str
    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...]
    badges: tuple[Badge, ...] = ()
    warnings: tuple[str, ...] = ()
    written: str = ""
    remark: str = ""


def render(page: Page) -> str:
    """The page as HTML text."""
    names = dict.fromkeys(["page", *(name for section in page.sections for name in section.scripts)])
    data = [pair for section in page.sections for pair in section.data.items()]
    text: str = template("shell.html.j2").render(
        page=_without_empty(page),
        style=_file("style.css"),
        scripts=[_file(f"{name}.js") for name in names],
        data=data,
        version=__version__,
    )
    return text


def _without_empty(page: Page) -> dict[str, Any]:
    shown = {name: getattr(page, name) for name in page.__dataclass_fields__}
    return {**shown, "facts": [fact for fact in page.facts if fact]}


def fill(name: str, **values: object) -> Markup:
    """A template of a section, filled."""
    return Markup(template(name).render(**values))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("corewise.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        size=bytes_text,
        library=library_text,
        reasons=reasons_text,
        number=number_text,
        time=time_text,
        count=count_text,
        share=share_text,
        sizerange=lambda row: size_range_text(*row),
    )
    environment.globals.update(bar=bar, tile_row=tile_row)
    return environment


def template(name: str) -> Any:
    """A template, loaded once."""
    return _environment().get_template(name)


@cache
def _file(name: str) -> Markup:
    """A file of our own as it is; nothing of a reader's is in it."""
    return Markup((files("corewise.report") / "templates" / name).read_text(encoding="utf-8"))


def bar(share: float, kind: str = "") -> Markup:
    """A bar as long as a share from 0 to 1."""
    width = f"{100 * min(max(share, 0.0), 1.0):.1f}"
    return Markup('<span class="bar {}"><i style="width:{}%"></i></span>').format(kind, width)


def tile_row(tiles: Sequence[Any]) -> Markup:
    """Tiles with a ``value`` and ``what`` it is, side by side; nothing for none."""
    one = Markup('<div class="tile"><b>{}</b><span>{}</span></div>')
    inside = Markup("").join(one.format(tile.value, tile.what) for tile in tiles)
    return Markup('<div class="tiles">{}</div>').format(inside) if tiles else Markup("")


def as_json(value: object) -> Markup:
    """JSON that may stand in an element or an attribute of a page: no letter of it ends one."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for letter in "<>&'":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def packed(meta: Mapping[str, object], columns: Mapping[str, tuple[str, NDArray[Any]]]) -> Markup:
    """Numbers for a script: little-endian columns one behind the other, compressed.

    Parameters
    ----------
    meta : mapping
        What JSON can say.
    columns : mapping
        Name to kind (``u1``, ``u2``, ``i4``, ``u4``, ``f8``) and numbers.
    """
    content, places = bytearray(), {}
    for name, (kind, numbers) in columns.items():
        content += bytes(-len(content) % _ALIGNMENT)
        places[name] = [kind, len(content), int(numbers.size)]
        content += np.ascontiguousarray(numbers, np.dtype(_KINDS[kind]).newbyteorder("<")).tobytes()
    return as_json({"meta": meta, "columns": places, "packed": squeezed(bytes(content))})


def squeezed(content: bytes) -> str:
    """Compressed, as letters; the same content gives the same letters."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def least_kind(numbers: NDArray[Any]) -> str:
    """The smallest kind of column that holds whole numbers of 0 or more."""
    most = int(numbers.max()) if numbers.size else 0
    return "u1" if most < 1 << 8 else "u2" if most < 1 << 16 else "u4" if most < 1 << 32 else "f8"
