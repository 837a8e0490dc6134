"""A tuning file of two rows.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

HEAD = """\
format,corewise-tuning
version,1
port,cell
machine,toy
description,two rows
who,corewise 0.0
when,2026-01-31
command,tune

set,collective,ranks,bytes_from,bytes_to,measured_bytes,algorithm,latency_us,lost
"""

SMALL = (
    "all,broadcast,16,0,128,16 128,eager_tree(degree=4 closing=counters),0.5 0.75,"
    "local_store_tree(degree=3 fenced=true) 2.5 3\n"
)

LARGE = "all,broadcast,16,129,,1024 1048576,pieces,4.0 700.0,\n"

TOY = HEAD + SMALL + LARGE
