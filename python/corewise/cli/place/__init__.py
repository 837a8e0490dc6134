"""`corewise place`.

SPDX-License-Identifier: BSD-3-Clause
"""
