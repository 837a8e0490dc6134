# The types of what corewise gives at its top level, which is imported late (see __init__.py).
# SPDX-License-Identifier: BSD-3-Clause
from corewise.api import Advised as Advised
from corewise.api import Found as Found
from corewise.api import Machine as Machine
from corewise.api import Pattern as Pattern
from corewise.api import Placing as Placing
from corewise.api import Profile as Profile
from corewise.api import Simulated as Simulated
from corewise.api import Waits as Waits
from corewise.api import advise as advise
from corewise.api import load as load
from corewise.api import machine as machine
from corewise.api import place as place
from corewise.api import simulate as simulate
from corewise.errors import CorewiseError as CorewiseError
from corewise.errors import InputError as InputError
from corewise.errors import RunError as RunError

__all__: list[str]
__version__: str
