"""Horovod's elastic form, as one would run it with horovodrun: trains until the file END is there, and
says who it is with, and how far, each time it has met the others."""
import os
import sys
import time

import horovod.torch as hvd
import torch

END = sys.argv[1]

torch.set_num_threads(1)
hvd.init()
model = torch.nn.Linear(4, 1, bias=False)
torch.nn.init.zeros_(model.weight)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                     named_parameters=model.named_parameters())
state = hvd.elastic.TorchState(model=model, optimizer=optimizer, step=0)


@hvd.elastic.run
def train(state):
    sizes = hvd.allgather_object((hvd.rank(), hvd.local_rank(), hvd.local_size()))
    assert sizes == [(i, i, hvd.size()) for i in range(hvd.size())], sizes
    print(f"met: rank {hvd.rank()} of {hvd.size()} at step {state.step} pid {os.getpid()}", flush=True)
    while True:
        optimizer.zero_grad()
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        state.step += 1
        # Each step takes as much off each weight, whoever takes part in it.
        assert torch.allclose(model.weight, torch.full((1, 4), -0.1 * state.step), atol=0.01), state.step
        time.sleep(0.02)
        if state.step % 10 == 0:
            state.commit()
            print(f"committed step {state.step}", flush=True)
            if hvd.broadcast_object(os.path.exists(END), root_rank=0):
                return


train(state)
print(f"done at step {state.step} pid {os.getpid()}", flush=True)
