"""A tuning of copies that nobody measured.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.data.copy_tuning import CopyRow, CopyTuning, MessageRow

TUNING = CopyTuning(
    host="a processor",
    who="corewise 0.0.0",
    when="2026-01-01",
    command="corewise bench copy --tune copy.toml",
    rows=(
        CopyRow("self", "same", 256, 1024, "naive", (256, 384), (10.0, 11.0), (20.0, 21.5)),
        CopyRow("self", "same", 1024, 2048, "four_stream", (1024,), (1.0,), (2.0,)),
        CopyRow("nobody", "aliasing", 4096, 8192, "naive", (4096,), (1.0,), (2.0,)),
    ),
    messages=(MessageRow(32768, "pipeline", "memcpy", "naive", 8192, 3000.5, 6000.0, 51.0),),
)
