"""Pictures as Rich renderables: the matrix as a heat map, the machine as a drawing. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
