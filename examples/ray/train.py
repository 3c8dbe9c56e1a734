"""Softmax regression on the digits table, spread over Ray's workers: trains, checkpoints, resumes.

In every epoch each worker improves the weights on its parts of the table, and the driver averages what
comes back. A worker that dies loses nothing but time: Ray does its work again elsewhere.
"""

import argparse
import os
import sys

import numpy as np
import ray

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.npz")
TEST_ROWS = 360


def load_digits():
    table = np.loadtxt(os.path.join(HERE, "digits.csv.gz"), delimiter=",")
    np.random.default_rng(0).shuffle(table)
    pixels = np.hstack([table[:, :64] / 16, np.ones((len(table), 1))])
    return pixels, table[:, 64].astype(int)


# Ray fails a task at times for reasons of its own; with retry_exceptions it tries such a task again, too. A node that is
# about to die may fail the same task several times within a moment.
RETRIES = {"retry_exceptions": True, "max_retries": 20}


@ray.remote(**RETRIES)
def load_part(part, parts):
    """Runs on a worker, and again on another one when that is lost: unlike data that the driver makes
    with ray.put(), it comes back."""
    pixels, labels = load_digits()
    return pixels[TEST_ROWS + part::parts], labels[TEST_ROWS + part::parts]


@ray.remote(**RETRIES)
def improve(weights, data, rate, batch=16):
    """One pass of gradient descent over a worker's part."""
    weights = weights.copy()
    for start in range(0, len(data[0]), batch):
        pixels, labels = data[0][start:start + batch], data[1][start:start + batch]
        chances = np.exp(pixels @ weights)
        chances /= chances.sum(axis=1, keepdims=True)
        chances[np.arange(len(labels)), labels] -= 1
        weights -= rate * pixels.T @ chances / len(labels)
    return weights


def load_checkpoint():
    """The weights, and the epoch to go on with."""
    if not os.path.exists(CHECKPOINT):
        return np.zeros((65, 10)), 0
    with np.load(CHECKPOINT) as saved:
        return saved["weights"], int(saved["epoch"])


def save_checkpoint(weights, epoch):
    """Whoever reads it sees the old checkpoint or the new one, never half of one."""
    with open(CHECKPOINT + ".new", "wb") as file:
        np.savez(file, weights=weights, epoch=epoch)
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--parts", type=int, default=4, help="tasks in each epoch")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--goal", type=float, default=0.92, help="exit 1 below this accuracy")
    options = parser.parse_args()

    ray.init()  # finds the cluster through RAY_ADDRESS
    pixels, labels = load_digits()
    pixels, labels = pixels[:TEST_ROWS], labels[:TEST_ROWS]
    weights, first = load_checkpoint()
    print(f"resuming at epoch {first}" if first else "starting at epoch 0", flush=True)

    data = [load_part.remote(part, options.parts) for part in range(options.parts)]
    for epoch in range(first, options.epochs):
        improved = [improve.remote(weights, part, options.rate) for part in data]
        weights = np.mean(ray.get(improved), axis=0)
        save_checkpoint(weights, epoch + 1)
        accuracy = ((pixels @ weights).argmax(axis=1) == labels).mean()
        print(f"epoch {epoch + 1:3} of {options.epochs}  accuracy {accuracy:.3f}", flush=True)

    accuracy = ((pixels @ weights).argmax(axis=1) == labels).mean()
    print(f"done: accuracy {accuracy:.3f}", flush=True)
    if accuracy < options.goal:
        sys.exit(f"accuracy {accuracy:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
