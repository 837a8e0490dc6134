"""Pictures as Rich renderables: the matrix as a heat map, the machine as a drawing. Computes nothing, prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
