"""What every layer may use: files and documents.

SPDX-License-Identifier: BSD-3-Clause
"""
