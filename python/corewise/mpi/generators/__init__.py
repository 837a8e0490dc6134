"""Writers of the preload libraries' wrappers, from the standard's description of its procedures.

SPDX-License-Identifier: BSD-3-Clause
"""
