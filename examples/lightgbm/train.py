"""LightGBM on the digits table, distributed: trains, checkpoints, resumes.

Each worker has its own rows. In every round they add up their histograms, so that all of them grow
the same trees. The model that save_checkpoint() wrote survives the loss of a worker.
"""

import argparse
import os
import sys

import lightgbm as lgb
import numpy as np

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.txt")
RANK = int(os.environ["TONY_TASK_INDEX"])
WORLD = int(os.environ["LIGHTGBM_NUM_MACHINES"])

# All that LightGBM needs to know of the others.
NETWORK = {"machines": os.environ["LIGHTGBM_MACHINES"], "num_machines": WORLD,
           "local_listen_port": int(os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"])}


def load_digits(path):
    """This worker's share of the rows to learn from, and all rows to test with."""
    table = np.loadtxt(path, delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(0).permutation(len(table))]
    test, train = table[:360], table[360 + RANK::WORLD]
    return train[:, :64], train[:, 64], test[:, :64], test[:, 64]


def load_checkpoint():
    """The model to go on from; every worker reads the same file."""
    return lgb.Booster(model_file=CHECKPOINT) if os.path.exists(CHECKPOINT) else None


def save_checkpoint(env):
    """After every round, by rank 0. A reader sees the old checkpoint or the new one, never half of
    one."""
    if RANK == 0:
        env.model.save_model(CHECKPOINT + ".new")
        os.rename(CHECKPOINT + ".new", CHECKPOINT)
        accuracy = 1 - env.evaluation_result_list[0][2]
        print(f"round {env.iteration + 1:3}  accuracy {accuracy:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()

    pixels, digits, test_pixels, test_digits = load_digits(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    model = load_checkpoint()
    first = model.current_iteration() if model else 0
    if RANK == 0:
        print(f"{WORLD} workers, " + (f"resuming at round {first}" if first else "starting at round 0"), flush=True)
    ours = lgb.Dataset(pixels, digits)
    settings = {**NETWORK, "tree_learner": "data", "pre_partition": True, "objective": "multiclass", "num_class": 10,
                "metric": "multi_error", "learning_rate": 0.1, "num_leaves": 15, "verbosity": -1}
    model = lgb.train(settings, ours, num_boost_round=options.rounds - first, init_model=model,
                      valid_sets=[lgb.Dataset(test_pixels, test_digits, reference=ours)],
                      callbacks=[save_checkpoint])
    accuracy = (model.predict(test_pixels).argmax(axis=1) == test_digits).mean()
    if RANK == 0:
        print(f"done: accuracy {accuracy:.3f}", flush=True)
    if accuracy < options.goal:
        sys.exit(f"accuracy {accuracy:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
