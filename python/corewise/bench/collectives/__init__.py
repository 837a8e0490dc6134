"""`corewise bench collectives`.

SPDX-License-Identifier: BSD-3-Clause
"""

PLAIN = (
    *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
    *("scan", "exscan", "reduce_scatter_block"),
)
WITH_COUNTS = ("gatherv", "scatterv", "allgatherv", "alltoallv", "reduce_scatter")
"""Measured with equal blocks."""
COLLECTIVES = (*PLAIN, *WITH_COUNTS)
