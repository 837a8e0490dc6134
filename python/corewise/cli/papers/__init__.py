"""`corewise paper`.

SPDX-License-Identifier: BSD-3-Clause
"""
