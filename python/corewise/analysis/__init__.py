"""Numbers from patterns, machines and profiles. Reads no file, prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
