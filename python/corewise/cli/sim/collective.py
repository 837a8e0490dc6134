"""`corewise sim --collective`: one collective by one algorithm on simulated SPEs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from corewise.cli import console
from corewise.data.machines import load_machine
from corewise.data.placement import load_placement
from corewise.data.quantities import bytes_text
from corewise.data.sizes import size_bytes
from corewise.data.tuning import SELECTIONS, Selection
from corewise.errors import InputError, bad_field
from corewise.sim import collective as simulated
from corewise.sim.collective import CollectiveRun, Selected, Setting, Task, Value

LIST = "list"
"""Instead of a collective's name: shows what there is."""
_BAR = 20

COLLECTIVE = typer.Option(
    None,
    "--collective",
    metavar="NAME",
    help="Instead of a pattern: a collective on simulated SPEs; `list` shows algorithms and settings.",
)
ALGORITHM = typer.Option(
    None, "--algorithm", metavar="NAME", help="By which it runs; without one, the one that tuning/ selects."
)
SET = typer.Option(
    None, "--set", metavar="NAME=VALUE", help="Of the algorithm, e.g. min_piece=2KiB. Repeatable."
)
RANKS = typer.Option(None, "--ranks", metavar="N", help="That take part; without it, one per SPE.")
BYTES = typer.Option(
    None, "--bytes", "-b", metavar="SIZE", help='Of the operand or of each block: 128 or "64 KiB".'
)
ROOT = typer.Option(None, "--root", metavar="RANK", help="Of broadcast, reduce, gather, scatter.")
MEMORY = typer.Option(
    None,
    "--memory",
    metavar="WHERE",
    help="User data in main memory of the first or second chip, of each rank's own, or in its local_store.",
)
OPERATION = typer.Option(
    None, "--operation", metavar="NAME", help="sum, maximum, ..., user_sum, user_compose."
)
ELEMENT = typer.Option(None, "--element", metavar="NAME", help="int32, float64, ...")
STRIDE = typer.Option(
    None,
    "--stride",
    metavar="BLOCK:STRIDE",
    help="A broadcast's buffers: blocks of so many bytes so far apart.",
)
IN_PLACE = typer.Option(False, "--in-place", help="Results replace operands.")
UNEVEN = typer.Option(False, "--uneven", help="The vector versions' blocks differ, with gaps between.")
UNALIGNED = typer.Option(False, "--unaligned", help="User buffers begin at odd places.")
DELAY = typer.Option(None, "--delay", metavar="NS", help="Ranks start up to so many ns later, at random.")
CALLS = typer.Option(None, "--calls", metavar="N", help="Measured one by one, then back to back.")
WARM_UP = typer.Option(None, "--warm-up", metavar="N", help="Calls before.")
SELECTION = typer.Option(
    None, "--selection", metavar="SET", help="Without --algorithm: all, or paper (those of paper 001 alone)."
)


@dataclass(frozen=True)
class Wanted:
    """The options that only a collective has; None, empty or False: not given."""

    name: str | None = None
    algorithm: str | None = None
    settings: list[str] = field(default_factory=list)
    ranks: int | None = None
    size: str | None = None
    root: int | None = None
    memory: str | None = None
    operation: str | None = None
    element: str | None = None
    stride: str | None = None
    in_place: bool = False
    uneven: bool = False
    unaligned: bool = False
    delay: int | None = None
    calls: int | None = None
    warm_up: int | None = None
    selection: str | None = None

    def given(self) -> list[str]:
        """The options, besides --collective, that were given."""
        options = {
            "--algorithm": self.algorithm,
            "--set": self.settings or None,
            "--ranks": self.ranks,
            "--bytes": self.size,
            "--root": self.root,
            "--memory": self.memory,
            "--operation": self.operation,
            "--element": self.element,
            "--stride": self.stride,
            "--in-place": self.in_place or None,
            "--uneven": self.uneven or None,
            "--unaligned": self.unaligned or None,
            "--delay": self.delay,
            "--calls": self.calls,
            "--warm-up": self.warm_up,
            "--selection": self.selection,
        }
        return [name for name, value in options.items() if value is not None]

    def fields(self) -> list[str]:
        """The fields of a `Task` that were given, of those that only some collectives have."""
        options = {
            "bytes": self.size,
            "memory": self.memory,
            "unaligned": self.unaligned or None,
            "root": self.root,
            "uneven": self.uneven or None,
            "operation": self.operation,
            "element": self.element,
        }
        return [name for name, value in options.items() if value is not None]


def show_collectives(as_json: bool) -> None:
    """Collectives with their algorithms, and the settings."""
    known = simulated.collectives().values()
    if as_json:
        rows: list[dict[str, object]] = [
            {
                "collective": each.name,
                "algorithm": row.name,
                "what": row.what,
                "commutative_only": row.commutes,
                "settings": dict(row.defaults),
            }
            for each in known
            for row in each.algorithms
        ]
        console.show_json("sim collectives", None, rows, settings=list(map(_setting_row, _all_settings())))
        return
    for each in known:
        if not each.algorithms:
            continue
        table = Table("algorithm", "how it works", "takes", title_justify="left")
        shared = {setting.name for setting in _all_settings() if _of_every(setting)}
        for row in each.algorithms:
            table.add_row(row.name, row.what, " ".join(name for name in row.defaults if name not in shared))
        console.show(Text(each.name, style="bold"), table, "")
    table = Table("setting", "values", "meaning")
    for setting in _all_settings():
        table.add_row(setting.name, setting.allowed, setting.meaning)
    every = ", ".join(setting.name for setting in _all_settings() if _of_every(setting))
    console.show(Text("settings (--set NAME=VALUE)", style="bold"), table, f"of every algorithm: {every}")


def _all_settings() -> list[Setting]:
    return list(simulated.settings().values())


def _of_every(setting: Setting) -> bool:
    rows = [row for each in simulated.collectives().values() for row in each.algorithms]
    return all(setting.name in row.defaults for row in rows)


def _setting_row(setting: Setting) -> dict[str, object]:
    return {"setting": setting.name, "allowed": setting.allowed, "meaning": setting.meaning}


def sim_collective(
    wanted: Wanted, machine_reference: str | None, placement: str, seed: int | None, as_json: bool
) -> None:
    """Runs it and shows what it took."""
    if wanted.name == LIST:
        show_collectives(as_json)
        return
    if machine_reference is None:
        raise InputError("option '--machine': found nothing, allowed: a machine whose model is cell")
    machine = load_machine(machine_reference)
    collective = simulated.find_collective(wanted.name or "")
    name = collective.name
    simulated.refuse_meaningless(collective, wanted.operation or Task.operation, wanted.fields())
    selection = _selection(wanted.selection)
    if wanted.selection is not None and wanted.algorithm is not None:
        raise InputError("option '--selection': found beside --algorithm, allowed: only without")
    ranks = len(machine.units) if wanted.ranks is None else wanted.ranks
    size = 0 if wanted.size is None else size_bytes(wanted.size, "bytes")
    algorithm, chosen = wanted.algorithm, simulated.parse_settings(wanted.settings)
    tuned: Selected | None = None
    if algorithm is None:
        tuned = simulated.selected(machine, name, ranks, size, selection)
        algorithm, chosen = tuned.algorithm, {**tuned.settings, **chosen}
    block, stride = _stride(wanted.stride)
    task = Task(
        collective=name,
        algorithm=simulated.find_algorithm(name, algorithm).name,
        ranks=ranks,
        bytes=size,
        root=wanted.root or 0,
        settings=chosen,
        memory=wanted.memory or simulated.MEMORIES[0],
        operation=wanted.operation or Task.operation,
        element=wanted.element or Task.element,
        block_bytes=block,
        stride_bytes=stride,
        in_place=wanted.in_place,
        uneven=wanted.uneven,
        unaligned=wanted.unaligned,
        delay_ns=wanted.delay or 0,
        warm_up=Task.warm_up if wanted.warm_up is None else wanted.warm_up,
        calls=Task.calls if wanted.calls is None else wanted.calls,
        seed=seed or Task.seed,
    )
    path = Path(placement)
    from_file = bool(path.suffix) or "/" in placement or path.is_file()
    units = load_placement(path, machine).unit_of_rank if from_file else placement
    with console.progress("simulating"):
        run = simulated.simulate_collective(machine, task, units)
    if as_json:
        console.show_json("sim collective", machine.name, _rank_rows(run), **_more(run, placement, tuned))
    else:
        _show(run, tuned)


def _stride(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 0
    block, colon, stride = text.partition(":")
    if not colon:
        raise bad_field("", "stride", f"'{text}'", "BLOCK:STRIDE in bytes, e.g. 64:256")
    return size_bytes(block, "block"), size_bytes(stride, "stride")


def _selection(text: str | None) -> Selection:
    for known in SELECTIONS:
        if known == (text or "all"):
            return known
    raise bad_field("", "selection", f"'{text}'", ", ".join(SELECTIONS))


# ---- text and JSON ---------------------------------------------------------------------------------------


def _time(ns: float) -> str:
    return f"{ns / 1000:.4g} us" if ns >= 1000 else f"{ns:.4g} ns"


def _value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _selected_text(run: CollectiveRun, tuned: Selected | None) -> str:
    """Where the algorithm is from, with a comma; empty where it was asked for."""
    if tuned is None:
        return ""
    whose = "" if tuned.machine == run.machine.name else f" of {tuned.machine}"
    near = "" if tuned.ranks == run.task.ranks else f" for {tuned.ranks} ranks, the nearest measured"
    return f"selected by tuning/{whose}{near}, "


def _show(run: CollectiveRun, tuned: Selected | None) -> None:
    task = run.task
    head = Text(f"{task.collective} by {task.algorithm}", style="bold")
    size = "" if task.collective == "barrier" else f", {bytes_text(task.bytes)}"
    head.append(f" on {run.machine.name}: {task.ranks} ranks{size}", style="none")
    if simulated.find_collective(task.collective).rooted:
        head.append(f", root {task.root}", style="none")
    console.show(head)
    given = " ".join(f"{name}={_value(value)}" for name, value in run.settings.items())
    console.show(f"{_selected_text(run, tuned)}with {given}", "")
    table = Table("", "")
    table.show_header = False
    calls = "call" if task.calls == 1 else "calls"
    table.add_row("latency, common start to last rank done", _time(run.mean_latency_ns))
    table.add_row(f"time per call, {task.calls} {calls} back to back", _time(run.throughput_ns))
    for chip, each in enumerate(run.memories):
        moved = f"{bytes_text(round(each.read_bytes))} read, {bytes_text(round(each.written_bytes))} written"
        table.add_row(f"memory {chip}, per call", f"{moved}, {each.gb_per_s:.2f} GB/s")
    table.add_row("DMA commands per call", f"{run.dma_commands:.4g}")
    table.add_row("local store of a rank, beside code and data", f"{run.local_store_bytes} B")
    console.show(table, "")
    ranks = Table("rank", "SPE", "done after", "")
    latest = max(float(run.rank_end_ns.max()), 1e-9)
    for rank, (spe, end) in enumerate(zip(run.spes, run.rank_end_ns.tolist(), strict=True)):
        ranks.add_row(str(rank), str(spe), _time(end), "█" * round(_BAR * end / latest))
    console.show(Text("the last call, rank by rank", style="bold"), ranks)
    if task.collective == "barrier":
        console.show("no rank left before the last one had come")
    else:
        console.show("the data of every rank are right, checked against a serial reference")


def _rank_rows(run: CollectiveRun) -> list[dict[str, object]]:
    ends = run.rank_end_ns.tolist()
    return [
        {"rank": rank, "spe": spe, "end_ns": end}
        for rank, (spe, end) in enumerate(zip(run.spes, ends, strict=True))
    ]


def _more(run: CollectiveRun, placement: str, tuned: Selected | None) -> dict[str, object]:
    task = run.task
    return {
        "collective": task.collective,
        "algorithm": task.algorithm,
        "settings": dict(run.settings),
        "selected": None if tuned is None else {"machine": tuned.machine, "ranks": tuned.ranks},
        "ranks": task.ranks,
        "bytes": task.bytes,
        "root": task.root,
        "memory": task.memory,
        "operation": task.operation,
        "element": task.element,
        "block_bytes": task.block_bytes,
        "stride_bytes": task.stride_bytes,
        "in_place": task.in_place,
        "uneven": task.uneven,
        "unaligned": task.unaligned,
        "delay_ns": task.delay_ns,
        "warm_up": task.warm_up,
        "calls": task.calls,
        "seed": task.seed,
        "placement": placement,
        "latency_ns": run.mean_latency_ns,
        "latencies_ns": run.latency_ns.tolist(),
        "throughput_ns": run.throughput_ns,
        "memories": [
            {"read_bytes": each.read_bytes, "written_bytes": each.written_bytes, "gb_per_s": each.gb_per_s}
            for each in run.memories
        ],
        "dma_commands": run.dma_commands,
        "local_store_bytes": run.local_store_bytes,
        "events": run.events,
    }
