"""Paper 004, "Insomnia": the node itself, on this host.

SPDX-License-Identifier: BSD-3-Clause
"""
