"""Horovod with PyTorch on the digits table: trains, checkpoints, resumes.

An ordinary Horovod program, which runs under horovodrun as well. What it needs to survive the loss
of a worker is load_checkpoint() and save_checkpoint().
"""

import argparse
import csv
import gzip
import os
import sys

import horovod.torch as hvd
import torch
from torch import nn

CHECKPOINT = os.path.join(os.environ.get("TONY_CHECKPOINT_DIR", "."), "digits.pt")


def load_digits(path):
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])
    pixels, labels = table[:, :64] / 16.0, table[:, 64].long()
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(0))
    test, train = order[:360], order[360:]
    return (pixels[train], labels[train]), (pixels[test], labels[test])


def load_checkpoint(model, optimizer):
    """The epoch to go on with. Rank 0 reads the file, the others get what it has."""
    first = 0
    if hvd.rank() == 0 and os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["epoch"]
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.broadcast_object(first, root_rank=0)


def save_checkpoint(model, optimizer, epoch):
    """A reader sees the old checkpoint or the new one, never half of one."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
               CHECKPOINT + ".new")
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


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
    hvd.init()  # reads HOROVOD_RANK, HOROVOD_SIZE and their kin
    rank, world = hvd.rank(), hvd.size()

    train, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = load_checkpoint(model, optimizer)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    if rank == 0:
        print(f"{world} ranks, " + (f"resuming at epoch {first}" if first else "starting at epoch 0"), flush=True)

    rows = len(train[0]) // world * world
    for epoch in range(first, options.epochs):
        order = torch.randperm(len(train[0]), generator=torch.Generator().manual_seed(epoch))
        for batch in order[rank:rows:world].split(options.batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(train[0][batch]), train[1][batch]).backward()
            optimizer.step()  # waits for the mean of all ranks' gradients
        if rank == 0:
            save_checkpoint(model, optimizer, epoch + 1)
            print(f"epoch {epoch + 1:3} of {options.epochs}  accuracy {accuracy(model, test):.3f}", flush=True)

    reached = hvd.allreduce(torch.tensor(accuracy(model, test))).item()
    hvd.shutdown()
    if rank == 0:
        print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
