"""`corewise place --spare`: whether a core that is left idle pays, from the noise of a node.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine
    from corewise.data.noise import TEXT, NoiseRecord, described_noise, load_noise

AUTO = "auto"
SPARE = typer.Option(
    None,
    "--spare",
    metavar="auto|FILE|TEXT",
    help="Say when a core left idle pays: by this host's noise, a file of bench node --noise-file, or a text "
    "such as rate=10,length=50us.",
    hidden=True,
)
_ROUNDS = 5


def spare_of(text: str | None, machine: Machine, on_host: bool) -> Mapping[str, object] | None:
    """What can be said, as ``--json`` shows it; None where nobody asked.

    Parameters
    ----------
    text : str or None
        Of the option.
    machine : Machine
        Its cores are those of a node.
    on_host : bool
        Whether it is this host.
    """
    if text is None:
        return None
    # The model is not needed by most calls, and the help of a command would wait for it.
    from corewise.analysis.noise.records import node_noise
    from corewise.analysis.noise.spare import FEWEST_CORES, advise, cores_of

    cores = cores_of(machine)
    record = None if text == AUTO else noise_of(text, "--spare")
    if cores < FEWEST_CORES:
        return _unsaid(cores, f"a node of {cores} cores", FEWEST_CORES)
    if record is not None and 0 < record.cores < FEWEST_CORES:
        return _unsaid(cores, f"noise that was measured on {record.cores} processors", FEWEST_CORES)
    if text == AUTO and not on_host:
        raise InputError(
            f"--spare auto: found machine '{machine.name}', allowed: this host; of another node its noise, "
            f"a file of corewise bench node or a text such as {TEXT}"
        )
    noise = node_noise(record or measured())
    with console.progress("comparing all cores with one idle"):
        advice = advise(noise, cores)
    rows = [
        {
            "nodes": each.nodes,
            "interval_us": each.interval_ns / 1e3,
            "all_cores_us": each.everywhere_ns / 1e3,
            "one_idle_us": each.spared_ns / 1e3,
            "gain": each.gain,
        }
        for each in advice.comparisons
    ]
    return {"cores": cores, "noise": noise.source, "says": list(advice.sentences()), "rows": rows}


def _unsaid(cores: int, what: str, fewest: int) -> Mapping[str, object]:
    says = f"an idle core: nothing is claimed of {what}: it takes {fewest} and more"
    return {"cores": cores, "noise": None, "says": [says], "rows": []}


def noise_of(text: str, option: str) -> NoiseRecord:
    """The noise that an option's text describes, or that of the file which it names."""
    described = "=" in text and not Path(text).exists()
    return described_noise(text, option) if described else load_noise(Path(text))


def measured() -> NoiseRecord:
    """The noise of this host, which takes some seconds."""
    from corewise.bench.node.noise import measure_noise
    from corewise.bench.rows import Listener

    with console.progress_bar(f"measuring the noise of {len(os.sched_getaffinity(0))} processors") as advance:
        record = measure_noise(Listener(advance, console.note), _ROUNDS, quick=True).record()
    assert record is not None  # of one processor nothing is claimed
    return record
