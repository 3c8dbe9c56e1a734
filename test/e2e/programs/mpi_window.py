"""Each rank of an MPI job reads a number out of rank 0's memory, and adds its own to it."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
total, seen = np.array(100, dtype="i"), np.zeros((), dtype="i")
window = MPI.Win.Create(total if world.rank == 0 else None, comm=world)
window.Fence()
window.Get([seen, MPI.INT], 0)
window.Fence()
window.Lock(0)
window.Accumulate([np.array(world.rank, dtype="i"), MPI.INT], 0)
window.Unlock(0)
world.Barrier()
window.Fence()
print(f"rank {world.rank} saw {seen}" + (f", sum {total}" if world.rank == 0 else ""))
window.Free()
