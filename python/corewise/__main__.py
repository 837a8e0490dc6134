"""`python -m corewise`: the same command.

SPDX-License-Identifier: BSD-3-Clause
"""

from corewise.cli.main import main

if __name__ == "__main__":
    main()
