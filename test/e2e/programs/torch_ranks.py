"""A program as torchrun's documentation has it: says what it finds, and adds up all ranks. With an
argument it goes on for ever, and waits for a peer for so many seconds."""

import datetime
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

DOCUMENTED = ("LOCAL_RANK", "RANK", "GROUP_RANK", "ROLE_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "ROLE_WORLD_SIZE",
              "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "OMP_NUM_THREADS")
PRESENT = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")


@record
def main():
    dist.init_process_group("gloo")
    total = torch.ones(1) * dist.get_rank()
    dist.all_reduce(total)
    found = {name: os.environ.get(name) for name in DOCUMENTED}
    found["present"] = [name for name in PRESENT if os.environ.get(name)]
    found["elastic"] = dist.is_torchelastic_launched()
    # In one piece: torchrun's ranks share its output, and print() may write the end of the line by itself.
    sys.stdout.write(json.dumps({**found, "total": total.item()}) + "\n")
    sys.stdout.flush()
    if len(sys.argv) > 1:
        group = dist.new_group(timeout=datetime.timedelta(seconds=float(sys.argv[1])))
        print("together", flush=True)
        while True:
            dist.all_reduce(total, group=group)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
