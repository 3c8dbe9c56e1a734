"""The first program of JAX's own documentation on several processes: jax_toy.py ADDRESS COUNT RANK."""

import sys

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

jax.distributed.initialize(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
everybody = multihost_utils.process_allgather(jnp.asarray([jax.process_index() + 1]))
print(f"process {jax.process_index()} of {jax.process_count()}, {jax.device_count()} devices, sum {everybody.sum()}")
