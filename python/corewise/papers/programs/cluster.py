"""The cluster of Cells whose forwarders are busy for a part of every message.

A machine file knows latencies and bandwidths. What a PPE and an Opteron do for each message, and what keeps
others waiting meanwhile, can be said as a header that crosses the slowest link of the route. Here latencies
stay those of table 2, and a share of the one between nodes becomes such a header.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.papers.programs.data import CELL, ENDS_NS, LEVELS

_COUNTS = {"node": 8, "blade": 2, "cell": 2, "spe": CELL}
"""Levels of the tree, outermost first; `LEVELS` has the same ones from the innermost."""


def header_bytes(share: float) -> float:
    """The header that takes so much of the latency between nodes; at least what every message has."""
    farthest = LEVELS[-1]
    return max(32.0, share * farthest.latency_us * farthest.mb_per_s)


def cluster_document(header: float) -> dict[str, object]:
    """The machine, as its file has it, with hops shortened by what the header takes."""
    levels: list[dict[str, object]] = []
    below_ns = ENDS_NS
    for name, level in zip(reversed(_COUNTS), LEVELS, strict=True):
        hop_ns = (level.latency_us * 1e3 - below_ns - header / level.mb_per_s * 1e3) / 2
        below_ns += 2 * hop_ns
        rate = f"{level.mb_per_s:g} MB/s"
        hop = f"{hop_ns:.4f} ns"
        levels.append(
            {
                "name": name,
                "count": _COUNTS[name],
                "up_bandwidth": rate,
                "down_bandwidth": rate,
                "hop_latency": hop,
            }
        )
    return {
        "format": "corewise-machine",
        "version": 1,
        "name": "roadrunner",
        "interconnect": {"kind": "tree", "level": levels[::-1]},
    }
