"""`corewise collective`: one collective by one algorithm on simulated SPEs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import typer

from corewise.base import late
from corewise.cli import console
from corewise.cli.settings import WithSettings
from corewise.cli.sim import options
from corewise.errors import InputError, bad_field

with late.imports():
    from rich.text import Text

    from corewise import _lab
    from corewise._core import Machine
    from corewise.data.machines import load_machine
    from corewise.data.quantities import bytes_text, number_text, time_text
    from corewise.data.sizes import size_bytes
    from corewise.data.tuning import SELECTIONS, Selection, value_text
    from corewise.report.layout import Column, FittingTable, by_rows
    from corewise.sim import collective as simulated
    from corewise.sim.collective import CacheUse, CollectiveRun, Setting
    from corewise.sim.selected import Selected, selected

_HELP = """Run a collective on simulated SPEs, by an algorithm of paper 001 or of its future work.

The data are real and checked on every rank. `corewise collective list` shows collectives, algorithms and
settings. Without --algorithm the one runs that tuning/ selects for the ranks and bytes.

\b
Example:
  corewise collective broadcast --ranks 16 --bytes 128 --machine cell-blade
  corewise collective broadcast --algorithm pieces --set min_piece=2KiB --ranks 16 --bytes 1MiB \\
    -m cell-blade --memory own
"""
LIST = "list"
"""Instead of a collective's name: shows what there is."""
_BAR = 20
_CACHE_PARTS = ("line", "sets", "ways")

_MACHINE = typer.Option(
    None,
    "--machine",
    "-m",
    metavar="MACHINE",
    help="One whose model is cell: cell-be, cell-blade, ps3, a file. Required, but for `list`.",
)
_ALGORITHM = typer.Option(
    None, "--algorithm", metavar="NAME", help="By which it runs; without one, the one that tuning/ selects."
)
_SET = typer.Option(
    None,
    "--set",
    metavar="NAME=VALUE",
    help="Of the algorithm, e.g. min_piece=2KiB (corewise collective list), or one of further settings "
    "(corewise explain settings collective). Repeatable.",
)
_RANKS = typer.Option(None, "--ranks", metavar="N", help="That take part; without it, one per SPE.")
_BYTES = typer.Option(
    "0", "--bytes", "-b", metavar="SIZE", help='Of the operand or of each block: 128 or "64 KiB".'
)
_ROOT = typer.Option(None, "--root", metavar="RANK", help="Of broadcast, reduce, gather, scatter.")
_MEMORY = typer.Option(
    None,
    "--memory",
    metavar="WHERE",
    help="User data in main memory of the first or second chip, of each rank's own, interleaved (page by "
    "page) or first_touch (rank by rank) over both, or in its local_store.",
)
_CACHE = typer.Option(
    None,
    "--cache",
    metavar="LINE:SETS:WAYS",
    help="User data in main memory behind a software cache in each rank's local store, e.g. 128:64:4.",
)
_OPERATION = typer.Option(
    None, "--operation", metavar="NAME", help="sum, maximum, ..., user_sum, user_compose."
)
_ELEMENT = typer.Option(None, "--element", metavar="NAME", help="int32, float64, ...", hidden=True)
_STRIDE = typer.Option(
    None,
    "--stride",
    metavar="BLOCK:STRIDE",
    help="Data of collectives with a root: blocks of so many bytes so far apart.",
    hidden=True,
)
_RECEIVE_STRIDE = typer.Option(
    None,
    "--receive-stride",
    metavar="BLOCK:STRIDE",
    help="Of the data where they are received; without it, as they are sent.",
    hidden=True,
)
_IN_PLACE = typer.Option(False, "--in-place", help="Results replace operands.", hidden=True)
_UNEVEN = typer.Option(
    False, "--uneven", help="The vector versions' blocks differ, with gaps between.", hidden=True
)
_UNALIGNED = typer.Option(False, "--unaligned", help="User buffers begin at odd places.", hidden=True)
_DELAY = typer.Option(
    None, "--delay", metavar="NS", help="Ranks start up to so many ns later, at random.", hidden=True
)
_CALLS = typer.Option(
    None, "--calls", metavar="N", help="Measured one by one, then back to back.", hidden=True
)
_WARM_UP = typer.Option(None, "--warm-up", metavar="N", help="Calls before.", hidden=True)
_SELECTION = typer.Option(
    None,
    "--selection",
    metavar="SET",
    help="Without --algorithm: all, or paper (those of paper 001 alone).",
    hidden=True,
)
_SEED = typer.Option(None, "--seed", metavar="N", help="Of data and delays.", hidden=True)
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `collective`."""
    app.command("collective", help=_HELP, cls=WithSettings)(collective)


def collective(
    name: str = typer.Argument(..., metavar="COLLECTIVE|list", help="barrier, broadcast, reduce, ..."),
    machine_reference: str | None = _MACHINE,
    placement: str = options.PLACEMENT,
    algorithm: str | None = _ALGORITHM,
    settings: list[str] = _SET,
    ranks: int | None = _RANKS,
    size: str = _BYTES,
    root: int | None = _ROOT,
    memory: str | None = _MEMORY,
    cache: str | None = _CACHE,
    operation: str | None = _OPERATION,
    element: str | None = _ELEMENT,
    stride: str | None = _STRIDE,
    receive_stride: str | None = _RECEIVE_STRIDE,
    in_place: bool = _IN_PLACE,
    uneven: bool = _UNEVEN,
    unaligned: bool = _UNALIGNED,
    delay: int | None = _DELAY,
    calls: int | None = _CALLS,
    warm_up: int | None = _WARM_UP,
    seed: int | None = _SEED,
    selection: str | None = _SELECTION,
    as_json: bool = _AS_JSON,
) -> None:
    """Runs it and shows what it took."""
    if name == LIST:
        _show_list(as_json)
        return
    if machine_reference is None:
        raise InputError("option '--machine': found nothing, allowed: a machine whose model is cell")
    machine = load_machine(machine_reference)
    call = _Call(name, len(machine.units) if ranks is None else ranks, size_bytes(size, "bytes"))
    by = _algorithm(machine, call, algorithm, selection)
    fields: dict[str, object] = {
        "root": root,
        "memory": memory,
        "operation": operation,
        "element": element,
        "in_place": in_place,
        "uneven": uneven,
        "unaligned": unaligned,
        "delay_ns": delay,
        "calls": calls,
        "warm_up": warm_up,
        "seed": seed,
        **_cache(cache),
        **_stride(stride, "stride"),
        **_stride(receive_stride, "receive_stride", "receive_"),
    }
    _check_root(name, root)
    given = {field: value for field, value in fields.items() if value is not None}
    chosen = {**by.settings, **_settings(settings or [])}
    request = _lab.CollectiveRequest(name, by.algorithm, call.ranks, call.bytes, settings=chosen, **given)
    with console.progress("simulating"):
        run = simulated.simulate_collective(machine, request, options.placed(placement, machine))
    tuned = by if algorithm is None else None
    if as_json:
        console.show_json("collective", machine.name, _rank_rows(run), **_more(run, placement, tuned))
    else:
        _show(run, tuned)


# ---- what is asked for -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """What a tuning needs to know."""

    collective: str
    ranks: int
    bytes: int


def _check_root(name: str, root: int | None) -> None:
    """The core takes 0 for what nobody said, and refuses any other root of what has none."""
    if root == 0 and not simulated.find_collective(name).rooted:
        rooted = ", ".join(each.name for each in simulated.collectives().values() if each.rooted)
        raise bad_field("", "root", "0", f"only for {rooted}")


def _algorithm(machine: Machine, call: _Call, algorithm: str | None, selection: str | None) -> Selected:
    """The algorithm that was asked for, or what the tuning selects."""
    among = _selection(selection)
    if algorithm is None:
        return selected(machine, call.collective, call.ranks, call.bytes, among)
    if selection is not None:
        raise InputError("option '--selection': found beside --algorithm, allowed: only without")
    return Selected(algorithm, {}, machine.name, 0)


def _settings(texts: Sequence[str]) -> dict[str, str]:
    """From ``NAME=VALUE`` texts, e.g. ``min_piece=2KiB``, ``closing=counters``; the core reads the values."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise bad_field("", "set", f"'{text}'", "NAME=VALUE")
        if name in found:
            raise bad_field("", "set", f"'{name}' twice", "once")
        found[name] = value
    return found


def _stride(text: str | None, option: str, side: str = "") -> dict[str, int]:
    if text is None:
        return {}
    block, colon, stride = text.partition(":")
    if not colon:
        raise bad_field("", option, f"'{text}'", "BLOCK:STRIDE in bytes, e.g. 64:256")
    return {
        f"{side}block_bytes": size_bytes(block, "block"),
        f"{side}stride_bytes": size_bytes(stride, "stride"),
    }


def _cache(text: str | None) -> dict[str, int]:
    if text is None:
        return {}
    parts = text.split(":")
    if len(parts) != 3 or not all(part.strip() for part in parts) or size_bytes(parts[0], "line") == 0:
        raise bad_field("", "cache", f"'{text}'", "LINE:SETS:WAYS, e.g. 128:64:4")
    line, sets, ways = (size_bytes(part, field) for part, field in zip(parts, _CACHE_PARTS, strict=True))
    return {"cache_line_bytes": line, "cache_sets": sets, "cache_ways": ways}


def _selection(text: str | None) -> Selection:
    for known in SELECTIONS:
        if known == (text or "all"):
            return known
    raise bad_field("", "selection", f"'{text}'", ", ".join(SELECTIONS))


# ---- the list ---------------------------------------------------------------------------------------------


def _show_list(as_json: bool) -> None:
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
        console.show_json("collective list", None, rows, settings=list(map(_setting_row, _all_settings())))
        return
    for each in known:
        if not each.algorithms:
            continue
        columns = [Column("algorithm"), Column("how it works", wrap=True), Column("takes", wrap=True)]
        shared = {setting.name for setting in _all_settings() if _of_every(setting)}
        cells = [
            (row.name, row.what, " ".join(name for name in row.defaults if name not in shared))
            for row in each.algorithms
        ]
        console.show(by_rows(columns, cells, each.name), "")
    columns = [Column("setting"), Column("values", wrap=True), Column("meaning", wrap=True)]
    cells = [(setting.name, setting.allowed, setting.meaning) for setting in _all_settings()]
    every = ", ".join(setting.name for setting in _all_settings() if _of_every(setting))
    console.show(by_rows(columns, cells, "settings (--set NAME=VALUE)", f"of every algorithm: {every}"))


def _all_settings() -> list[Setting]:
    return list(simulated.settings().values())


def _of_every(setting: Setting) -> bool:
    rows = [row for each in simulated.collectives().values() for row in each.algorithms]
    return all(setting.name in row.defaults for row in rows)


def _setting_row(setting: Setting) -> dict[str, object]:
    return {"setting": setting.name, "allowed": setting.allowed, "meaning": setting.meaning}


# ---- text and JSON ---------------------------------------------------------------------------------------


def _selected_text(run: CollectiveRun, tuned: Selected | None) -> str:
    """Where the algorithm is from, with a comma; empty where it was asked for."""
    if tuned is None:
        return ""
    whose = "" if tuned.machine == run.machine.name else f" of {tuned.machine}"
    near = "" if tuned.ranks == run.request.ranks else f" for {tuned.ranks} ranks, the nearest measured"
    return f"selected by tuning/{whose}{near}, "


def _show(run: CollectiveRun, tuned: Selected | None) -> None:
    request = run.request
    head = Text(f"{request.collective} by {request.algorithm}", style="bold")
    size = "" if request.collective == "barrier" else f", {bytes_text(request.bytes)}"
    head.append(f" on {run.machine.name}: {request.ranks} ranks{size}", style="none")
    if simulated.find_collective(request.collective).rooted:
        head.append(f", root {request.root}", style="none")
    console.show(head)
    given = " ".join(f"{name}={value_text(value)}" for name, value in run.settings.items())
    console.show(f"{_selected_text(run, tuned)}with {given}", "")
    console.show(_sums(run), "", _ranks(run))
    if request.collective == "barrier":
        console.show("no rank left before the last one had come")
    else:
        console.show("the data of every rank are right, checked against a serial reference")


def _sums(run: CollectiveRun) -> FittingTable:
    calls = "call" if run.request.calls == 1 else "calls"
    rows = [
        ("latency, common start to last rank done", time_text(run.mean_latency_ns, 4)),
        (f"time per call, {run.request.calls} {calls} back to back", time_text(run.throughput_ns, 4)),
    ]
    for chip, each in enumerate(run.memories):
        moved = f"{bytes_text(round(each.read_bytes))} read, {bytes_text(round(each.written_bytes))} written"
        rows.append((f"memory {chip}, per call", f"{moved}, {each.gb_per_s:.2f} GB/s"))
    rows.append(("DMA commands per call", number_text(run.dma_commands, 4)))
    rows.append(("local store of a rank, beside code and data", f"{run.local_store_bytes} B"))
    if run.cache is not None:
        use = run.cache
        counts = f"{number_text(use.hits, 4)} hits, {number_text(use.misses, 4)} misses, "
        counts += f"{number_text(use.write_backs, 4)} write-backs"
        rows.append(("software caches, per call", counts))
        rows.append(("of that, a rank's cache", f"{use.local_store_bytes} B"))
    return by_rows([Column("", wrap=True), Column("", wrap=True)], rows)


def _ranks(run: CollectiveRun) -> FittingTable:
    columns = [
        Column("rank", right=True),
        Column("SPE", right=True),
        Column("done after", right=True),
        Column("", importance=1),
    ]
    latest = max(float(run.rank_end_ns.max()), 1e-9)
    rows = [
        (str(rank), str(spe), time_text(end, 4), "█" * round(_BAR * end / latest))
        for rank, (spe, end) in enumerate(zip(run.spes, run.rank_end_ns.tolist(), strict=True))
    ]
    return by_rows(columns, rows, "the last call, rank by rank")


def _rank_rows(run: CollectiveRun) -> list[dict[str, object]]:
    ends = run.rank_end_ns.tolist()
    return [
        {"rank": rank, "spe": spe, "end_ns": end}
        for rank, (spe, end) in enumerate(zip(run.spes, ends, strict=True))
    ]


def _cache_row(request: _lab.CollectiveRequest, use: CacheUse) -> dict[str, object]:
    return {
        "line_bytes": request.cache_line_bytes,
        "sets": request.cache_sets,
        "ways": request.cache_ways,
        **asdict(use),
    }


def _more(run: CollectiveRun, placement: str, tuned: Selected | None) -> dict[str, object]:
    request = run.request
    return {
        "collective": request.collective,
        "algorithm": request.algorithm,
        "settings": dict(run.settings),
        "selected": None if tuned is None else {"machine": tuned.machine, "ranks": tuned.ranks},
        "ranks": request.ranks,
        "bytes": request.bytes,
        "root": request.root,
        "memory": request.memory,
        "operation": request.operation,
        "element": request.element,
        "block_bytes": request.block_bytes,
        "stride_bytes": request.stride_bytes,
        "receive_block_bytes": request.receive_block_bytes,
        "receive_stride_bytes": request.receive_stride_bytes,
        "in_place": request.in_place,
        "uneven": request.uneven,
        "unaligned": request.unaligned,
        "delay_ns": request.delay_ns,
        "warm_up": request.warm_up,
        "calls": request.calls,
        "seed": request.seed,
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
        "software_cache": None if run.cache is None else _cache_row(run.request, run.cache),
        "events": run.events,
    }
