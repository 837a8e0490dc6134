"""What all Python tests have in common: the tool prints as into a pipe, whoever runs the tests.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

# A worker of pytest-xdist inherits the size that readline guessed for its parent's terminal; and a rank in
# Python that may not buffer writes a line's words one by one, which a launcher mixes with another rank's.
for variable in ("COLUMNS", "LINES", "PYTHONUNBUFFERED"):
    os.environ.pop(variable, None)
