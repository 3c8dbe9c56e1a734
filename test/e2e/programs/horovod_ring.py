"""As one would run it with horovodrun: meets its peers, twice, and with some of them once more."""
import os

os.environ["HOROVOD_DYNAMIC_PROCESS_SETS"] = "1"
import horovod.torch as hvd
import torch

for again in range(2):
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    total = hvd.allreduce(torch.tensor([float(rank + 1)]), op=hvd.Sum).item()
    assert total == size * (size + 1) / 2, total
    hosts = hvd.allgather_object((hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()))
    assert hosts == [(i, size, 0, 1) for i in range(size)], hosts
    some = hvd.add_process_set(range(size - 1))
    if rank < size - 1:
        assert hvd.allreduce(torch.tensor([1.0]), op=hvd.Sum, process_set=some).item() == size - 1
    hvd.remove_process_set(some)
    hvd.shutdown()
print(f"rank {rank} of {size} is done", flush=True)
