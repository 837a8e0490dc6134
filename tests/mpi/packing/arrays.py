# A program of mpi4py: slices of arrays by datatypes, every rank to the next one; "ok" from rank 0.
# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
shape, part, start = [20, 30, 8], [7, 11, 3], [4, 9, 2]
where = tuple(slice(s, s + p) for s, p in zip(start, part, strict=True))


def data(of):
    return np.arange(np.prod(shape), dtype=float).reshape(shape) + 10000 * of


block = MPI.DOUBLE.Create_subarray(shape, part, start).Commit()
expected = np.full(shape, -1.0)
expected[where] = data(before)[where]

room = np.full(shape, -1.0)
status = MPI.Status()
world.Sendrecv([data(rank), 1, block], after, 1, [room, 1, block], before, 1, status)
assert (room == expected).all()
assert (status.Get_count(block), status.Get_elements(MPI.DOUBLE)) == (1, int(np.prod(part)))

room[:] = -1
requests = [world.Irecv([room, 1, block], MPI.ANY_SOURCE, 2), world.Isend([data(rank), 1, block], after, 2)]
MPI.Request.Waitall(requests)
assert (room == expected).all()

packed = bytearray(block.Pack_size(1, world))
end = block.Pack(data(rank), packed, 0, world)
assert bytes(packed[:end]) == data(rank)[where].tobytes()
room[:] = -1
assert block.Unpack(packed, 0, room, world) == end
expected[where] = data(rank)[where]
assert (room == expected).all()

request = world.Isend([packed, end, MPI.PACKED], after, 3)
message = world.Mprobe(before, 3)
room[:] = -1
message.Recv([room, 1, block])
request.Wait()
expected[where] = data(before)[where]
assert (room == expected).all()
block.Free()
world.Barrier()
if rank == 0:
    print("ok", flush=True)
