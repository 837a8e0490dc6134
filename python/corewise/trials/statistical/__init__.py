"""The statistical model of a placement's time.

SPDX-License-Identifier: BSD-3-Clause
"""
