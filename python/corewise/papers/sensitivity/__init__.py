"""Which findings of papers 000 and 001 hang on which number of the simulated Cell.

SPDX-License-Identifier: BSD-3-Clause
"""

PAPERS = ("affinity", "collectives")
"""Whose programs are run on changed machines."""
