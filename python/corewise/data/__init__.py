"""Files in and out: machines, patterns, placements, launcher exports. Computes nothing, prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
