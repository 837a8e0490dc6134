"""`corewise explore`: times of many placements, and what they say.

SPDX-License-Identifier: BSD-3-Clause
"""
