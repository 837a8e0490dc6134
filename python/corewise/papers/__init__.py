"""What the five papers claim, measured again: a folder per paper (study, data, rows, views).

Prints and draws nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
