"""A Keras model is a PyTorch module: DDP trains it on several processes."""

import keras
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


def main():
    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]).to("cpu")
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.linspace(-1, 1, 64)[rank::world].unsqueeze(1)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(parallel(x), 2 * x + 1).backward()
        optimizer.step()
    weight, bias = (value.numpy().item() for value in (model.layers[-1].kernel, model.layers[-1].bias))
    print(f"rank {rank} of {world}: {weight:.2f} x + {bias:.2f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
