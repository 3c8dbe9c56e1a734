"""An MPI rank starts two more, which sum up their numbers for it."""

import sys

from mpi4py import MPI

parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    children = MPI.COMM_SELF.Spawn(sys.executable, [__file__], maxprocs=2)
    print("sum", children.reduce(None, root=MPI.ROOT))
    children.Disconnect()
else:
    parent.reduce(parent.Get_rank() + 1, root=0)
    parent.Disconnect()
