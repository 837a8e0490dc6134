"""Checks a certificate: that no placement of a pattern on a machine costs less than the certificate says.

Shares no code with the search and believes nothing of the document: symmetries, cuts, capacities, traffic,
costs and every leaf of the tree are derived again from machine and patterns. The argument is in
`docs/formats/certificate.md`. It walks the whole closed tree, so its time grows with the tree.

SPDX-License-Identifier: BSD-3-Clause
"""

from corewise.analysis.placement.certificate.check import check_certificate

__all__ = ["check_certificate"]
