"""A tuning file of two rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

HEAD = """
format = "corewise-tuning"
version = 1
port = "cell"
machine = "toy"
description = "two rows"
who = "corewise 0.0"
when = "2026-01-31"
command = "tune"
"""


SMALL = """
[[row]]
set = "all"
collective = "broadcast"
ranks = 16
bytes_from = 0
bytes_to = 128
algorithm = "eager_tree"
parameters = { degree = 4, closing = "counters" }
measured_bytes = [16, 128]
latency_us = [0.5, 0.75]
lost = [
  { algorithm = "local_store_tree", parameters = { degree = 3, fenced = true }, latency_us = [2.5, 3] },
]
"""


LARGE = """
[[row]]
set = "all"
collective = "broadcast"
ranks = 16
bytes_from = 129
algorithm = "pieces"
measured_bytes = [1024, 1048576]
latency_us = [4.0, 700.0]
"""


TOY = HEAD + SMALL + LARGE
