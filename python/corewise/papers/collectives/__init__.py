"""Paper 001: collectives inside a Cell.

SPDX-License-Identifier: BSD-3-Clause
"""
