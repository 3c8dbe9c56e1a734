"""JAX, data parallel over all processes' devices, on the digits table: trains, checkpoints, resumes.

The part that is about distributed training is what any such program has; the rest of what a program
needs to survive the loss of a worker is load_checkpoint() and save_checkpoint().
"""

import argparse
import csv
import gzip
import os
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.npz")


def load_digits(path):
    with gzip.open(path, "rt") as file:
        table = np.array(list(csv.reader(file)), dtype=np.float32)
    pixels, labels = table[:, :64] / 16.0, table[:, 64].astype(np.int32)
    order = np.random.default_rng(0).permutation(len(table))
    test, train = order[:360], order[360:]
    return (pixels[train], labels[train]), (pixels[test], labels[test])


def make_parameters():
    random = np.random.default_rng(1)
    layers = [(64, 64), (64, 10)]
    return [(random.normal(0, rows**-0.5, (rows, columns)).astype(np.float32), np.zeros(columns, np.float32))
            for rows, columns in layers]


def predict(parameters, pixels):
    (hidden, hidden_bias), (output, output_bias) = parameters
    return jax.nn.relu(pixels @ hidden + hidden_bias) @ output + output_bias


def loss(parameters, pixels, labels):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(predict(parameters, pixels)) * jax.nn.one_hot(labels, 10), axis=1))


@jax.jit
def train_step(parameters, momenta, pixels, labels):
    """The rows are spread over the devices, so that JAX adds up their gradients."""
    gradients = jax.grad(loss)(parameters, pixels, labels)
    momenta = jax.tree.map(lambda momentum, gradient: 0.9 * momentum + gradient, momenta, gradients)
    parameters = jax.tree.map(lambda parameter, momentum: parameter - 0.05 * momentum, parameters, momenta)
    return parameters, momenta


def load_checkpoint(state):
    """The state and the epoch to go on with; every process reads the same file."""
    if not os.path.exists(CHECKPOINT):
        return state, 0
    with np.load(CHECKPOINT) as saved:
        leaves = [saved[f"leaf{i}"] for i in range(len(jax.tree.leaves(state)))]
        return jax.tree.unflatten(jax.tree.structure(state), leaves), int(saved["epoch"])


def save_checkpoint(state, epoch):
    """A reader sees the old checkpoint or the new one, never half of one."""
    leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
    with open(CHECKPOINT + ".new", "wb") as file:
        np.savez(file, epoch=epoch, **leaves)
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def accuracy(parameters, data):
    own = jax.tree.map(np.asarray, parameters)  # no other process takes part in this
    return float(np.mean(np.argmax(predict(own, data[0]), axis=1) == data[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32, help="rows per process")
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()

    jax.distributed.initialize()
    rank, world = jax.process_index(), jax.process_count()
    mesh = jax.make_mesh((jax.device_count(),), ("rows",))
    everywhere, by_rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("rows"))

    train, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    parameters = make_parameters()
    state = parameters, jax.tree.map(np.zeros_like, parameters)
    state, first = load_checkpoint(state)
    state = jax.device_put(state, everywhere)
    if rank == 0:
        print(f"{world} processes, " + (f"resuming at epoch {first}" if first else "starting at epoch 0"), flush=True)

    steps = len(train[0]) // (options.batch * world)
    for epoch in range(first, options.epochs):
        order = np.random.default_rng(epoch).permutation(len(train[0]))
        for batch in order[: steps * options.batch * world].reshape(steps, world, options.batch)[:, rank]:
            rows = [jax.make_array_from_process_local_data(by_rows, column[batch]) for column in train]
            state = train_step(*state, *rows)
        if rank == 0:
            save_checkpoint(state, epoch + 1)
            print(f"epoch {epoch + 1:3} of {options.epochs}  accuracy {accuracy(state[0], test):.3f}", flush=True)

    reached = accuracy(state[0], test)
    if rank == 0:
        print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    try:
        main()
    except Exception:
        # At its exit a process waits minutes for the others, which wait for this one.
        traceback.print_exc()
        os._exit(1)
