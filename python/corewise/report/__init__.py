"""Reports of a profile: for the terminal, as JSON rows, and as one self-contained web page.

Each module turns a `ProfileAnalysis` (and a placement study, if there is one)
into its form. Computes nothing beyond that, prints nothing, asks nothing of the network.

SPDX-License-Identifier: BSD-3-Clause
"""
