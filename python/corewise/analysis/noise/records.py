"""Noise as models draw it, from what a file or a text says.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import numpy as np

from corewise.analysis.noise.sources import Events, NodeNoise
from corewise.data.noise import Interruptions, NoiseRecord


def events_of(kind: Interruptions) -> Events:
    """Of one core."""
    return Events(kind.rate_per_s, np.array(kind.lengths_ns, float))


def node_noise(record: NoiseRecord) -> NodeNoise:
    """Of a node, with all cores and with one idle."""
    everywhere, spared = events_of(record.everywhere), events_of(record.spared)
    where = (
        f"measured on {record.cores} processors of {record.processor}" if record.cores
        else "described, an idle core takes all"
    )  # fmt: skip
    return NodeNoise(everywhere, spared, f"{everywhere.text}; with one core idle {spared.text} ({where})")
