"""Times of placements and launches, in simulation and on this host. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
