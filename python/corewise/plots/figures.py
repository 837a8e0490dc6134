"""Figures of the papers as SVG and PNG: draws any `corewise.analysis.result.Figure` with matplotlib.

Invariant: the same figure gives the same bytes (no date, fixed element ids).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corewise.base import late
from corewise.base.files import staged_file

with late.imports():
    from corewise.analysis.result import Figure, Panel
    from corewise.data.quantities import size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

FORMATS = ("SVG", "PNG")
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000")
"""Told apart by colour-blind readers too (Okabe and Ito)."""
_MARKERS = "osD^vPX*"
_PANEL_INCHES = (5.4, 3.9)
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "svg.hashsalt": "corewise",
}
_DOTS_PER_INCH = 110
_MOST_COLUMNS = 3
_LEGEND_COLUMNS = 3
_MOST_INSIDE = 4
"""Curves of a panel whose legend has room among them; that of more stands below."""
_ENTRY_INCHES, _LETTER_INCHES = 0.6, 0.08
"""A curve's sign in a legend below the panels, and each letter of its name."""
_FEW_DECADES = 2.5
"""A logarithmic axis that spans no more has 1, 2 and 5 of each decade, others their decades alone."""


def write_figures(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Draws every figure into ``folder`` as SVG and PNG; returns what was written, in order.

    Parameters
    ----------
    figures : sequence of Figure
    folder : Path
        Must exist.
    """
    written = []
    for figure in figures:
        paths = [folder / f"{figure.name}.{ending.lower()}" for ending in FORMATS]
        draw(figure, paths)
        written.extend(paths)
    return written


def draw(figure: Figure, paths: Sequence[Path]) -> None:
    """Draws one figure into files whose endings say the formats."""
    # Loading it takes a second, which every other command would wait for.
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    width, height = _PANEL_INCHES
    with mpl.rc_context(_STYLE):
        columns = min(_MOST_COLUMNS, len(figure.panels))
        rows = -(-len(figure.panels) // columns)
        canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
        canvas.suptitle(figure.title, fontsize=11.5, fontweight="bold", wrap=True)
        all_axes = canvas.subplots(rows, columns, squeeze=False).flatten()
        shared = _shares_legend(figure)
        for axes, panel in zip(all_axes, figure.panels, strict=False):
            _draw_panel(axes, panel)
            if len(panel.series) > 1 and not shared:
                _add_legend(axes, panel)
        if shared:
            handles, labels = all_axes[0].get_legend_handles_labels()
            across = max(1, int(width * columns / (_ENTRY_INCHES + _LETTER_INCHES * max(map(len, labels)))))
            canvas.legend(handles, labels, fontsize=9, ncols=across, loc="outside lower center")
        for axes in all_axes[len(figure.panels) :]:
            axes.set_visible(False)
        for path in paths:
            save(canvas, path)


def save(canvas: Canvas, path: Path) -> None:
    """Writes a picture; its suffix says how. The same picture gives the same file."""
    kind = path.suffix.lower().removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with staged_file(path) as file:
        canvas.savefig(file, format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    {"bars": _draw_bars, "line": _draw_lines, "points": _draw_points}[panel.kind](axes, panel)
    for label, level in panel.lines:
        axes.axhline(level, color="#888888", linewidth=1, linestyle="--", zorder=0.5)
        axes.annotate(
            label,
            (1, level),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            color="#555555",
        )
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.y_log:
        _log_axis(axes)
    elif panel.kind == "bars" or (panel.kind == "line" and panel.from_zero):
        axes.set_ylim(bottom=0)


def _log_axis(axes: Axes) -> None:
    """Plain numbers, not powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if high <= low * 10**_FEW_DECADES else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _shares_legend(figure: Figure) -> bool:
    """Whether all panels have the same many curves: then one legend below them says it once."""
    labels = {tuple(series.label for series in panel.series) for panel in figure.panels}
    lines = all(panel.kind == "line" for panel in figure.panels)
    return lines and len(figure.panels) > 1 and len(labels) == 1 and len(next(iter(labels))) > _MOST_INSIDE


def _add_legend(axes: Axes, panel: Panel) -> None:
    """Among few curves there is room, many have theirs below; bars fill their axes, theirs stands above."""
    if panel.kind == "line" and len(panel.series) > _MOST_INSIDE:
        axes.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.27))
    elif panel.kind == "line":
        axes.legend(fontsize=8, loc="best")
    elif panel.kind == "points":
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=3)
    else:
        axes.legend(fontsize=8, ncols=_LEGEND_COLUMNS, loc="lower right", bbox_to_anchor=(1.0, 0.99))


def _draw_lines(axes: Axes, panel: Panel) -> None:
    for index, series in enumerate(panel.series):
        colour = _COLOURS[index % len(_COLOURS)]
        many = len(series.x) > 40
        if series.spread is not None:
            axes.errorbar(
                series.x, series.y, yerr=series.spread, color=colour, fmt="none", capsize=2, linewidth=1
            )
        axes.plot(
            series.x,
            series.y,
            label=series.label,
            color=colour,
            marker=None if many else _MARKERS[index % len(_MARKERS)],
            markersize=4,
            linewidth=1.4,
        )
    if panel.x_log2:
        _size_axis(axes, panel)
    elif panel.x_names is not None:
        axes.set_xticks(range(len(panel.x_names)), panel.x_names)


def _draw_points(axes: Axes, panel: Panel) -> None:
    """A dot per pair of ranks, the first sender on top; marks of the axes stand between ranks."""
    ranks = 1 + max(int(max(*series.x, *series.y)) for series in panel.series)
    for index, series in enumerate(panel.series):
        axes.scatter(
            series.x, series.y, s=2.5, marker="s", linewidths=0, color=_COLOURS[index], label=series.label
        )
    marks = range(0, ranks + 1, max(1, ranks // 8))
    axes.set(xlim=(-0.5, ranks - 0.5), ylim=(ranks - 0.5, -0.5), aspect="equal")
    axes.set_xticks([mark - 0.5 for mark in marks], [str(mark) for mark in marks])
    axes.set_yticks([mark - 0.5 for mark in marks], [str(mark) for mark in marks])
    axes.grid(visible=True, axis="both")


def _size_axis(axes: Axes, panel: Panel) -> None:
    sizes = sorted({size for series in panel.series for size in series.x})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [size_text(size) for size in sizes], fontsize=8, rotation=40)
    axes.minorticks_off()


def _draw_bars(axes: Axes, panel: Panel) -> None:
    wide = 0.8 / len(panel.series)
    for index, series in enumerate(panel.series):
        shift = (index - (len(panel.series) - 1) / 2) * wide
        axes.bar(
            [x + shift for x in series.x],
            series.y,
            width=wide * 0.92,
            yerr=series.spread,
            label=series.label,
            color=_COLOURS[index % len(_COLOURS)],
            capsize=2.5,
            error_kw={"linewidth": 1, "ecolor": "#222222"},
        )
    if panel.x_names is not None:
        long = sum(map(len, panel.x_names)) > 60
        axes.set_xticks(range(len(panel.x_names)), panel.x_names, rotation=90 if long else 0)
