# mpi4py-fft as it is: a transform over slabs and pencils, whose transposes are MPI_Alltoallw of subarrays,
# there and back. Rank 0 prints a digest of all ranks' results, so that two runs can be compared.
# SPDX-License-Identifier: BSD-3-Clause
import hashlib

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

world = MPI.COMM_WORLD
digest = hashlib.sha256()
for slab in (True, False):
    fft = PFFT(world, [12, 18, 10], axes=(0, 1, 2), dtype=np.float64, slab=slab, backend="numpy")
    field = newDistArray(fft, False)
    where = field.local_slice()
    whole = np.random.default_rng(7).standard_normal(field.global_shape)
    field[:] = whole[where]
    spectrum = fft.forward(field.copy(), newDistArray(fft, True))
    exact = np.fft.rfftn(whole) / whole.size
    assert np.abs(spectrum - exact[spectrum.local_slice()]).max() < 1e-12
    back = fft.backward(spectrum.copy(), newDistArray(fft, False))
    assert np.abs(back - field).max() < 1e-12
    for each in world.allgather((np.asarray(spectrum).tobytes(), np.asarray(back).tobytes())):
        for part in each:
            digest.update(part)
if world.Get_rank() == 0:
    print("ok", digest.hexdigest(), flush=True)
