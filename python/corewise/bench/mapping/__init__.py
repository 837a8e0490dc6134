"""`corewise bench mapping`.

SPDX-License-Identifier: BSD-3-Clause
"""
