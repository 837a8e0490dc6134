"""MPI libraries of this host: finding them, building the preload for them, launching programs under them.

Knows launchers, compilers and ELF files; must never know what is in a trace.

SPDX-License-Identifier: BSD-3-Clause
"""
