"""A tuning file of two rows, and one of a host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

HEAD = """\
format,corewise-tuning
version,2
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

ON_HOST = """\
processor,GenuineIntel-6-1
host,a processor
mpi,mpich 5.0.2
cores,2
"""

HOSTS = (
    HEAD.replace("cell", "shm").replace("toy", "host").replace("\n\n", f"\n{ON_HOST}\n")
    + "all,barrier,4,0,,0,dissemination,0.5,mpi 0.75\n"
    + "all,broadcast,2,0,128,8 128,mpi,0.5 0.6,eager_tree 0.7 0.8\n"
    + "all,broadcast,2,129,,4096,root_stage(piece=4096),1.5,mpi 2.0\n"
)

TOY = HEAD + SMALL + LARGE
