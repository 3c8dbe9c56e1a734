"""XGBoost on the digits table, distributed: trains, checkpoints, resumes.

Each worker has its own rows. After every round they add up their histograms, so that all of them
grow the same trees. What survives the loss of a worker is what Checkpoint wrote.
"""

import argparse
import os
import sys

import numpy as np
import xgboost as xgb
from xgboost import collective

CHECKPOINT = os.path.join(os.environ["TONY_CHECKPOINT_DIR"], "digits.ubj")


def load_digits(path, rank, world):
    """This worker's share of the rows to learn from, and all rows to test with."""
    table = np.loadtxt(path, delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(0).permutation(len(table))]
    test, train = table[:360], table[360 + rank::world]
    return xgb.DMatrix(train[:, :64], train[:, 64]), xgb.DMatrix(test[:, :64], test[:, 64])


def load_checkpoint():
    """What to go on from; every worker reads the same file."""
    return xgb.Booster(model_file=CHECKPOINT) if os.path.exists(CHECKPOINT) else None


class Checkpoint(xgb.callback.TrainingCallback):
    """After every round, by rank 0. A reader sees the old checkpoint or the new one, never half of
    one."""

    def after_iteration(self, model, epoch, evals_log):
        if collective.get_rank() == 0:
            model.save_model(CHECKPOINT + ".new.ubj")
            os.rename(CHECKPOINT + ".new.ubj", CHECKPOINT)
            accuracy = 1 - evals_log["test"]["merror"][-1]
            print(f"round {model.num_boosted_rounds():3}  accuracy {accuracy:.3f}", flush=True)
        return False


def train(options):
    rank, world = collective.get_rank(), collective.get_world_size()
    ours, test = load_digits(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"), rank, world)
    model = load_checkpoint()
    first = model.num_boosted_rounds() if model else 0
    if rank == 0:
        print(f"{world} workers, " + (f"resuming at round {first}" if first else "starting at round 0"), flush=True)
    settings = {"objective": "multi:softprob", "num_class": 10, "eval_metric": "merror", "tree_method": "hist",
                "max_depth": 4, "eta": 0.3, "nthread": 1}
    model = xgb.train(settings, ours, num_boost_round=options.rounds - first, xgb_model=model,
                      evals=[(test, "test")], verbose_eval=False, callbacks=[Checkpoint()])
    accuracy = (model.predict(test).argmax(axis=1) == test.get_label()).mean()
    if rank == 0:
        print(f"done: accuracy {accuracy:.3f}", flush=True)
    return accuracy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--goal", type=float, default=0.90, help="exit 1 below this accuracy")
    options = parser.parse_args()
    with collective.CommunicatorContext(
            dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
            dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
            dmlc_task_id=os.environ["DMLC_TASK_ID"]):
        accuracy = train(options)
    if accuracy < options.goal:
        sys.exit(f"accuracy {accuracy:.3f} is below the goal of {options.goal}")


if __name__ == "__main__":
    main()
