"""Keras on JAX: fit() trains on all processes, each of which has its own rows of every batch."""

import os

import jax

jax.distributed.initialize()
os.environ["KERAS_BACKEND"] = "jax"

import keras  # noqa: E402
import numpy as np  # noqa: E402


def main():
    keras.utils.set_random_seed(0)
    keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = np.linspace(-1, 1, 64, dtype="float32")[jax.process_index()::jax.process_count()].reshape(-1, 1)
    model.fit(x, 2 * x + 1, batch_size=16, epochs=60, verbose=0)
    weight, bias = (np.asarray(value.addressable_data(0)).item() for value in
                    (model.layers[-1].kernel.value, model.layers[-1].bias.value))
    print(f"rank {jax.process_index()} of {jax.process_count()}: {weight:.2f} x + {bias:.2f}")


if __name__ == "__main__":
    main()
