"""Writes machine files of trees, as a person would: a comment that says what they rest on, then TOML.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH = 118


@dataclass(frozen=True)
class LevelText:
    """One level of a tree.

    Attributes
    ----------
    name : of the level.
    counts : nodes under each node of the level above.
    hop_ns : latency of each node's links.
    up_gb_per_s, down_gb_per_s : of one node's link towards the level above, and from it.
    notes : comments, a line each.
    """

    name: str
    counts: Sequence[int]
    hop_ns: Sequence[float]
    up_gb_per_s: float
    down_gb_per_s: float
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class OriginText:
    """What the file says of its numbers; `docs/formats/machine.md`, origin."""

    source: str
    processor: str
    measured: Sequence[str]
    nominal: Sequence[str]


def machine_text(
    name: str,
    description: str,
    origin: OriginText,
    levels: Sequence[LevelText],
    os_indexes: Sequence[int],
    comment: str,
    logical_cores: Sequence[int] = (),
) -> str:
    """The text of a machine file; `levels` from the outermost. Units without `os_indexes` have none."""
    lines = [
        *(f"# {line}".rstrip() for line in _wrapped(comment)),
        'format = "corewise-machine"',
        "version = 1",
    ]
    lines += [f"name = {_text(name)}", f"description = {_text(description)}", "", "[origin]"]
    if origin.source:
        lines.append(f"source = {_text(origin.source)}")
    if origin.processor:
        lines.append(f"processor = {_text(origin.processor)}")
    lines += _list("measured", [_text(kind) for kind in origin.measured])
    lines += _list("nominal", [_text(kind) for kind in origin.nominal])
    lines += ["", "[interconnect]", 'kind = "tree"']
    if os_indexes:
        lines += _list("os_indexes", [str(cpu) for cpu in os_indexes])
    if logical_cores:
        lines += _list("logical_cores", [str(core) for core in logical_cores])
    for level in levels:
        lines += ["", "[[interconnect.level]]", *_level(level)]
    return "\n".join(lines) + "\n"


def quantity(value: float) -> str:
    """Four digits are more than anybody measures."""
    return f"{value:.4g}"


def _level(level: LevelText) -> list[str]:
    lines = [f"# {line}" for note in level.notes for line in _wrapped(note)]
    lines.append(f"name = {_text(level.name)}")
    if len(set(level.counts)) == 1:
        lines.append(f"count = {level.counts[0]}")
    else:
        lines += _list("counts", [str(count) for count in level.counts])
    lines.append(f'up_bandwidth = "{quantity(level.up_gb_per_s)} GB/s"')
    lines.append(f'down_bandwidth = "{quantity(level.down_gb_per_s)} GB/s"')
    hops = [f'"{quantity(hop)} ns"' for hop in level.hop_ns]
    return (
        [*lines, f"hop_latency = {hops[0]}"] if len(set(hops)) == 1 else [*lines, *_list("hop_latency", hops)]
    )


def _text(value: str) -> str:
    """JSON's strings are TOML's, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _wrapped(text: str) -> list[str]:
    return [line for part in text.split("\n") for line in (textwrap.wrap(part, _WIDTH - 2) or [""])]


def _list(name: str, values: Sequence[str]) -> list[str]:
    """A list on one line where it fits, else wrapped between its values."""
    line = f"{name} = [{', '.join(values)}]"
    if len(line) <= _WIDTH:
        return [line]
    lines = [f"{name} = ["]
    row = ""
    for value in values:
        if len(row) + len(value) + 4 > _WIDTH:
            lines.append(f"  {row.rstrip()}")
            row = ""
        row += f"{value}, "
    return [*lines, f"  {row.rstrip(', ')}", "]"]
