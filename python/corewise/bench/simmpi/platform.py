"""A machine as SimGrid reads it: hosts, links, and a route for every pair.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from corewise._core import Machine


def platform_xml(machine: Machine) -> str:
    """The platform file. Of several routes between a pair SimGrid gets the first; links are one-way."""
    names = [f"unit{unit}" for unit in range(len(machine.units))]
    hosts = [f"<host id={quoteattr(name)} speed='1Gf'/>" for name in names]
    links = [
        f"<link id='link{index}' bandwidth='{link.bandwidth_gb_per_s:.9g}GBps' "
        f"latency='{link.latency_ns:.9g}ns'/>"
        for index, link in enumerate(machine.links)
    ]
    routes = [
        f"<route src='{source}' dst='{target}' symmetrical='NO'>"
        + "".join(f"<link_ctn id='link{link}'/>" for link in machine.routes(a, b)[0])
        + "</route>"
        for a, source in enumerate(names)
        for b, target in enumerate(names)
        if a != b
    ]
    body = "\n".join([*hosts, *links, *routes])
    return (
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
        f"<platform version='4.1'><zone id='machine' routing='Full'>\n{body}\n</zone></platform>\n"
    )


def hostfile(ranks: int) -> str:
    """A host per rank, in the order of units."""
    return "".join(f"unit{rank}\n" for rank in range(ranks))
