"""Pictures of `corewise bench copy`: the file that the user names.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corewise.analysis.result import Figure
from corewise.base.files import check_target
from corewise.errors import InputError
from corewise.plots.figures import FORMATS, draw


def check_picture(path: Path | None) -> None:
    """Refuses what no picture can be written to, before the long work."""
    if path is None:
        return
    endings = [f".{each.lower()}" for each in FORMATS]
    if path.suffix not in endings:
        raise InputError(f"-o {path}: found the ending '{path.suffix}', allowed: {', '.join(endings)}")
    check_target(path)


def write_pictures(figures: Sequence[Figure], path: Path) -> list[Path]:
    """Draws each figure into `path`; a result has one."""
    for figure in figures:
        draw(figure, [path])
    return [path] * len(figures)
