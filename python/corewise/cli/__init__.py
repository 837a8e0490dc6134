"""The command line. Computes nothing: it parses, calls `corewise.data` and `corewise.analysis`, and shows.

SPDX-License-Identifier: BSD-3-Clause
"""
