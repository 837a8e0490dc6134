"""What all Python tests have in common: the tool prints as into a pipe, whoever runs the tests.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

# A worker of pytest-xdist inherits the size that readline guessed for its parent's terminal.
for variable in ("COLUMNS", "LINES"):
    os.environ.pop(variable, None)
