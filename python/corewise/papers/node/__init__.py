"""Paper 004, "Insomnia": the node itself, on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

SECTIONS = (3, 4, 5, 6, 7, 8)
"""Of the paper that have experiments."""
