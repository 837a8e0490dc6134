"""Groups found by latency against those that the operating system tells.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from corewise._core import Unit


def domains_of(units: Sequence[Unit]) -> dict[str, tuple[int, ...]]:
    """The CPUs of each domain of a machine from hwloc, by its name; of a core its first CPU."""
    members: dict[str, list[int]] = defaultdict(list)
    for unit in units:
        for domain in unit.domains:
            members[domain].append(unit.os_index)
    return {name: tuple(sorted(cpus)) for name, cpus in members.items()}


def differences(found: Iterable[tuple[int, ...]], units: Sequence[Unit]) -> list[str]:
    """A line for each group that only one of both knows; CPUs that hwloc does not list are left out."""
    known = {unit.os_index for unit in units}
    reduced = {tuple(sorted(known & set(group))) for group in found}
    ours = {group for group in reduced if 1 < len(group) < len(known)}
    domains = {name: cpus for name, cpus in domains_of(units).items() if 1 < len(cpus) < len(known)}
    theirs = set(domains.values())
    lines = [
        f"hwloc has {name} (CPUs {ranges(cpus)}); latencies do not show it"
        for name, cpus in domains.items()
        if cpus not in ours
    ]
    unknown = sorted(group for group in ours if group not in theirs)
    return lines + [
        f"latencies show CPUs {ranges(group)} together; hwloc has no such domain" for group in unknown
    ]


def ranges(cpus: Sequence[int]) -> str:
    """``0-7,64-71``, as Linux writes sets of CPUs."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
