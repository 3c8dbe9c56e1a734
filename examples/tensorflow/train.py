"""MultiWorkerMirroredStrategy on the digits table: trains, checkpoints, resumes.

The part that is about distributed training is what any such program has: tf.distribute finds the other
workers through TF_CONFIG. What a program needs to survive the loss of a worker is the checkpoint that
it looks for when it starts.
"""

import argparse
import gzip
import os
import subprocess
import sys

import keras
import numpy as np
import tensorflow as tf

IS_CHIEF = os.environ.get("IS_CHIEF") == "true"
CHECKPOINTS = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits")
LOGS = os.environ.get("TB_LOG_DIR") or os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "logs")


def load_digits(path):
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype="float32")
    table = np.random.default_rng(0).permutation(table)
    pixels, labels = table[:, :64] / 16, table[:, 64].astype("int64")
    return (pixels[360:], labels[360:]), (pixels[:360], labels[:360])


def start_tensorboard():
    """On the port that tony keeps for it: `tony status` shows the address. It ends with this task."""
    if "TB_PORT" in os.environ:
        subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", LOGS,
                          "--host", os.environ["TONY_HOST"], "--port", os.environ["TB_PORT"]])


def accuracy(model, data):
    return float(np.mean(np.argmax(model(data[0]), axis=1) == data[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64, help="of all workers together")
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()

    start_tensorboard()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # reads TF_CONFIG
    train, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    batches = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices(train).shuffle(2000, seed=1).batch(options.batch, drop_remainder=True))

    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
        optimizer.build(model.trainable_variables)
    epoch = tf.Variable(0, dtype=tf.int64)

    # Every worker has to take part in saving; what is kept is the chief's.
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch)
    manager = tf.train.CheckpointManager(checkpoint, CHECKPOINTS if IS_CHIEF else "unused", max_to_keep=2)
    newest = tf.train.latest_checkpoint(CHECKPOINTS)
    if newest:
        checkpoint.restore(newest)

    @tf.function
    def train_epoch():
        def step(pixels, labels):
            with tf.GradientTape() as tape:
                losses = keras.losses.sparse_categorical_crossentropy(labels, model(pixels), from_logits=True)
                loss = tf.nn.compute_average_loss(losses, global_batch_size=options.batch)
            optimizer.apply(tape.gradient(loss, model.trainable_variables))
            return loss

        total = 0.0
        for batch in batches:
            total += strategy.reduce("SUM", strategy.run(step, batch), axis=None)
        return total / (len(train[0]) // options.batch)

    writer = tf.summary.create_file_writer(os.path.join(LOGS, "train")) if IS_CHIEF else tf.summary.create_noop_writer()
    if IS_CHIEF:
        print(f"{strategy.num_replicas_in_sync} workers, " +
              (f"resuming at epoch {int(epoch)}" if newest else "starting at epoch 0"), flush=True)
    for _ in range(int(epoch), options.epochs):
        loss = float(train_epoch())
        epoch.assign_add(1)
        manager.save()
        reached = accuracy(model, test)
        with writer.as_default(step=int(epoch)):
            tf.summary.scalar("loss", loss)
            tf.summary.scalar("accuracy", reached)
        writer.flush()
        if IS_CHIEF:
            print(f"epoch {int(epoch):3} of {options.epochs}  loss {loss:.3f}  accuracy {reached:.3f}", flush=True)

    reached = accuracy(model, test)
    if IS_CHIEF:
        print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
