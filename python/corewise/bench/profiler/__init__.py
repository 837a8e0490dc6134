"""`corewise bench profiler`.

SPDX-License-Identifier: BSD-3-Clause
"""
