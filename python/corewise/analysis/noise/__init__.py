"""What the system takes from programs, and what that costs collectives of many ranks.

SPDX-License-Identifier: BSD-3-Clause
"""
