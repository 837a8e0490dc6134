"""What the latencies between CPUs say of the machine: nested groups, and links that reproduce them.

SPDX-License-Identifier: BSD-3-Clause
"""
