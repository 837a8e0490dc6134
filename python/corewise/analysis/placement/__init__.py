"""Placements as numbers: searches, references, explanations, certificates.

SPDX-License-Identifier: BSD-3-Clause
"""
