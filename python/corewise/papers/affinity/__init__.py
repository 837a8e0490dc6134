"""Paper 000: threads on the SPEs of a Cell.

SPDX-License-Identifier: BSD-3-Clause
"""
