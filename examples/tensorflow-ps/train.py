"""ParameterServerStrategy on the digits table: trains, checkpoints, resumes.

One program for all four task types. The chief holds the training loop and hands out steps; workers and
parameter servers do what they are told; the evaluator measures each checkpoint on data of its own.
"""

import argparse
import gzip
import os
import sys

import keras
import numpy as np
import tensorflow as tf

CHECKPOINTS = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits")
LOGS = os.environ.get("TB_LOG_DIR") or os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "logs")


def load_digits():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz")
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype="float32")
    table = np.random.default_rng(0).permutation(table)
    pixels, labels = table[:, :64] / 16, table[:, 64].astype("int64")
    return (pixels[360:], labels[360:]), (pixels[:360], labels[:360])


def make_model():
    return keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])


def accuracy(model, data):
    return float(np.mean(np.argmax(model(data[0]), axis=1) == data[1]))


def write_scalar(writer, name, value, step):
    with writer.as_default(step=step):
        tf.summary.scalar(name, value)
    writer.flush()


def serve(resolver):
    """A worker or a parameter server: it is ended by tony when the chief is done."""
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
                         protocol="grpc").join()


def evaluate():
    """The evaluator follows the checkpoints until tony ends it."""
    model, epoch = make_model(), tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(model=model, epoch=epoch)
    writer = tf.summary.create_file_writer(os.path.join(LOGS, "evaluation"))
    _, test = load_digits()
    for path in tf.train.checkpoints_iterator(CHECKPOINTS):
        try:
            checkpoint.restore(path).expect_partial()
        except tf.errors.OpError:
            continue  # files are missing: the chief has dropped it for a newer one
        reached = accuracy(model, test)
        write_scalar(writer, "accuracy", reached, int(epoch))
        print(f"epoch {int(epoch):3}  accuracy {reached:.3f}", flush=True)


def train(resolver, options):
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    data, test = load_digits()

    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = make_model()
        optimizer = keras.optimizers.SGD(0.02, momentum=0.9)
        optimizer.build(model.trainable_variables)
    epoch = tf.Variable(0, dtype=tf.int64)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch),
                                         CHECKPOINTS, max_to_keep=2)
    manager.restore_or_initialize()

    def shuffled_batches():  # each worker has a shuffled copy of the table
        return tf.data.Dataset.from_tensor_slices(data).shuffle(2000).repeat().batch(options.batch)

    @tf.function
    def step(batches):
        def train_batch(pixels, labels):
            with tf.GradientTape() as tape:
                losses = keras.losses.sparse_categorical_crossentropy(labels, model(pixels), from_logits=True)
                loss = tf.nn.compute_average_loss(losses)
            optimizer.apply(tape.gradient(loss, model.trainable_variables))
            return loss

        return strategy.run(train_batch, args=next(batches))

    batches = iter(coordinator.create_per_worker_dataset(shuffled_batches))
    writer = tf.summary.create_file_writer(os.path.join(LOGS, "train"))
    print(f"resuming at epoch {int(epoch)}" if int(epoch) else "starting at epoch 0", flush=True)
    for _ in range(int(epoch), options.epochs):
        losses = [coordinator.schedule(step, args=(batches,)) for _ in range(len(data[0]) // options.batch)]
        coordinator.join()  # a worker that was lost meanwhile has its steps done by the others
        loss = float(np.mean(coordinator.fetch(losses)))
        epoch.assign_add(1)
        manager.save()
        write_scalar(writer, "loss", loss, int(epoch))
        print(f"epoch {int(epoch):3} of {options.epochs}  loss {loss:.3f}", flush=True)

    reached = accuracy(model, test)
    print(f"done: accuracy {reached:.3f}", flush=True)
    if reached < options.goal:
        sys.exit(f"accuracy {reached:.3f} is below the goal of {options.goal}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()

    tf.get_logger().setLevel("ERROR")  # saving is traced anew each time, which TensorFlow warns about
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()  # reads TF_CONFIG
    if resolver.task_type in ("worker", "ps"):
        serve(resolver)
    elif resolver.task_type == "evaluator":
        evaluate()
    else:
        train(resolver, options)


if __name__ == "__main__":
    main()
