"""Findings about how a run was launched: mistakes that the ranks themselves show.

Each rank records on which processing units it may run when it starts. So a binding is read back here, never
assumed from the launcher's words.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from corewise._core import World
from corewise.analysis.profile.findings.finding import Finding
from corewise.analysis.profile.findings.run import Run
from corewise.data.quantities import count_text, cpu_list, share_text

_BINDS = re.compile(
    r"(?:^|\s)(?:--?bind-to\s+(?:core|hwthread|user:\S+|hwthread:\S+|core:\S+)\b|--rankfile\s|--?rf\s"
    r"|--cpu-set\s|--map-by\s+\S*(?:rankfile|pe-list)|--cpu-bind[= ]\S*map_cpu)"
)
"""Words of launchers that ask for ranks bound to a core each: Open MPI, Hydra, Slurm."""
Cpus = frozenset[int]


def launch_mistakes(run: Run) -> list[Finding]:
    """What is wrong with a launch; several hosts are looked at one by one."""
    hosts = cpus_by_host(run.analysis.world)
    found = []
    for host, ranks in hosts.items():
        place = "" if len(hosts) == 1 else f" on {host}"
        found += _crowded(ranks, place)
    asked = " ".join(run.analysis.profile.meta.command)
    found += _ignored(hosts, asked) or ([] if found else _unbound(hosts))
    return found + _quota(run)


def cpus_by_host(world: World) -> Mapping[str, Mapping[int, Cpus]]:
    """On which processing units every rank may run, by host; ranks that do not say are left out."""
    found: defaultdict[str, dict[int, Cpus]] = defaultdict(dict)
    for rank in world.ranks:
        if rank.cpus_start:
            found[rank.host][rank.rank] = frozenset(map(int, rank.cpus_start))
    return found


def ranks_with_a_core(ranks: Sequence[Cpus]) -> int:
    """How many ranks can have a processing unit of their own at once: a largest matching."""
    units = sorted(frozenset[int]().union(*ranks))
    column = {unit: at for at, unit in enumerate(units)}
    pairs = [(row, column[unit]) for row, cpus in enumerate(ranks) for unit in cpus]
    rows, columns = zip(*pairs, strict=True)
    graph = csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(ranks), len(units)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def _crowded(ranks: Mapping[int, Cpus], place: str) -> list[Finding]:
    """More ranks than cores, or ranks bound to one core while another is idle."""
    allowed = frozenset[int]().union(*ranks.values())
    served = ranks_with_a_core(list(ranks.values()))
    if served == len(ranks):
        return []
    numbers = {"ranks": float(len(ranks)), "cores": float(len(allowed)), "served": float(served)}
    without = 1 - served / len(ranks)
    lost = f"at any moment at least {share_text(without)} of the ranks have no core to run on"
    if len(ranks) > len(allowed):
        return [
            Finding(
                "more-ranks-than-cores",
                f"{len(ranks)} ranks share {_cores(len(allowed))}{place}",
                f"they may run on CPUs {cpu_list(sorted(allowed))}; {lost}, and ranks that wait take cores "
                "from ranks that work",
                f"allow the ranks more CPUs, or launch {_ranks(len(allowed))}",
                run_share=without,
                numbers=numbers,
            )
        ]
    return [_sharing(ranks, place, without, lost, numbers)]


def _sharing(
    ranks: Mapping[int, Cpus], place: str, without: float, lost: str, numbers: Mapping[str, float]
) -> Finding:
    by_cpus: defaultdict[Cpus, list[int]] = defaultdict(list)
    for rank, cpus in ranks.items():
        by_cpus[cpus].append(rank)
    cpus, together = max(by_cpus.items(), key=lambda each: (len(each[1]) / len(each[0]), -each[1][0]))
    return Finding(
        "sharing",
        f"ranks {cpu_list(sorted(together))} share {'CPU' if len(cpus) == 1 else 'CPUs'} "
        f"{cpu_list(sorted(cpus))}{place} while others are idle",
        lost,
        "corewise advise binds each rank to a core of its own",
        run_share=without,
        rank=min(together),
        numbers=numbers,
    )


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _ignored(hosts: Mapping[str, Mapping[int, Cpus]], asked: str) -> list[Finding]:
    """A binding to cores was asked for, and some rank may run on several that another rank may run on too."""
    found = _BINDS.search(asked)
    if found is None:
        return []
    loose = [
        rank
        for ranks in hosts.values()
        for rank, cpus in ranks.items()
        if len(cpus) > 1 and any(cpus & others for other, others in ranks.items() if other != rank)
    ]
    if not loose:
        return []
    return [
        Finding(
            "ignored-binding",
            f"the launcher ignored '{found[0].strip()}': rank {loose[0]} may run where other ranks run",
            f"read back from the ranks; {count_text(len(loose))} of them are not bound as asked",
            "corewise doctor",
            rank=loose[0],
            numbers={"ranks": float(len(loose))},
        )
    ]


def _unbound(hosts: Mapping[str, Mapping[int, Cpus]]) -> list[Finding]:
    """Ranks that may all run on the same several cores: the system may move them from their caches."""
    for ranks in hosts.values():
        sets = set(ranks.values())
        if len(ranks) > 1 and len(sets) == 1 and len(cpus := next(iter(sets))) > 1:
            return [
                Finding(
                    "unbound",
                    f"ranks are not bound: each may run on CPUs {cpu_list(sorted(cpus))}",
                    "read back from the ranks; the system may move a rank away from its data",
                    "--bind-to core (Open MPI), -bind-to core (MPICH), --cpu-bind=cores (Slurm)",
                    numbers={"cores": float(len(cpus))},
                )
            ]
    return []


def _quota(run: Run) -> list[Finding]:
    """A control group that gives the launch less processor time than its ranks would use."""
    quota, ranks = run.quota_cores, run.analysis.world.size
    if quota is None or quota >= ranks:
        return []
    return [
        Finding(
            "quota",
            f"the system gives this launch {quota:.3g} cores' time, and {ranks} ranks ask for {ranks}",
            "by the quota of its control group (cpu.max): ranks stand still when it is used up",
            f"raise the quota, or launch {_ranks(max(1, int(quota)))}",
            run_share=1 - quota / ranks,
            numbers={"quota_cores": quota, "ranks": float(ranks)},
        )
    ]
