"""A profile as tables: calls, matrices, waits, call graphs, differences.

SPDX-License-Identifier: BSD-3-Clause
"""
