#!/usr/bin/env python3
"""DistributedDataParallel with as many ranks as there are, from its checkpoint on, until the file FILE is there.
Each rank says who it is; rank 0 keeps the checkpoint."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "steps.pt")
SAID = ("TONY_TASK", "TONY_TASK_INDEX", "TONY_TASK_COUNT", "TASK_NUM")


def load(model):
    if not os.path.exists(CHECKPOINT):
        return 0
    saved = torch.load(CHECKPOINT)
    model.load_state_dict(saved["model"])
    return saved["step"]


def save(model, step):
    torch.save({"model": model.state_dict(), "step": step}, CHECKPOINT + ".new")
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def main(enough):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = nn.Linear(8, 1)
    step = load(model)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    print(json.dumps({"epoch": int(os.environ["TONY_EPOCH"]), "rank": rank, "world": world, "step": step,
                      **{name: os.environ[name] for name in SAID}}), flush=True)
    over = torch.zeros(1)
    while not over.item():
        optimizer.zero_grad()
        parallel(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        step += 1
        present = torch.ones(1)
        dist.all_reduce(present)
        assert present.item() == world
        if rank == 0:
            save(model, step)
            over[0] = os.path.exists(enough)
        dist.broadcast(over, 0)
        time.sleep(0.02)
    dist.destroy_process_group()


main(*sys.argv[1:])
