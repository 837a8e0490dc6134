"""The best placement found automatically, as papers 000 and 002 ask for.

SPDX-License-Identifier: BSD-3-Clause
"""
