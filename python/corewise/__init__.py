"""corewise: makes message passing inside a multicore node visible, predictable and fast.

This package's top level carries the error classes and the version only; the rooms are `corewise.data`
(files in and out), `corewise.analysis` (numbers, no printing), `corewise.plots` (pictures of them) and
`corewise.cli`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from corewise.errors import CorewiseError, InputError, RunError

try:
    __version__ = version("corewise")
except PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+source"

__all__ = ["CorewiseError", "InputError", "RunError", "__version__"]
