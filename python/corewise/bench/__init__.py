"""What the `corewise bench` commands measure: a folder per question. Prints and draws nothing.

SPDX-License-Identifier: BSD-3-Clause
"""
