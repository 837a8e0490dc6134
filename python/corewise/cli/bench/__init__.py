"""`corewise bench`.

SPDX-License-Identifier: BSD-3-Clause
"""
