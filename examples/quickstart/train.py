"""Synchronous data-parallel training with nothing but Python's standard library.

Every worker holds its own shard of a synthetic two-class problem and computes the gradient of a
logistic regression on it; worker 0 sums the gradients of all over TCP and sends the sum back, so
all workers take the same step. Worker 0 writes a checkpoint every few steps; whoever starts reads it.

What it needs from tony is what PyTorch programs need: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
TONY_CHECKPOINT_DIR, a directory that is the same in every attempt, and TONY_OUTPUT_DIR, whose files
come home.
"""

import argparse
import json
import math
import os
import random
import socket
import struct
import sys
import time

FEATURES = 16
RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
MASTER = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "quickstart.json")
MODEL = os.path.join(os.environ["TONY_OUTPUT_DIR"], "model.json")


def make_rows(seed, count):
    """Two clouds of points, one for each class; the same seed gives the same points. Some features
    are much noisier than others: which ones to trust is what the training has to find out."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        label = rng.randrange(2)
        centre = 0.6 if label else -0.6
        row = [rng.gauss(centre, 0.6 + 0.4 * i) for i in range(FEATURES)]
        rows.append((row + [1.0], label))
    return rows


def predict(weights, row):
    score = sum(w * x for w, x in zip(weights, row))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))


def gradient(weights, rows):
    total = [0.0] * len(weights)
    for row, label in rows:
        error = predict(weights, row) - label
        for i, x in enumerate(row):
            total[i] += error * x
    return total


def accuracy(weights, rows):
    return sum((predict(weights, row) > 0.5) == label for row, label in rows) / len(rows)


class Ring:
    """Sums a vector over all workers: a star with worker 0 in the middle."""

    def __init__(self):
        self.peers = self.accept_all() if RANK == 0 else [self.connect()]

    @staticmethod
    def accept_all():
        # tony keeps this port bound for us while we live, so that nobody can take it;
        # SO_REUSEADDR, which every server sets, lets us listen on it.
        server = socket.create_server(("", MASTER[1]), reuse_port=False)
        return [server.accept()[0] for _ in range(WORLD - 1)]

    @staticmethod
    def connect():
        deadline = time.monotonic() + 30
        while True:
            try:
                return socket.create_connection(MASTER)
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @staticmethod
    def receive(peer, count):
        data = b""
        while len(data) < 8 * count:
            part = peer.recv(8 * count - len(data))
            if not part:
                raise ConnectionError("a peer is gone")
            data += part
        return struct.unpack(f"{count}d", data)

    def all_reduce(self, vector):
        if RANK == 0:
            for peer in self.peers:
                vector = [a + b for a, b in zip(vector, self.receive(peer, len(vector)))]
        packed = struct.pack(f"{len(vector)}d", *vector)
        for peer in self.peers:
            peer.sendall(packed)
        return vector if RANK == 0 else list(self.receive(self.peers[0], len(vector)))


def load_checkpoint():
    try:
        with open(CHECKPOINT, encoding="utf-8") as file:
            saved = json.load(file)
        return saved["step"], saved["weights"]
    except FileNotFoundError:
        return 0, [0.0] * (FEATURES + 1)


def save(path, content):
    """A reader sees the old file or the new one, never half of one."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)


def train(options):
    rows = make_rows(1 + RANK, options.rows)
    test = make_rows(0, 1000)
    step, weights = load_checkpoint()
    if RANK == 0:
        start = f"resuming at step {step} from the checkpoint" if step else "starting at step 0"
        print(f"{WORLD} workers, {start}", flush=True)
    ring = Ring()
    while step < options.steps:
        total = ring.all_reduce(gradient(weights, rows))
        weights = [w - options.rate * g / (WORLD * len(rows)) for w, g in zip(weights, total)]
        step += 1
        if RANK == 0 and (step % options.every == 0 or step == options.steps):
            save(CHECKPOINT, {"step": step, "weights": weights})
            print(f"step {step:4} of {options.steps}  accuracy {accuracy(weights, test):.3f}", flush=True)
    reached = accuracy(weights, test)
    if RANK == 0:
        save(MODEL, {"weights": weights, "accuracy": reached})
        print(f"done: accuracy {reached:.3f}", flush=True)
    return reached


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--rows", type=int, default=3000, help="of each worker's shard")
    parser.add_argument("--rate", type=float, default=0.06)
    parser.add_argument("--goal", type=float, default=0.9, help="exit 1 below this accuracy")
    options = parser.parse_args()
    try:
        reached = train(options)
    except (ConnectionError, BrokenPipeError) as error:
        sys.exit(f"worker {RANK}: {error}")
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
