"""Paper 003: what its profiler costs on the SPEs of one Cell.

SPDX-License-Identifier: BSD-3-Clause
"""
