"""Paper 003: its programs on a cluster of Cells.

SPDX-License-Identifier: BSD-3-Clause
"""
