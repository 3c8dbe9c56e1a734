"""PyTorch DistributedDataParallel on the digits table: trains, checkpoints, resumes.

The part that is about distributed training is what any DDP program has; the rest of what a program
needs to survive the loss of a worker is load_checkpoint() and save_checkpoint().
"""

import argparse
import csv
import gzip
import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.pt")


def load_digits(path):
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])
    pixels, labels = table[:, :64] / 16.0, table[:, 64].long()
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(0))
    test, train = order[:360], order[360:]
    return (pixels[train], labels[train]), (pixels[test], labels[test])


def load_checkpoint(model, optimizer):
    """The epoch to go on with; every rank reads the same file."""
    if not os.path.exists(CHECKPOINT):
        return 0
    saved = torch.load(CHECKPOINT)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["epoch"]


def save_checkpoint(model, optimizer, epoch):
    """A reader sees the old checkpoint or the new one, never half of one."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
               CHECKPOINT + ".new")
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def tell(**numbers):
    """They become curves on the job's page."""
    with open(os.environ["TONY_METRICS_FILE"], "a") as file:
        print(json.dumps(numbers), file=file)


def accuracy(model, data):
    with torch.no_grad():
        return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")  # reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
    rank, world = dist.get_rank(), dist.get_world_size()

    train, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = load_checkpoint(model, optimizer)
    parallel = DistributedDataParallel(model)
    if rank == 0:
        print(f"{world} ranks, " + (f"resuming at epoch {first}" if first else "starting at epoch 0"), flush=True)

    rows = len(train[0]) // world * world
    for epoch in range(first, options.epochs):
        order = torch.randperm(len(train[0]), generator=torch.Generator().manual_seed(epoch))
        for batch in order[rank:rows:world].split(options.batch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(train[0][batch]), train[1][batch])
            loss.backward()
            optimizer.step()
        dist.barrier()
        if rank == 0:
            save_checkpoint(model, optimizer, epoch + 1)
            reached = accuracy(model, test)
            tell(step=epoch + 1, loss=loss.item(), accuracy=reached)
            print(f"epoch {epoch + 1:3} of {options.epochs}  accuracy {reached:.3f}", flush=True)

    reached = accuracy(model, test)
    dist.destroy_process_group()
    if rank == 0:
        print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
