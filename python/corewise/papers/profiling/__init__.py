"""Paper 003: what recording costs.

SPDX-License-Identifier: BSD-3-Clause
"""
