"""Paper 000: threads on the SPEs of a Cell.

SPDX-License-Identifier: BSD-3-Clause
"""

PERMUTATIONS = 1000
QUICK_PERMUTATIONS = 60
