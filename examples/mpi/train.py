"""mpi4py on the digits table, data parallel: trains, checkpoints, resumes.

Each rank computes the gradient over its own rows of a batch, and Allreduce adds them up. What a
program needs to survive the loss of a rank is load_checkpoint() and save_checkpoint().
"""

import argparse
import os
import sys

import numpy as np
from mpi4py import MPI

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.npz")


def load_digits(path):
    """Rows to learn from and rows to test with, each as pixels and labels."""
    table = np.loadtxt(path, delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    pixels, labels = table[:, :64] / 16, table[:, 64].astype(int)
    return (pixels[360:], labels[360:]), (pixels[:360], labels[:360])


def layers(vector):
    """The weights and offsets of two layers, which one vector holds."""
    first, rest = vector[:65 * 64].reshape(65, 64), vector[65 * 64:].reshape(65, 10)
    return first[:64], first[64], rest[:64], rest[64]


def forward(model, pixels):
    """The hidden layer, and the probability of each digit."""
    weights, offset, next_weights, next_offset = layers(model)
    hidden = np.maximum(pixels @ weights + offset, 0)
    scores = hidden @ next_weights + next_offset
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, odds / odds.sum(axis=1, keepdims=True)


def gradient(model, pixels, labels):
    """Summed over these rows; a vector as the model is."""
    hidden, error = forward(model, pixels)
    error[np.arange(len(labels)), labels] -= 1
    below = (error @ layers(model)[2].T) * (hidden > 0)
    return np.concatenate([part.ravel() for part in (
        pixels.T @ below, below.sum(axis=0), hidden.T @ error, error.sum(axis=0))])


def accuracy(model, data):
    return (forward(model, data[0])[1].argmax(axis=1) == data[1]).mean()


def load_checkpoint(comm):
    """Model and epoch to go on with. Rank 0 reads, so that all have the same."""
    found = np.random.default_rng(1).normal(0, 0.1, 65 * 64 + 65 * 10), 0
    if comm.rank == 0 and os.path.exists(CHECKPOINT):
        with np.load(CHECKPOINT) as saved:
            found = saved["model"], int(saved["epoch"])
    return comm.bcast(found)


def save_checkpoint(model, epoch):
    """A reader sees the old checkpoint or the new one, never half of one."""
    with open(CHECKPOINT + ".new", "wb") as file:
        np.savez(file, model=model, epoch=epoch)
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64, help="rows of a step, over all ranks")
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--goal", type=float, default=0.95, help="exit 1 below this accuracy")
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    train, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    model, first = load_checkpoint(comm)
    if comm.rank == 0:
        print(f"{comm.size} ranks, " + (f"resuming at epoch {first}" if first else "starting at epoch 0"), flush=True)

    for epoch in range(first, options.epochs):
        order = np.random.default_rng(epoch).permutation(len(train[0]))
        for start in range(0, len(order), options.batch):
            batch = order[start:start + options.batch]
            ours = batch[comm.rank::comm.size]
            change = gradient(model, train[0][ours], train[1][ours])
            comm.Allreduce(MPI.IN_PLACE, change)
            model -= options.rate / len(batch) * change
        if comm.rank == 0:
            save_checkpoint(model, epoch + 1)
            print(f"epoch {epoch + 1:3} of {options.epochs}  accuracy {accuracy(model, test):.3f}", flush=True)

    reached = accuracy(model, test)
    if comm.rank == 0:
        print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
