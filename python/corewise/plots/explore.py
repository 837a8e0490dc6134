"""Ranked curves of an exploration, as figures 2 to 5 of paper 002: SVG or PNG by the file's ending.

Left: every placement's runs and their median, fastest first, with where the named ones stand. Right: what
each model says about the same placements in the same order, scaled to the median time, so that a good model
would lie on the curve. Invariant: the same exploration gives the same bytes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corewise.analysis.placement.exploration import Exploration, Standing
from corewise.errors import InputError
from corewise.plots.figures import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".png")
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.hashsalt": "corewise",
}
_MOST_RUNS_SHOWN = 5
_NOT_MARKED = ("best", "best seen", "worst", "worst seen", "median placement", "unpinned")


def check_ending(path: Path) -> None:
    """Refuses an ending that says no format."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: found suffix '{path.suffix}', allowed for curves: {', '.join(ENDINGS)}")


def write_curves(found: Exploration, path: Path) -> None:
    """Draws the curves into a file."""
    # Loading it takes a second, which every other command would wait for.
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    panels = 2 if found.models else 1
    with mpl.rc_context(_STYLE):
        canvas = Canvas(figsize=(6.2 * panels, 4.4), layout="constrained")
        canvas.suptitle(_title(found), fontsize=11, fontweight="bold")
        axes = canvas.subplots(1, panels, squeeze=False).flatten()
        _draw_runs(axes[0], found)
        if found.models:
            _draw_models(axes[1], found)
        save(canvas, path)


def _title(found: Exploration) -> str:
    how = {"host": "measured", "flow": "by flow"}.get(found.source, "simulated")
    share = "all" if found.plan.complete else "a sample of"
    return f"{found.title} on {found.machine.name}, {how}: {share} {found.plan.population} placements"


def _unit(found: Exploration) -> tuple[float, str]:
    for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if found.population_ns.min() >= size / 10:
            return size, name
    return 1.0, "ns"


def _draw_runs(axes: Axes, found: Exploration) -> None:
    size, unit = _unit(found)
    order = found.order
    each = found.times_ns[:, : found.plan.population][:, order] / size
    place = np.arange(1, len(order) + 1)
    marker = "." if len(order) <= 40 else None
    if found.runs > 1:
        axes.fill_between(place, each.min(axis=0), each.max(axis=0), color="#bbbbbb", alpha=0.5, linewidth=0)
    for run in range(min(found.runs, _MOST_RUNS_SHOWN) if found.runs > 1 else 0):
        colour = _COLOURS[run % len(_COLOURS)]
        axes.plot(place, each[run], linewidth=0.5, color=colour, alpha=0.75, label=f"run {run + 1}")
    middle = np.median(each, axis=0)
    axes.plot(place, middle, color="black", linewidth=1.6, marker=marker, label="median of the runs")
    if len(found.unpinned_ns):
        level = float(np.median(found.unpinned_ns)) / size
        axes.axhline(level, color="#666666", linewidth=1, linestyle="--", label="unpinned")
    _mark(axes, [each for each in found.standings() if each.name not in _NOT_MARKED], size)
    axes.set_xlabel("rank of the placement by median time")
    axes.set_ylabel(f"time in {unit}")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7.5, loc="lower right", ncols=2)


def _mark(axes: Axes, standings: list[Standing], size: float) -> None:
    """Named placements where they stand; those that stand together share a label."""
    joined: dict[int, tuple[Standing, list[str]]] = {}
    for each in standings:
        joined.setdefault(each.row if each.row is not None else -1, (each, []))[1].append(each.name)
    for index, (each, names) in enumerate(joined.values()):
        colour = _COLOURS[(index + 1) % len(_COLOURS)]
        axes.plot(
            [each.rank], [each.time_ns / size], marker="ov^sDP*X"[index % 8], color=colour, linestyle="none",
            markersize=6, markeredgecolor="black", markeredgewidth=0.6, zorder=5,
            label=f"{' = '.join(names)}, rank {each.rank}",
        )  # fmt: skip


def _draw_models(axes: Axes, found: Exploration) -> None:
    size, unit = _unit(found)
    order = found.order
    place = np.arange(1, len(order) + 1)
    middle = found.population_ns[order] / size
    axes.plot(place, middle, color="black", linewidth=1.6, label="median of the runs", zorder=5)
    for index, (name, says) in enumerate(found.models.items()):
        said = says[: found.plan.population][order]
        if not said.max() > 0:
            continue
        scaled = said / np.median(said) * np.median(middle) if np.median(said) > 0 else said
        axes.plot(
            place, scaled, ".", markersize=3, color=_COLOURS[index % len(_COLOURS)], alpha=0.7, label=name
        )
    axes.set_xlabel("rank of the placement by median time")
    axes.set_ylabel(f"prediction scaled to the median time, {unit}")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, loc="lower right")
