"""Ray Train's trainer runs a loop on two workers, which report to it."""

import os

from ray import train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer  # what TorchTrainer and its kin are made of


def loop(config):
    context = train.get_context()
    for epoch in range(config["epochs"]):
        train.report({"epoch": epoch, "rank": context.get_world_rank(), "world": context.get_world_size()})
    print(f"worker {context.get_world_rank()} of {context.get_world_size()} did {config['epochs']} epochs")


DataParallelTrainer(loop, train_loop_config={"epochs": 3}, scaling_config=train.ScalingConfig(num_workers=2),
                    run_config=train.RunConfig(storage_path=os.environ["TONY_CHECKPOINT_DIR"], name="loop")).fit()
