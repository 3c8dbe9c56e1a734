"""Tries several learning rates at once, each in a job of its own, and tells the best: the same function, called with other arguments.

    pip install cloudpickle
    python3 sweep.py
"""

import argparse

import tony


def train(rate, steps):
    """Fits y = 3x + 1 by gradient descent. Runs in a task."""
    import random

    from tony import task

    rng = random.Random(7)
    rows = [(x, 3 * x + 1 + rng.gauss(0, 0.1)) for x in (rng.uniform(-1, 1) for _ in range(200))]
    a = b = loss = 0.0
    for step in range(1, steps + 1):
        errors = [(a * x + b - y, x) for x, y in rows]
        loss = sum(error * error for error, _ in errors) / len(rows)
        if loss > 1e6:
            raise ArithmeticError(f"with a rate of {rate} the loss grows without end")
        a -= rate * sum(2 * error * x for error, x in errors) / len(rows)
        b -= rate * sum(2 * error for error, _ in errors) / len(rows)
        task.report(step, steps=steps, loss=loss)
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.1, 0.5, 2.0])
    options = parser.parse_args()
    jobs = {rate: tony.submit(train, rate, options.steps, name=f"rate-{rate}", tags=["sweep"], memory="256m") for rate in options.rates}
    losses = {}
    for rate, job in jobs.items():
        try:
            losses[rate] = job.value()
            print(f"rate {rate}: loss {losses[rate]:.4f}")
        except ArithmeticError as error:
            print(f"rate {rate}: {error}")
    print(f"best: {min(losses, key=losses.get)}")


if __name__ == "__main__":
    main()
