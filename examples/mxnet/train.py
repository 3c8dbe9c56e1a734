"""MXNet's parameter server on the digits table: trains, checkpoints, resumes.

Every role runs this program. In the scheduler and the servers it goes no further than `import mxnet`,
which serves the workers and then exits. The workers send their gradients to the servers, which update
the network; what survives the loss of a process is in load_checkpoint() and save_checkpoint().
"""

import argparse
import os
import sys

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.params")


def load_digits(path):
    table = np.loadtxt(path, delimiter=",", dtype=np.float32)
    table = mx.nd.array(table[np.random.RandomState(0).permutation(len(table))])
    pixels, labels = table[:, :64] / 16, table[:, 64]
    return (pixels[360:], labels[360:]), (pixels[:360], labels[:360])


def load_checkpoint(net):
    """The epoch to go on with; every worker reads the same file."""
    if not os.path.exists(CHECKPOINT):
        return 0
    saved = mx.nd.load(CHECKPOINT)
    for name, parameter in net.collect_params().items():
        parameter.set_data(saved[name])
    return int(saved["epoch"].asscalar())


def save_checkpoint(net, epoch):
    """A reader sees the old checkpoint or the new one, never half of one."""
    arrays = {name: parameter.data() for name, parameter in net.collect_params().items()}
    mx.nd.save(CHECKPOINT + ".new", {**arrays, "epoch": mx.nd.array([epoch])})
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def fail(*error):
    """Else MXNet, at the exit of this worker, would wait for the others, and they for this one."""
    sys.__excepthook__(*error)
    sys.stderr.flush()
    os._exit(1)


def accuracy(net, data):
    return float((net(data[0]).argmax(axis=1) == data[1]).mean().asscalar())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()

    sys.excepthook = fail
    store = mx.kv.create("dist_sync")
    # The store numbers its workers in an order of its own, not in that of the tasks.
    rank, world = store.rank, store.num_workers
    train, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    mx.random.seed(1)
    net = gluon.nn.Sequential(prefix="digits_")
    with net.name_scope():
        net.add(gluon.nn.Dense(64, activation="relu", in_units=64), gluon.nn.Dense(10, in_units=64))
    net.initialize(mx.init.Xavier())
    first = load_checkpoint(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2}, kvstore=store)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    if rank == 0:
        print(f"{world} workers, " + (f"resuming at epoch {first}" if first else "starting at epoch 0"), flush=True)

    rows = len(train[0]) // world * world
    for epoch in range(first, options.epochs):
        order = np.random.RandomState(epoch).permutation(len(train[0]))[rank:rows:world]
        for start in range(0, len(order), options.batch):
            batch = mx.nd.array(order[start:start + options.batch])
            with autograd.record():
                error = loss(net(train[0].take(batch)), train[1].take(batch))
            error.backward()
            trainer.step(options.batch * world)
        if rank == 0:
            save_checkpoint(net, epoch + 1)
            print(f"epoch {epoch + 1:3} of {options.epochs}  accuracy {accuracy(net, test):.3f}", flush=True)

    reached = accuracy(net, test)
    if rank == 0:
        print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
