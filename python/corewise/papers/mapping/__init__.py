"""Paper 002: a ring of tasks under every mapping.

SPDX-License-Identifier: BSD-3-Clause
"""
