"""Section 8's two forms of a 2D FFT in simulation, on as many processors as figure 8 has, and more.

``apps/fftsteps`` has the steps of both: pure MPI with a rank on each processor and a blocking all-to-all,
and a rank on each node whose workers compute while its communicator exchanges blocks. Every time is
simulated: the same sizes give the same times on any host.

The cluster is of Blue Horizon's kind: nodes of eight processors. What a copy reaches is the paper's (section
3); `ASSUMED` has what the paper does not tell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise.analysis.result import Progress
from corewise.base.files import read_text
from corewise.errors import RunError
from corewise.mpi.programs import sources_of
from corewise.papers.node.data import BATCH_LOSS, NODE_CORES, Transformed
from corewise.papers.runner import Work, on_all_cores, unseen
from corewise.sim.ranks import RunOptions, compile_program, run_program

COPY_MB_PER_S = {"plain": 184, "tuned": 283}
"""Section 3: packing and transposing are plain, messages inside a node as quick as the tuned copy."""
ASSUMED: Mapping[str, float] = {
    "flops_per_ns": 0.3,
    "link_mb_per_s": 350,
    "core_hop_us": 4,
    "node_hop_us": 6,
}
"""A processor in a transform, a node's link, and latencies: 8 us inside a node, 20 us between nodes."""
BLOCKS = 8
"""That a node's rows are exchanged in."""
_LINE = re.compile(r"fftsteps form=(\w+) .*\bus=([\d.]+)")


@dataclass(frozen=True)
class Plan:
    """Sides of the matrix, and on how many processors; a form has no more ranks than rows."""

    sides: tuple[int, ...]
    processors: tuple[int, ...]

    def cases(self) -> list[tuple[int, int]]:
        """Side and processors."""
        return [(side, count) for side in self.sides for count in self.processors if count <= side]


QUICK = Plan((1024,), (64, 128, 256, 512, 1024))
FULL = Plan((1024, 2048, 4096), (64, 128, 256, 512, 1024, 2048, 4096))


@dataclass(frozen=True)
class _Run:
    """One form on one cluster; `loss` is what batch nodes take from every worker."""

    side: int
    processors: int
    form: str
    loss: float


_FORMS = (("blocking", 0.0), ("dataflow", 0.0), ("dataflow", BATCH_LOSS))
"""What `Transformed` has a time of, in its order."""


def transformed(plan: Plan, progress: Progress = unseen) -> list[Transformed]:
    """Both forms on every number of processors."""
    runs = [_Run(*case, *form) for case in plan.cases() for form in _FORMS]
    advance = Work(len(runs), progress)
    with tempfile.TemporaryDirectory(prefix="corewise-paper-") as name:
        folder = Path(name)
        program = folder / "fftsteps.sim"
        sources = [str(each) for each in sources_of("fftsteps")]
        if compile_program(["-O2", "-std=c++20", *sources, "-o", str(program)], cxx=True) != 0:
            raise RunError("paper node: fftsteps cannot be compiled for simulated ranks")
        times = iter(on_all_cores(lambda run: _time_us(program, run), runs, lambda _: advance()))
    return [Transformed(*case, next(times), next(times), next(times)) for case in plan.cases()]


def _time_us(program: Path, run: _Run) -> float:
    nodes = run.processors // NODE_CORES
    folder = Path(tempfile.mkdtemp(dir=program.parent))
    machine, said = folder / "nodes.json", folder / "said.txt"
    machine.write_text(json.dumps(cluster_document(nodes)), encoding="utf-8")
    units = range(0, run.processors, NODE_CORES) if run.form == "dataflow" else range(run.processors)
    words = ["--size", str(run.side), "--form", run.form, "--threads", str(NODE_CORES)]
    words += ["--blocks", str(BLOCKS)]
    words += ["--flops-per-ns", str(ASSUMED["flops_per_ns"] / (1 + run.loss))]
    words += ["--bytes-per-ns", str(COPY_MB_PER_S["plain"] / 1e3 / (1 + run.loss))]
    ran = run_program(program, words, len(units), str(machine), list(units), RunOptions(output=said))
    found = _LINE.search(read_text(said)) if ran.ok else None
    if found is None or found[1] != run.form:
        raise RunError(f"paper node: fftsteps on {len(units)} ranks: {ran.message or 'printed no time'}")
    return float(found[2])


def cluster_document(nodes: int) -> dict[str, object]:
    """Nodes of eight processors behind a link each, as a machine file has them."""

    def level(name: str, count: int, mb_per_s: float, hop_us: float) -> dict[str, object]:
        rate = f"{mb_per_s:g} MB/s"
        return {
            "name": name,
            "count": count,
            "up_bandwidth": rate,
            "down_bandwidth": rate,
            "hop_latency": f"{hop_us * 1e3:g} ns",
        }

    levels = [
        level("node", nodes, ASSUMED["link_mb_per_s"], ASSUMED["node_hop_us"]),
        level("core", NODE_CORES, COPY_MB_PER_S["tuned"], ASSUMED["core_hop_us"]),
    ]
    return {
        "format": "corewise-machine",
        "version": 1,
        "name": f"nodes-{nodes}",
        "interconnect": {"kind": "tree", "level": levels},
    }
