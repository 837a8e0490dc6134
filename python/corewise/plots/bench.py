"""Pictures of `corewise bench`: the file that the user names, or files named after it.

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
    """Draws one figure into `path`, each of several into its own: ``plot-mpich.svg`` for ``plot.svg``."""
    written = []
    for figure in figures:
        target = path if len(figures) == 1 else path.with_name(f"{path.stem}-{figure.name}{path.suffix}")
        draw(figure, [target])
        written.append(target)
    return written
